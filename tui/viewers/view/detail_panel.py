"""The panel below a document with what does not fit into the row under the cursor."""

from __future__ import annotations

from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.view.document_view import DocumentView


class DetailPanel(DocumentView, can_focus=False):
    """Shows what does not fit into the row under a cursor, in up to a third of the screen; hidden if there is nothing.

    Args:
        min_lines: a screen of fewer lines has no room for the panel.
    """

    def __init__(self, *, min_lines: int, id: str | None = None) -> None:
        super().__init__(id=id)
        self._min_lines = min_lines
        self.display = False

    def show_detail(self, body: Body | None) -> None:
        """Show the detail of a row, if there is any."""
        self.display = body is not None and self.screen.size.height >= self._min_lines
        if body is not None:
            self.show(body)

    def on_document_view_laid_out(self, event: DocumentView.LaidOut) -> None:
        """Take the room that the rows need."""
        event.stop()
        most = max(2, self.screen.size.height // 3)
        self.styles.height = min(self.row_count, most) + 1

    def on_document_view_cursor_moved(self, event: DocumentView.CursorMoved) -> None:
        """Keep the message from the screen, which would update this panel again."""
        event.stop()
