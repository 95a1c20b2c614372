"""A column of panes that is resized without needless layouts."""

from __future__ import annotations

from typing import ClassVar

from textual.containers import Vertical
from textual.geometry import Size
from textual.reactive import Reactive

__all__ = ["Column"]


class Column(Vertical):
    """Panes one above the other, which fill the column."""

    # The column itself is never visible between its panes: one blank line is enough.
    BLANK: ClassVar[bool] = True

    # Nothing scrolls in it. Otherwise a resized column would ask for a second layout, and paint its panes twice.
    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
