"""The last filter before the terminal: removes everything that could control it."""

from __future__ import annotations

import re

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from ua_tui.tui.graphics.kitty import PLACEHOLDER, PLACEHOLDER_COLOUR, is_cells

_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
# A placeholder in a text could show a part of one of our pictures.
_REPLACED = re.compile(f"[\ud800-\udfff{PLACEHOLDER}]")
_TONE = Style(color=RichColor.from_ansi(PLACEHOLDER_COLOUR))
_TRIPLET = RichColor.from_ansi(PLACEHOLDER_COLOUR).get_truecolor()


def strip_controls(text: str) -> str:
    """Remove control, C1, bidi, separator and tag characters, and zero-width spaces.

    Lone surrogates and placeholders become U+FFFD. All removed characters are zero cells wide, so the width of a
    rendered line does not change.
    """
    if text.isprintable():
        return text
    return _REPLACED.sub("\ufffd", _STEERING.sub("", text))


class ControlFilter(LineFilter):
    """Removes control sequences from every segment and every hyperlink."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments with safe text; our own control segments are kept."""
        # Every strip that is drawn passes here: the common case must be fast.
        for text, style, control in segments:
            if not control and (not text.isprintable() or (style is not None and style.link is not None)):
                return [segment if segment.control else _safe(segment) for segment in segments]
        return segments


def _safe(segment: Segment) -> Segment:
    text, style, _ = segment
    if PLACEHOLDER in text and is_cells(text):
        # A dialog dims what is behind it, which a picture cannot be.
        if style is not None and style.color is not None and style.color.get_truecolor() != _TRIPLET:
            return Segment(" " * segment.cell_length, style.clear_meta_and_links())
        return Segment(text, _TONE if style is None else style.clear_meta_and_links() + _TONE)
    link = style.link if style is not None else None
    if style is not None and link is not None and not (link.isprintable() and link.isascii()):
        style = style.update_link(None)
    return Segment(strip_controls(text), style)
