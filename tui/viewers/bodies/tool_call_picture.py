"""A picture of a tool result, drawn as the viewer draws one from a file."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from textual.content import Content

from core.events.units import size
from core.observation import ImageContent
from core.text import clean_line
from tui.graphics.capabilities import Canvas
from tui.render.markdown import MarkdownTheme
from tui.viewers.bodies.picture import Drawn, PictureRows
from tui.viewers.bodies.text import TextBody
from tui.viewers.reader import Piece
from tui.viewers.registry import Declined, Sample
from tui.viewers.types.images import VIEWER
from tui.viewers.view.document import Body, ListRows, Row, Rows, styled

__all__ = ["picture_body"]

_OFFER = re.compile(r"; o opens it in [^.]*")


def picture_body(block: ImageContent, number: int) -> Body:
    """A line of facts, and below it the picture if it is one; never raises on odd data. Runs in a thread."""
    named = f"Picture {number}"
    kind = clean_line(block.mime_type, 80)
    try:
        data = base64.b64decode(block.data, validate=True)
    except (binascii.Error, ValueError):
        return TextBody(f"{named} · {kind} · {size(len(block.data))} · It is damaged and cannot be shown.")
    sample = Sample(Piece(Path("picture"), data, 0, len(data)))
    try:
        view = VIEWER.view(sample)
    except (Declined, ValueError, RecursionError):
        return TextBody(f"{named} · {kind} · {size(len(data))} · It is of a kind that is not drawn here.")
    return _Captioned(f"{named} · {size(len(data))}", view.rendered or view.raw)


class _Captioned:
    """A drawn picture, its number and size put before the facts in its first row."""

    def __init__(self, caption: str, drawn: Body) -> None:
        self._caption = caption
        self._drawn = drawn

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        return self._below_caption(self._drawn.lay_out(width, theme), width)

    def draw(self, width: int, theme: MarkdownTheme, canvas: Canvas) -> Rows:
        if not isinstance(self._drawn, Drawn):
            return self.lay_out(width, theme)
        return self._below_caption(self._drawn.draw(width, theme, canvas), width)

    def _below_caption(self, drawn: Rows, width: int) -> Rows:
        if isinstance(drawn, PictureRows):
            return replace(drawn, facts=self._told(drawn.facts, width))
        return ListRows(self._told([drawn.row(y) for y in range(len(drawn))], width))

    def _told(self, given: Sequence[Row], width: int) -> list[Row]:
        rows = list(given)
        first = rows[0] if rows else Content("")
        if isinstance(first, Content):
            rows[:1] = [styled(f"{self._caption} · {first.plain}"[: max(1, width)], "dim")]
        # A picture of a result lies in no file that another program could be given.
        return [_without_offer(row) for row in rows]


def _without_offer(row: Row) -> Row:
    if isinstance(row, Content) and _OFFER.search(row.plain):
        return styled(_OFFER.sub("", row.plain), "dim")
    return row
