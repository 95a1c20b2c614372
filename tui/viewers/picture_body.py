"""A picture drawn with half blocks, two pixels a cell, decoded in a thread and never larger than the view."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.content import Content, Span
from textual.strip import Strip

from tui.markdown import MarkdownTheme
from tui.viewers.document import ListRows, Row, Rows
from tui.viewers.reading import FileUnviewable, open_regular

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["PictureBody"]

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_MOST_PIXELS = 50_000_000
_MOST_ROWS = 60
_MOST_BYTES = 64 * 1024 * 1024
_SEEN_FROM = 128

Pixel = tuple[int, int, int, int]


class PictureBody:
    """Facts of a picture above the picture itself.

    `data` are its bytes when they are at hand, else it is read from `path`. In 16 colours, and when it cannot be
    decoded, the facts stand alone, with the reason.
    """

    def __init__(self, path: Path, data: bytes | None, size: tuple[int, int], facts: str) -> None:
        self._path = path
        self._data = data
        self._size = size
        self._facts = facts

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Decode and shrink the picture to the width."""
        rows: list[Row] = [Content(self._facts, [Span(0, len(self._facts), "dim")]), Content("")]
        drawn, why = self._drawn(width, theme)
        rows += drawn or [Content(why, [Span(0, len(why), "dim")])]
        return ListRows(rows)

    def _drawn(self, width: int, theme: MarkdownTheme) -> tuple[list[Row], str]:
        if _few_colours(theme):
            return [], "Pictures are not drawn in 16 colours; o opens it in the browser."
        columns, lines = self._size
        if not columns or not lines:
            return [], "Its size is not found, so it is not drawn."
        if columns * lines > _MOST_PIXELS:
            return [], "It has too many pixels to be drawn here; o opens it in the browser."
        scale = min(width / columns, 2 * _MOST_ROWS / lines, 1.0)
        size = (max(1, round(columns * scale)), max(1, round(lines * scale)))
        try:
            return _rows(self._shrunk(size)), ""
        except FileUnviewable as error:
            return [], str(error)
        except Exception:
            # A decoder fails in many ways on a damaged file, and none of them matters to the reader.
            return [], "It cannot be decoded: it is damaged, or of a kind that is not known here."

    def _shrunk(self, size: tuple[int, int]) -> Image:
        from PIL import Image

        data = self._data
        if data is None:
            with os.fdopen(open_regular(self._path), "rb") as file:
                data = file.read(_MOST_BYTES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
                if picture.width * picture.height > _MOST_PIXELS:
                    raise ValueError("too many pixels")
                picture.draft("RGB", size)
                return picture.convert("RGBA").resize(size, Image.Resampling.BOX)


def _rows(picture: Image) -> list[Row]:
    width, height = picture.size
    data = picture.tobytes()

    def pixel(x: int, y: int) -> Pixel:
        if y >= height:
            return (0, 0, 0, 0)
        at = (y * width + x) * 4
        return (data[at], data[at + 1], data[at + 2], data[at + 3])

    return [
        Strip([_cell(pixel(x, y), pixel(x, y + 1)) for x in range(width)], width) for y in range(0, height, 2)
    ]


def _cell(upper: Pixel, lower: Pixel) -> Segment:
    above, below = upper[3] >= _SEEN_FROM, lower[3] >= _SEEN_FROM
    if above and below:
        return Segment("▀", Style(color=_colour(upper), bgcolor=_colour(lower)))
    if above:
        return Segment("▀", Style(color=_colour(upper)))
    return Segment("▄", Style(color=_colour(lower))) if below else Segment(" ")


def _colour(pixel: Pixel) -> Color:
    return Color.from_rgb(pixel[0], pixel[1], pixel[2])


def _few_colours(theme: MarkdownTheme) -> bool:
    colour = theme.link.color
    return colour is not None and colour.triplet is None
