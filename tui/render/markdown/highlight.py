"""Colours source code: tokens of pygments in the few colours of the theme."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from rich.style import Style

from ua_tui.tui.render.layout import PLAIN, Piece

# Lexers are regular expressions that hostile text can make slow, so long blocks and long lines stay plain. A few
# kilobytes of line breaks can still keep one busy for minutes, token by token.
MAX_CHARACTERS = 20_000
MAX_LINE = 500
MAX_SECONDS = 0.15

Item = TypeVar("Item")


def within(seconds: float, items: Iterable[Item]) -> Iterator[Item]:
    """Yield items until this thread has worked for `seconds` of processor time, whatever else the machine does."""
    end = time.thread_time() + seconds
    for item in items:
        yield item
        if time.thread_time() > end:
            return


@dataclass(frozen=True, slots=True)
class CodeTheme:
    """The styles of source code; `text` is the base of all others."""

    text: Style = PLAIN
    comment: Style = PLAIN
    keyword: Style = PLAIN
    string: Style = PLAIN
    number: Style = PLAIN
    name: Style = PLAIN
    inserted: Style = PLAIN
    deleted: Style = PLAIN


def highlight(code: str, language: str, theme: CodeTheme) -> list[Piece]:
    """Colour `code` as `language`; an unknown language, a long block or line, and what takes long, stays plain."""
    lexer = _lexer(language.lower()) if language else None
    if lexer is None or len(code) > MAX_CHARACTERS or any(len(line) > MAX_LINE for line in code.split("\n")):
        return [(code, theme.text)]
    pieces: list[Piece] = []
    end = 0
    for start, kind, text in within(MAX_SECONDS, lexer.get_tokens_unprocessed(code)):
        slot = _slot(kind)
        pieces.append((text, theme.text + getattr(theme, slot) if slot != "text" else theme.text))
        end = start + len(text)
    return pieces if end >= len(code) else [*pieces, (code[end:], theme.text)]


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # ships no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # ships no types

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _slot(kind: Any) -> str:
    from pygments.token import Token  # type: ignore[import-untyped]  # ships no types

    slots = (
        (Token.Comment, "comment"),
        (Token.Keyword, "keyword"),
        (Token.Operator.Word, "keyword"),
        (Token.Literal.String, "string"),
        (Token.Literal.Number, "number"),
        (Token.Name.Function, "name"),
        (Token.Name.Class, "name"),
        (Token.Name.Tag, "name"),
        (Token.Name.Attribute, "name"),
        (Token.Name.Decorator, "name"),
        (Token.Generic.Inserted, "inserted"),
        (Token.Generic.Deleted, "deleted"),
        (Token.Generic.Heading, "keyword"),
        (Token.Generic.Subheading, "comment"),
    )
    return next((slot for parent, slot in slots if kind in parent), "text")
