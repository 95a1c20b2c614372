"""The last fence before the terminal: nothing that could steer it leaves the application."""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

__all__ = ["ControlFilter", "strip_controls"]

_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def strip_controls(text: str) -> str:
    """Remove control, C1, bidi, separator and tag characters; lone surrogates become U+FFFD.

    All removed characters are zero cells wide, so the width of a rendered line does not change.
    """
    if text.isprintable():
        return text
    return _SURROGATES.sub("\ufffd", _STEERING.sub("", text))


class ControlFilter(LineFilter):
    """Remove from every segment, and from every hyperlink, what a terminal would obey instead of show."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Give the segments back with harmless text; segments that are control codes of our own pass."""
        # Every strip that is drawn comes through here: the ordinary case must be a bare loop.
        for text, style, control in segments:
            if not control and (not text.isprintable() or (style is not None and style.link is not None)):
                return [segment if segment.control else _safe(segment) for segment in segments]
        return segments


def _safe(segment: Segment) -> Segment:
    text, style, _ = segment
    link = style.link if style is not None else None
    if style is not None and link is not None and not (link.isprintable() and link.isascii()):
        style = style.update_link(None)
    return Segment(strip_controls(text), style)
