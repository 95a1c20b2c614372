"""Bytes that are no text: what they seem to be, and a hex dump."""

from __future__ import annotations

from textual.content import Content, Span

from tui.render.markdown import MarkdownTheme
from tui.viewers.registry import Sample, View, Viewer
from tui.viewers.view.document import Match, find_in_rows

__all__ = ["VIEWER", "HexBody"]

_MAGIC = (
    (b"%PDF-", 0, "PDF"),
    (b"PK\x03\x04", 0, "Zip archive"),
    (b"\x1f\x8b", 0, "Gzip data"),
    (b"\x28\xb5\x2f\xfd", 0, "Zstandard data"),
    (b"SQLite format 3\0", 0, "SQLite database"),
    (b"ftyp", 4, "MP4 video or audio"),
    (b"\x1aE\xdf\xa3", 0, "Matroska or WebM video"),
    (b"ID3", 0, "MP3 audio"),
    (b"OggS", 0, "Ogg audio or video"),
    (b"fLaC", 0, "FLAC audio"),
    (b"WAVE", 8, "WAV audio"),
    (b"AVI ", 8, "AVI video"),
    (b"\x7fELF", 0, "Program (ELF)"),
)
_SEARCHED_ROWS = 20_000


class HexBody:
    """A hex dump of some bytes that begin at `offset` of their file."""

    def __init__(self, data: bytes, offset: int = 0) -> None:
        self.data = data
        self.offset = offset

    def lay_out(self, width: int, theme: MarkdownTheme) -> HexRows:
        """As many bytes a row as fit: 16, 8 or 4."""
        for count in (16, 8, 4):
            if 10 + count * 4 + count // 8 <= width:
                return HexRows(self, count)
        return HexRows(self, 2)


class HexRows:
    """The rows of a hex dump: offset, bytes, and the characters they stand for."""

    def __init__(self, body: HexBody, count: int) -> None:
        self._body = body
        self._count = count

    def __len__(self) -> int:
        """The number of rows."""
        return max(1, -(-len(self._body.data) // self._count))

    def row(self, y: int) -> Content:
        """Row `y`."""
        count = self._count
        data = self._body.data[y * count : (y + 1) * count]
        offset = f"{self._body.offset + y * count:08x}  "
        groups = [data[i : i + 8].hex(" ") for i in range(0, len(data), 8)]
        width = count * 3 - 1 + max(0, (count - 1) // 8)
        dump = f"{'  '.join(groups):<{width}}"
        shown = "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in data)
        text = f"{offset}{dump}  {shown}"
        return Content(text, [Span(0, len(offset), "dim"), Span(len(text) - len(shown), len(text), "string")])

    def find(self, needle: str) -> list[Match]:
        """Every place of `needle` within one row, in the first rows only."""
        if len(self) > _SEARCHED_ROWS:
            return []
        return find_in_rows(self, needle)


def _view(sample: Sample) -> View:
    kind = next(
        (name for magic, at, name in _MAGIC if sample.data[at : at + len(magic)] == magic), "Binary file"
    )
    return View(kind, HexBody(sample.data, sample.piece.offset))


VIEWER = Viewer("binary", lambda sample: sample.binary, _view)
