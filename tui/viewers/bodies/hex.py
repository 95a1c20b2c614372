"""A hex dump: the body of bytes that are not text."""

from __future__ import annotations

from textual.content import Content

from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.document import Body, Match, Rows, joined


class HexBody(Body):
    """A hex dump of bytes that begin at `offset` in their file."""

    def __init__(self, data: bytes, offset: int = 0) -> None:
        self.data = data
        self.offset = offset

    def lay_out(self, width: int, theme: MarkdownTheme) -> HexRows:
        """Return rows of as many bytes as fit: 16, 8, 4 or 2."""
        for count in (16, 8, 4):
            if 10 + count * 4 + count // 8 <= width:
                return HexRows(self, count)
        return HexRows(self, 2)


class HexRows(Rows):
    """The rows of a hex dump: offset, bytes, and printable characters."""

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
        return joined([(offset, "dim"), (f"{dump}  ", ""), (shown, "string")])

    def find(self, needle: str) -> list[Match]:
        """Return every occurrence of `needle` within one row; none in a dump of very many rows."""
        return super().find(needle) if len(self) <= 20_000 else []
