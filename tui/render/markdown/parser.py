"""Parses Markdown: CommonMark with tables and strikethrough; HTML is text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ua_tui.core.text import clean

MAX_LEVELS = 60
"""What is nested more deeply is omitted."""
MOST_KEPT = 8 * 1_024
"""Characters of a text whose tokens are kept."""
_TASK = re.compile(r"\[([ xX])\][ \t]+")


def parse_markdown(source: str, definitions: str = "") -> list[Token]:
    """Return the tokens of a text; `definitions` are link definitions from other parts of it.

    What was parsed last is kept, as a new width or theme renders it again: the tokens must not be changed.
    """
    return (_parse_once if len(source) <= MOST_KEPT else _parse)(source, definitions)


def _parse(source: str, definitions: str) -> list[Token]:
    # A copy, as the parser adds the definitions of the source.
    tokens = _parser().parse(clean(source), {"references": dict(_references(definitions))})
    for item, _, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and item.markup in "-+*" and inline.type == "inline":
            # The box of a task is noted at its item, and what is shown after it at the text that begins with it.
            text = (inline.children or [inline])[0]
            if text.type == "text" and (found := _TASK.match(text.content + " ")):
                item.meta["box"] = "☐" if found[1] == " " else "☑"
                text.meta["shown"] = text.content[found.end() :].rstrip()
    return tokens


_parse_once = lru_cache(maxsize=32)(_parse)


@lru_cache(maxsize=8)
def _references(definitions: str) -> dict[str, Any]:
    env: dict[str, dict[str, Any]] = {}
    _parser().parse(clean(definitions), env)
    return env.get("references", {})


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_LEVELS})
    return parser.enable(["table", "strikethrough"])
