"""A column of panes that is resized without needless layouts."""

from __future__ import annotations

from typing import ClassVar

from textual.containers import Vertical

from ua_tui.tui.widgets.modal import unscrolled_size


class Column(Vertical):
    """Panes one above the other, which fill the column."""

    # The column itself is never visible between its panes: one blank line is enough.
    BLANK: ClassVar[bool] = True

    virtual_size = unscrolled_size()
