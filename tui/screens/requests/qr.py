"""A link as a QR code, for the camera of a phone."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

HALVES = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}


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


class QrCode(Static):
    """The rows of a code, black on white: cameras need dark on light in every theme."""

    def __init__(self, rows: Sequence[str]) -> None:
        super().__init__(Content.styled("\n".join(rows), "#000000 on #ffffff"))
        self.code_size = Size(len(rows[0]), len(rows))
        """Its size in cells, visible or not."""
