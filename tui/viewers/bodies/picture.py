"""A picture below its facts, decoded in a thread: by the terminal's own graphics, or as half blocks."""

from __future__ import annotations

import io
import os
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from tui.graphics.capabilities import Canvas, Cell
from tui.graphics.image import Hung, KittyPicture, Picture, SixelPicture
from tui.graphics.kitty import MOST, row_of
from tui.render.markdown import MarkdownTheme
from tui.viewers.reader import FileUnviewable, open_regular
from tui.viewers.view.document import ListRows, Match, Row, Rows, find_in_rows, styled

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Drawn", "PictureBody", "PictureRows", "Pictured"]

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_MOST_PIXELS = 50_000_000
_MOST_ROWS = 60
_MOST_BYTES = 64 * 1024 * 1024
_SEEN_FROM = 128
_OPAQUE = frozenset({"RGB", "L", "CMYK", "YCbCr"})
# What is sent to the terminal: more is neither seen nor quickly sent. It makes the former as large as the cells,
# but not the latter.
_MOST_SENT_PIXELS = 1_200_000
_MOST_PAINTED_PIXELS = 600_000
# xterm draws nothing of what is wider than this, unless it is told otherwise.
_WIDEST_PAINTED = 1000
_MOST_SENT_BYTES = 2_000_000

Pixel = tuple[int, int, int, int]


class _NotDrawn(Exception):
    """A picture is not drawn; the message says why."""


@runtime_checkable
class Drawn(Protocol):
    """A body that can be drawn by the graphics of a terminal."""

    def draw(self, width: int, theme: MarkdownTheme, canvas: Canvas) -> Rows:
        """The rows for this width, with pictures made ready for `canvas`; as slow as laying out."""
        ...


@runtime_checkable
class Pictured(Protocol):
    """Rows that have pictures among them."""

    @property
    def pictures(self) -> Sequence[PictureRows]:
        """The pictures, seen or folded away."""
        ...

    def place_of(self, picture: PictureRows) -> tuple[int, int] | None:
        """Column and row of the first cell of one of them; None while it is folded away."""
        ...


@dataclass(slots=True)
class PictureRows:
    """Facts of a picture, and below them the cells that it fills; they are blank until it is hung and ready."""

    facts: Sequence[Row]
    picture: Picture
    hung: Hung | None = None

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.facts) + self.picture.rows

    def row(self, y: int) -> Row:
        """Row `y`."""
        if y < len(self.facts):
            return self.facts[y]
        hung = self.hung
        if hung is not None and hung.ready and isinstance(hung.picture, KittyPicture):
            return row_of(hung.key, y - len(self.facts), hung.picture.columns)
        return Strip.blank(self.picture.columns)

    @property
    def pictures(self) -> Sequence[PictureRows]:
        """The picture itself."""
        return (self,)

    def place_of(self, picture: PictureRows) -> tuple[int, int] | None:
        """Column and row of its first cell."""
        return (0, len(self.facts))

    def find(self, needle: str) -> list[Match]:
        """Every place of `needle` in the facts."""
        return find_in_rows(ListRows(self.facts), needle)


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
        """Decode and shrink the picture to the width, in half blocks."""
        return self._with_facts(lambda: _half_blocks(self._shrunk(self._fitted(width, Cell(1, 2)))), theme)

    def draw(self, width: int, theme: MarkdownTheme, canvas: Canvas) -> Rows:
        """Decode the picture and make it ready for the graphics of the terminal, at most as wide as `width` cells."""
        return self._with_facts(lambda: self._prepared(min(width, MOST), canvas), theme)

    def _with_facts(self, draw: Callable[[], Picture | list[Row]], theme: MarkdownTheme) -> Rows:
        facts: list[Row] = [styled(self._facts, "dim"), Content("")]
        try:
            if _few_colours(theme):
                raise _NotDrawn("Pictures are not drawn in 16 colours; o opens it in another program.")
            drawn = draw()
        except (_NotDrawn, FileUnviewable) as error:
            why = str(error)
        except Exception:
            # A decoder fails in many ways on a damaged file, and none of them matters to the reader.
            why = "It cannot be decoded: it is damaged, or of a kind that is not known here."
        else:
            return ListRows(facts + drawn) if isinstance(drawn, list) else PictureRows(facts, drawn)
        return ListRows([*facts, styled(why, "dim")])

    def _fitted(self, width: int, cell: Cell) -> tuple[int, int]:
        """The size in pixels for at most `width` by `_MOST_ROWS` cells; never larger than the picture itself."""
        columns, lines = self._size
        if not columns or not lines:
            raise _NotDrawn("Its size is not found, so it is not drawn.")
        if columns * lines > _MOST_PIXELS:
            raise _NotDrawn("It has too many pixels to be drawn here; o opens it in another program.")
        scale = min(width * cell.width / columns, _MOST_ROWS * cell.height / lines, 1.0)
        return max(1, round(columns * scale)), max(1, round(lines * scale))

    def _prepared(self, width: int, canvas: Canvas) -> Picture:
        cell = canvas.cell
        size = self._fitted(width, cell)
        if canvas.means == "sixel":
            from tui.graphics.sixel import encode_rows

            size = _within(
                self._fitted(min(width, _WIDEST_PAINTED // cell.width), cell), _MOST_PAINTED_PIXELS
            )
            return SixelPicture(encode_rows(self._shrunk(size), cell.height), -(-size[0] // cell.width))
        columns, rows = -(-size[0] // cell.width), -(-size[1] // cell.height)
        size = _within(size, _MOST_SENT_PIXELS)
        picture = self._shrunk(size)
        while len(png := _png(picture)) > _MOST_SENT_BYTES:
            size = (max(1, size[0] * 7 // 10), max(1, size[1] * 7 // 10))
            picture = picture.resize(size)
        return KittyPicture(png, columns, rows)

    def _shrunk(self, size: tuple[int, int]) -> Image:
        """The picture in this size, as RGB, or as RGBA when parts of it may be transparent."""
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
                if picture.mode not in _OPAQUE or "transparency" in picture.info:
                    return picture.convert("RGBA").resize(size, Image.Resampling.BOX)
                # Of a large picture, to change its kind first would take longer than all the rest.
                return picture.resize(size, Image.Resampling.BOX).convert("RGB")


def _within(size: tuple[int, int], most: int) -> tuple[int, int]:
    """The size of a picture of the same shape with at most so many pixels."""
    scale = min(1.0, (most / (size[0] * size[1])) ** 0.5)
    return max(1, int(size[0] * scale)), max(1, int(size[1] * scale))


def _png(picture: Image) -> bytes:
    target = io.BytesIO()
    # Half the time of the usual way, and for photographs not larger.
    picture.save(target, "PNG", compress_level=1, compress_type=zlib.Z_RLE)
    return target.getvalue()


def _half_blocks(picture: Image) -> list[Row]:
    width, height = picture.size
    data = picture.convert("RGBA").tobytes()
    pixels = [(data[at], data[at + 1], data[at + 2], data[at + 3]) for at in range(0, len(data), 4)]
    pixels += [(0, 0, 0, 0)] * (width if height % 2 else 0)
    lines = [pixels[at : at + width] for at in range(0, len(pixels), width)]
    return [
        Strip(list(map(_cell, upper, lower)), width)
        for upper, lower in zip(lines[::2], lines[1::2], strict=True)
    ]


def _cell(upper: Pixel, lower: Pixel) -> Segment:
    above, below = upper[3] >= _SEEN_FROM, lower[3] >= _SEEN_FROM
    if above and below:
        return Segment("▀", Style.from_color(_colour(upper), _colour(lower)))
    if above:
        return Segment("▀", Style.from_color(_colour(upper)))
    return Segment("▄", Style.from_color(_colour(lower))) if below else Segment(" ")


def _colour(pixel: Pixel) -> Color:
    return Color.from_rgb(pixel[0], pixel[1], pixel[2])


def _few_colours(theme: MarkdownTheme) -> bool:
    colour = theme.link.color
    return colour is not None and colour.triplet is None
