"""A column of panes, which takes another size for what that costs."""

from __future__ import annotations

from typing import ClassVar

from textual.containers import Vertical
from textual.geometry import Size
from textual.reactive import Reactive

__all__ = ["Column"]


class Column(Vertical):
    """Panes one above the other, which fill all of it."""

    # Nothing of it is to be seen between its panes: one blank line does for all of them.
    BLANK: ClassVar[bool] = True

    # Nothing scrolls in it. A column of another size would ask for a second layout, and have all that stands in it
    # painted a second time.
    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
