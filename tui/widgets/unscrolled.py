"""Widgets that never scroll: a layout that gives them another size needs no second one."""

from __future__ import annotations

from textual.geometry import Size
from textual.reactive import Reactive


def unscrolled_size() -> Reactive[Size]:
    """Return a `virtual_size` for the class of a widget that never scrolls.

    Textual requests a layout whenever the layout itself has changed the virtual size of a widget, because scroll bars
    may depend on it. Without scroll bars that second layout changes nothing and paints everything again.
    """
    return Reactive(Size(0, 0), layout=False, repaint=False)
