"""A picture below a line of its properties, decoded in a worker process: in terminal graphics, or in half blocks."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from ua_tui.tui.graphics.capabilities import Canvas, CellSize
from ua_tui.tui.graphics.image import KittyPicture, Picture, PlacedPicture, SixelPicture
from ua_tui.tui.graphics.kitty import MAX_CELLS, row_of
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.conversion import MAX_PIXELS, conversions
from ua_tui.tui.viewers.document import Body, ListRows, Row, Rows, styled
from ua_tui.tui.viewers.reader import FileUnviewable, open_regular

if TYPE_CHECKING:
    from PIL.Image import Image

_TASK = "ua_tui.tui.viewers.conversion:scale_picture"
_SECONDS = 10.0
# Kitty has no names for more rows of a picture.
_MOST_ROWS = MAX_CELLS
_MIN_ALPHA = 128

Pixel = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """What the first bytes of a picture say: its format and its size in pixels, 0 if not found."""

    kind: str
    width: int
    height: int

    @property
    def size_text(self) -> str:
        """The size in pixels."""
        return f"{self.width:,} × {self.height:,} pixels" if self.width and self.height else "size not found"

    @property
    def description(self) -> str:
        """Format and size on one line."""
        return f"{self.kind} · {self.size_text}"


class _NotDrawn(Exception):
    """A picture cannot be drawn; the message says why."""


@dataclass(slots=True, eq=False)
class PictureRows(Rows):
    """A picture below its properties; its cells are blank until it is placed and the terminal has received it."""

    facts: Sequence[Row]
    picture: Picture
    placed: PlacedPicture | None = None

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.facts) + self.picture.rows

    def row(self, y: int) -> Row:
        """Row `y`."""
        if y < len(self.facts):
            return self.facts[y]
        placed = self.placed
        if placed is not None and placed.ready and isinstance(placed.picture, KittyPicture):
            return row_of(placed.key, y - len(self.facts), placed.picture.columns)
        return Strip.blank(self.picture.columns)

    def positions(self) -> Mapping[PictureRows, tuple[int, int]]:
        """The picture itself."""
        return {self: (0, len(self.facts))}


class PictureBody(Body):
    """A picture below a line of its properties.

    In 16 colours, and if the picture cannot be decoded, the properties are shown alone, with the reason.

    Args:
        header: the properties.
        data: the bytes of the picture; None reads them from `path`.
        path: the file; None for a picture that no other program can open.
        caption: what is written before the properties.
    """

    has_picture = True

    def __init__(
        self, header: PictureHeader, data: bytes | None, path: Path | None = None, *, caption: str = ""
    ) -> None:
        self._header = header
        self._data = data
        self._path = path
        self._rows: int | None = 60
        self._canvas: Canvas | None = None
        self._facts = f"{caption} · {header.description}" if caption else header.description

    def fit_to(self, rows: int | None, canvas: Canvas | None) -> bool:
        """Draw the picture with its properties at most this many rows high, or in the full width."""
        before = self._rows, self._canvas
        self._rows, self._canvas = None if rows is None else max(3, rows - 2), canvas
        return (self._rows, canvas) != before

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Decode the picture, and draw it at most as wide as `width` cells.

        Raises:
            Stopped: the result is no longer needed.
        """
        facts: list[Row] = [styled(tail_cut(self._facts, width), "dim"), Content("")]
        try:
            colour = theme.link.color
            if colour is not None and colour.triplet is None:
                raise _NotDrawn(f"Pictures are not drawn in 16 colours.{self._hint}")
            drawn = self._drawn(width, self._canvas)
        except (_NotDrawn, FileUnviewable) as error:
            reason = str(error)
        except Exception:
            # Decoders raise many kinds of errors on a damaged file; the reader needs none of the details.
            reason = "The picture is damaged or its format is not supported."
        else:
            return ListRows(facts + drawn) if isinstance(drawn, list) else PictureRows(facts, drawn)
        return ListRows([*facts, styled(tail_cut(reason, width), "dim")])

    def _drawn(self, width: int, canvas: Canvas | None) -> Picture | list[Row]:
        if canvas is not None:
            return self._encoded(min(width, MAX_CELLS), canvas)
        return _half_blocks(self._scaled(self._fitted(width, CellSize(1, 2))))

    @property
    def _hint(self) -> str:
        return " Press o to open it in another program." if self._path is not None else ""

    def _fitted(self, width: int, cell: CellSize) -> tuple[int, int]:
        """The size in pixels for at most `width` cells and the rows to fit; never larger than the picture itself."""
        columns, lines = self._header.width, self._header.height
        if not columns or not lines:
            raise _NotDrawn("The picture is not drawn because its size was not found.")
        if columns * lines > MAX_PIXELS:
            raise _NotDrawn(f"The picture has too many pixels to be drawn.{self._hint}")
        rows = min(_MOST_ROWS, self._rows or _MOST_ROWS)
        scale = min(width * cell.width / columns, rows * cell.height / lines, 1.0)
        return max(1, round(columns * scale)), max(1, round(lines * scale))

    def _encoded(self, width: int, canvas: Canvas) -> Picture:
        cell = canvas.cell
        size = self._fitted(width, cell)
        if canvas.graphics == "sixel":
            from ua_tui.tui.graphics.sixel import encode_rows

            # By default xterm does not draw a wider picture.
            fitted = self._fitted(min(width, 1000 // cell.width), cell)
            size = _within(fitted, 600_000)
            return SixelPicture(encode_rows(self._scaled(size), cell.height), -(-size[0] // cell.width))
        columns, rows = -(-size[0] // cell.width), -(-size[1] // cell.height)
        # More pixels are not visible and take long to send. Kitty scales the picture to its cells; Sixel does not.
        size = _within(size, 1_200_000)
        picture = self._scaled(size)
        while len(png := _png(picture)) > 2_000_000:
            size = (max(1, size[0] * 7 // 10), max(1, size[1] * 7 // 10))
            picture = picture.resize(size)
        return KittyPicture(png, columns, rows)

    def _scaled(self, size: tuple[int, int]) -> Image:
        """The picture in this size, as RGB, or as RGBA if parts of it may be transparent."""
        from PIL import Image

        from ua_tui.core.concurrency.conversions import TooComplex

        if self._data is None:
            assert self._path is not None, "a picture without data has a path"
            os.close(open_regular(self._path))
            source = ("path", os.fsencode(self._path))
        else:
            source = ("data", self._data)
        try:
            mode, pixels = conversions().run(_TASK, (*source, *size), seconds=_SECONDS)
        except TooComplex as error:
            raise _NotDrawn(f"The picture is too complex to be drawn: {error}.{self._hint}") from error
        return Image.frombytes(mode, size, pixels)


def _within(size: tuple[int, int], limit: int) -> tuple[int, int]:
    """The size of a picture of the same shape with at most `limit` pixels."""
    scale = min(1.0, (limit / (size[0] * size[1])) ** 0.5)
    return max(1, int(size[0] * scale)), max(1, int(size[1] * scale))


def _png(picture: Image) -> bytes:
    target = io.BytesIO()
    # Takes half the time of the default, and photographs do not become larger.
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
    above, below = upper[3] >= _MIN_ALPHA, lower[3] >= _MIN_ALPHA
    if above and below:
        return Segment("▀", Style.from_color(_colour(upper), _colour(lower)))
    if above:
        return Segment("▀", Style.from_color(_colour(upper)))
    return Segment("▄", Style.from_color(_colour(lower))) if below else Segment(" ")


def _colour(pixel: Pixel) -> Color:
    return Color.from_rgb(pixel[0], pixel[1], pixel[2])


def read_header(data: bytes) -> PictureHeader | None:
    """Read format, width and height from the first bytes of a picture; None if they are not those of a picture."""
    try:
        match data[:4]:
            case b"\x89PNG" if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
                return PictureHeader("PNG image", *struct.unpack(">II", data[16:24]))
            case b"GIF8" if data[:6] in {b"GIF87a", b"GIF89a"}:
                return PictureHeader("GIF image", *struct.unpack("<HH", data[6:10]))
            case b"RIFF" if data[8:12] == b"WEBP":
                return PictureHeader("WebP image", *_webp_size(data))
            case _ if data.startswith(b"\xff\xd8\xff"):
                return PictureHeader("JPEG image", *_jpeg_size(data))
            case _ if data[:2] == b"BM" and len(data) > 26:
                width, height = struct.unpack("<ii", data[18:26])
                return PictureHeader("BMP image", width, abs(height))
            case _:
                return None
    except struct.error:
        return None


def _webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return (
                int.from_bytes(data[24:27], "little") + 1,
                int.from_bytes(data[27:30], "little") + 1,
            )
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return ((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
        case _:
            width, height = struct.unpack("<HH", data[26:30])
            return (width & 0x3FFF, height & 0x3FFF)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return (width, height)
        at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])
    return (0, 0)
