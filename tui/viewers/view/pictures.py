"""The pictures of a document in the terminal: they move with the rows, and disappear while they are folded away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.geometry import Region
from textual.widget import Widget

from ua_tui.tui.graphics.capabilities import Canvas
from ua_tui.tui.graphics.store import pictures_of
from ua_tui.tui.viewers.bodies.picture import PictureRows
from ua_tui.tui.viewers.document import Rows


class DocumentPictures:
    """Shows the pictures in the rows of a view in terminal graphics, if the terminal has any.

    Args:
        view: shows the rows.
        redraw: draws the rows of the view again.
    """

    def __init__(self, view: Widget, redraw: Callable[[], object]) -> None:
        self._view = view
        self._redraw = redraw
        self._anchors: list[_Anchor] = []

    @property
    def canvas(self) -> Canvas | None:
        """What to encode pictures for; None if only half blocks are available."""
        store = pictures_of(self._view.app)
        return store.canvas if store is not None else None

    def show(self, rows: Rows) -> None:
        """Show the pictures in these rows instead of the previous ones."""
        self.clear()
        if (store := pictures_of(self._view.app)) is not None:
            self._anchors = [_Anchor(self._view, self._redraw, rows, each) for each in rows.positions()]
            for anchor in self._anchors:
                anchor.picture.placed = store.place(anchor, anchor.picture.picture)

    def clear(self) -> None:
        """Remove all pictures."""
        if (store := pictures_of(self._view.app)) is not None:
            for anchor in self._anchors:
                store.remove(anchor)
        self._anchors = []


@dataclass(frozen=True, slots=True, eq=False)
class _Anchor:
    surface: Widget
    redraw_picture: Callable[[], object]
    rows: Rows
    picture: PictureRows

    @property
    def picture_region(self) -> tuple[Region, Region] | None:
        position = self.rows.positions()[self.picture] if self.surface.is_on_screen else None
        if position is None:
            return None
        column, row = position
        visible = self.surface.scrollable_content_region
        top = visible.y + row - int(self.surface.scroll_offset.y)
        size = self.picture.picture
        return Region(visible.x + column, top, size.columns, size.rows), visible
