"""Sixel encoder: a picture as text, six lines of pixels at a time, one string for each row of cells.

The format is that of DEC's VT330/VT340 Programmer Reference Manual, volume 2, chapter 14.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

_BAND = 6
_CLEAR = 255
"""The colour number of transparent pixels."""
_REPEATED = re.compile(rb"(.)\1{3,255}", re.DOTALL)
_EMPTY = ord("?")
# Larger pictures use fewer colours: each colour costs a pass over every band that contains it.
_COLOURS = ((150_000, 255), (400_000, 128))
_SAMPLE_SIZE = (128, 96)


def encode_rows(picture: Image, height: int) -> tuple[str, ...]:
    """Encode an RGB or RGBA picture, one string for each `height` lines of pixels; transparent pixels are not drawn.

    At most 255 colours are used, fewer for large pictures; all rows share the colours and their numbers.
    """
    indexed, colours = _reduced(picture)
    width, lines = indexed.size
    data = indexed.tobytes()
    rows = [data[at * width : (at + 1) * width] for at in range(lines)]
    return tuple(
        _encode(rows[top : top + height], width, colours).decode("ascii") for top in range(0, lines, height)
    )


def _reduced(picture: Image) -> tuple[Image, list[bytes]]:
    """The picture as colour numbers, and the Sixel definitions of the colours."""
    from PIL import Image

    pixels = picture.width * picture.height
    count = next((count for most, count in _COLOURS if pixels <= most), 64)
    opaque = picture.convert("RGB")
    # Choosing colours takes long, and the colours of a small copy are nearly as good.
    few = pixels <= _SAMPLE_SIZE[0] * _SAMPLE_SIZE[1] or opaque.getcolors(count) is not None
    sample = opaque if few else opaque.resize(_SAMPLE_SIZE, Image.Resampling.BOX)
    chosen = sample.quantize(count, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    indexed = chosen if few else opaque.quantize(palette=chosen, dither=Image.Dither.NONE)
    palette = bytes(chosen.getpalette() or ())
    if "A" in picture.getbands():
        indexed.paste(_CLEAR, mask=picture.getchannel("A").point(lambda alpha: 255 if alpha < 128 else 0))
    return indexed, [
        b"#%d;2;%d;%d;%d"
        % (number, *(round(part * 100 / 255) for part in palette[number * 3 : number * 3 + 3]))
        for number in range(len(palette) // 3)
    ]


def _encode(lines: list[bytes], width: int, colours: list[bytes]) -> bytes:
    used = sorted(set(b"".join(lines)) - {_CLEAR})
    # The second parameter leaves undrawn pixels as they are; the raster size stops drawing below the last line.
    parts = [b'\x1bP0;1;0q"1;1;%d;%d' % (width, len(lines)), *(colours[number] for number in used)]
    bands = (lines[top : top + _BAND] for top in range(0, len(lines), _BAND))
    parts.append(b"-".join(b"$".join(_passes(band, width)) for band in bands))
    return b"".join(parts) + b"\x1b\\"


def _passes(band: list[bytes], width: int) -> Iterator[bytes]:
    """One pass over a band for each of its colours."""
    empty = int.from_bytes(bytes([_EMPTY]) * width)
    columns: dict[int, int] = {}
    for bit, line in enumerate(band):
        for colour in set(line):
            if colour != _CLEAR:
                # One byte for each column; all are set at once as one large integer.
                columns[colour] = columns.get(colour, 0) | int.from_bytes(line.translate(_table(colour, bit)))
    for colour, bits in columns.items():
        data = (bits + empty).to_bytes(width).rstrip(b"?")
        yield b"#%d" % colour + _REPEATED.sub(lambda match: b"!%d%s" % (len(match[0]), match[1]), data)


@lru_cache(maxsize=6 * 256)
def _table(colour: int, bit: int) -> bytes:
    """The translation table that turns one colour of a line into the bit of that line, and all others into zero."""
    return bytes(1 << bit if number == colour else 0 for number in range(256))
