"""The graphics protocol of Kitty with Unicode placeholders: the data is sent once, then cells stand for its parts.

https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders

A picture has an ID of 32 bits. The colour of a cell gives the lower 24 bits, which all our pictures share; combining
characters give the upper 8 bits, the row and the column. So each cell is complete by itself: it may be separated from
its neighbours and drawn again alone, and `PLACEHOLDER_COLOUR` restores its colour.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import chain
from os import urandom

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

PLACEHOLDER = "\U0010eeee"
PLACEHOLDER_COLOUR = 17 + int.from_bytes(urandom(2)) % 214
"""The colour of all placeholders, one of 256: random for each process, so that IDs rarely clash with other programs."""

CHUNK = 4096
_START, _END = "\x1b_G", "\x1b\\"

# The list of combining characters in the protocol, as ranges.
_RANGES = (
    "305 30D-30E 310 312 33D-33F 346 34A-34C 350-352 357 35B 363-36F 483-487 592-595 597-599 59C-5A1",
    "5A8-5A9 5AB-5AC 5AF 5C4 610-617 657-65B 65D-65E 6D6-6DC 6DF-6E2 6E4 6E7-6E8 6EB-6EC 730 732-733",
    "735-736 73A 73D 73F-741 743 745 747 749-74A 7EB-7F1 7F3 816-819 81B-823 825-827 829-82D 951",
    "953-954 F82-F83 F86-F87 135D-135F 17DD 193A 1A17 1A75-1A7C 1B6B 1B6D-1B73 1CD0-1CD2 1CDA-1CDB",
    "1CE0 1DC0-1DC1 1DC3-1DC9 1DCB-1DCC 1DD1-1DE6 1DFE 20D0-20D1 20D4-20D7 20DB-20DC 20E1 20E7 20E9",
    "20F0 2CEF-2CF1 2DE0-2DFF A66F A67C-A67D A6F0-A6F1 A8E0-A8F1 AAB0 AAB2-AAB3 AAB7-AAB8 AABE-AABF",
    "AAC1 FE20-FE26 10A0F 10A38 1D185-1D189 1D1AA-1D1AD 1D242-1D244",
)


def _expand(ranges: str) -> Iterator[str]:
    for each in ranges.split():
        first, _, last = each.partition("-")
        yield from map(chr, range(int(first, 16), int(last or first, 16) + 1))


_MARKS = tuple(chain.from_iterable(map(_expand, _RANGES)))
MAX_CELLS = len(_MARKS)
"""The maximum number of rows, and of columns, of a picture."""
PICTURE_KEYS = range(1, 256)
"""The keys that distinguish our pictures: the upper 8 bits of their IDs."""

_CELLS = re.compile(f"(?:{PLACEHOLDER}[{''.join(_MARKS)}]{{3}})+")
_STYLE = Style(color=Color.from_ansi(PLACEHOLDER_COLOUR))


def image_id(key: int) -> int:
    """The ID of the picture with this key."""
    return key << 24 | PLACEHOLDER_COLOUR


def transmission(key: int, png: bytes, columns: int, rows: int) -> Iterator[str]:
    """Yield the commands that send a picture of `columns` by `rows` cells to the terminal, each at most 4.2 KB.

    No other graphics command may be written between them; other output may.
    """
    data = base64.standard_b64encode(png).decode("ascii")
    head = f"a=T,U=1,f=100,i={image_id(key)},c={columns},r={rows},"
    for at in range(0, len(data), CHUNK):
        more = int(at + CHUNK < len(data))
        yield f"{_START}{head}q=2,m={more};{data[at : at + CHUNK]}{_END}"
        head = ""


def deletion(key: int) -> str:
    """The command that deletes a picture from the terminal."""
    return f"{_START}a=d,d=I,i={image_id(key)},q=2{_END}"


def row_of(key: int, row: int, columns: int) -> Strip:
    """One row of the cells in which the terminal draws a picture."""
    ends = _MARKS[row], _MARKS[key]
    text = "".join(f"{PLACEHOLDER}{ends[0]}{_MARKS[column]}{ends[1]}" for column in range(columns))
    return Strip([Segment(text, _STYLE)], columns)


def is_cells(text: str) -> bool:
    """Whether a text consists of complete picture cells only."""
    return _CELLS.fullmatch(text) is not None
