"""A link as a QR code, for the camera of a phone."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

HALVES = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}
# Cameras need dark on light in every theme.
INK = Style(color="#000000", bgcolor="#ffffff")


def qr_rows(text: str) -> list[str]:
    """Return `text` as rows of half blocks, two modules per cell; an empty list if it is too long for a terminal.

    The first call takes a tenth of a second, because it imports the encoder.
    """
    if len(text) > 400:
        return []
    import segno

    code = segno.make(text, error="l", micro=False)
    # Light modules around the code, as required by its standard (ISO/IEC 18004).
    modules = [list(row) for row in code.matrix_iter(border=4)]
    if len(modules) % 2:
        modules.append([0] * len(modules[0]))
    return [
        "".join(HALVES[1 if upper else 0, 1 if lower else 0] for upper, lower in zip(*pair, strict=True))
        for pair in zip(modules[::2], modules[1::2], strict=True)
    ]


class QrCode(Widget):
    """The rows of a code, black on white."""

    def __init__(self, rows: list[str]) -> None:
        super().__init__()
        self._rows = rows

    @property
    def code_size(self) -> Size:
        """Its size in cells, visible or not."""
        return Size(len(self._rows[0]), len(self._rows))

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """The width of the code."""
        return self.code_size.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The height of the code."""
        return self.code_size.height

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        return Strip([Segment(self._rows[y] if y < len(self._rows) else "", INK)])
