"""Widgets that text is typed into: the prompt, other fields, and panes while a search is typed in them."""

from __future__ import annotations

import re
from typing import Any

from textual.screen import Screen
from textual.widget import Widget


def focused_field(screen: Screen[Any]) -> Widget | None:
    """The widget of a screen that has the focus and takes typed text; None if a letter would be a command."""
    focused = screen.focused
    return focused if focused is not None and focused.check_consume_key("a", "a") else None


def takes_character(field: Widget, character: str) -> bool:
    """Whether a character can be part of what is typed into a field: a field for amounts takes no letters."""
    restrict: str | None = getattr(field, "restrict", None)
    return restrict is None or re.fullmatch(restrict, character) is not None
