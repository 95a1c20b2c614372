"""Where one picture hangs in a document: it moves as the rows do, and is gone while it is folded away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.widget import Widget

from tui.viewers.bodies.picture import Pictured, PictureRows

if TYPE_CHECKING:
    from tui.viewers.view.view import DocumentView

__all__ = ["Hook"]


class Hook:
    """The place of a picture in a view.

    Args:
        view: shows the document.
        among: all its rows.
        rows: those of the picture.
    """

    def __init__(self, view: DocumentView, among: Pictured, rows: PictureRows) -> None:
        self.rows = rows
        self._view = view
        self._among = among

    @property
    def surface(self) -> Widget:
        """The view."""
        return self._view

    def picture_changed(self) -> None:
        """Draw the rows of the picture anew: the terminal has it now, or has it no more."""
        self._view.refresh_pictures()

    @property
    def picture_place(self) -> tuple[Region, Region] | None:
        """Where on the screen the whole picture would be, and the region it is seen through; None when hidden."""
        place = self._among.place_of(self.rows) if self._view.is_on_screen else None
        if place is None:
            return None
        column, row = place
        seen = self._view.scrollable_content_region
        top = seen.y + row - int(self._view.scroll_offset.y)
        return Region(seen.x + column, top, self.rows.picture.columns, self.rows.picture.rows), seen
