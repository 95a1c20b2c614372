"""What has no room in the row under a cursor, shown below the rows."""

from __future__ import annotations

from tui.viewers.view.document import Body
from tui.viewers.view.view import DocumentView

__all__ = ["DetailPanel"]

_LEAST_ROWS = 2


class DetailPanel(DocumentView, can_focus=False):
    """Takes the room it needs, up to a third of the screen; none while there is nothing to show.

    Args:
        least: how many lines a screen has that has room for it.
    """

    def __init__(self, *, least: int, id: str | None = None) -> None:
        super().__init__(id=id)
        self._least = least
        self.display = False

    def tell(self, body: Body | None) -> None:
        """Show the detail of another row, which may have none."""
        self.display = body is not None and self.screen.size.height >= self._least
        if body is not None:
            self.show(body)

    def on_document_view_laid(self, event: DocumentView.Laid) -> None:
        """Take the room for the rows there are."""
        event.stop()
        most = max(_LEAST_ROWS, self.screen.size.height // 3)
        self.styles.height = min(self.row_count, most) + 1
