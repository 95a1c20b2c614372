"""Colours source code: tokens of pygments, and what each is, in a block of Markdown or in a document of its own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar

from rich.style import Style

from ua_tui.core.json_values import table_of
from ua_tui.tui.render.layout import PLAIN, Piece

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
    pieces = [
        (text, theme.text + getattr(theme, role) if role else theme.text)
        for text, role in tokens_of(code, language, "block", MAX_SECONDS, most=20_000)
    ]
    end = sum(len(text) for text, _ in pieces)
    return pieces if end >= len(code) else [*pieces, (code[end:], theme.text)]


def tokens_of(
    code: str, language: str, use: Literal["document", "block"], seconds: float, *, most: int
) -> Iterator[tuple[str, str]]:
    """Yield the tokens of `code`, each with its role in this use, which may be empty.

    Lexers are regular expressions that hostile text can make slow, so there are none for a code of more than `most`
    characters or with a long line, and no more after some seconds: a few kilobytes of line breaks can keep one busy for
    minutes, token by token.
    """
    lexer = _lexer(language.lower()) if language else None
    if lexer is None or len(code) > most or any(len(line) > 500 for line in code.split("\n")):
        return
    for _, kind, text in within(seconds, lexer.get_tokens_unprocessed(code)):
        yield text, _role(kind, use)


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # ships no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # ships no types

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _role(kind: Any, use: str) -> str:
    name = str(kind).removeprefix("Token.")
    return next((role for prefix, role in _roles()[use].items() if name.startswith(prefix)), "")


@lru_cache(maxsize=1)
def _roles() -> dict[str, dict[str, str]]:

    return table_of(__file__, "highlight.toml", dict[str, dict[str, str]])
