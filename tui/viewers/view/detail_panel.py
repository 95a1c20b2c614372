"""The panel below a document with what does not fit into the row under the cursor."""

from __future__ import annotations

from textual import on
from textual.message import Message

from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.view.document_view import DocumentView


class DetailPanel(DocumentView, can_focus=False):
    """Shows what does not fit into the row under a cursor, in up to a third of the screen; hidden if there is nothing.

    It keeps its messages from the screen, which would take them for those of the document.

    Args:
        min_lines: a screen of fewer lines has no room for the panel.
    """

    fits = True
    """Whether the panel is as high as its rows."""

    def __init__(self, *, min_lines: int = 0, id: str | None = None) -> None:
        super().__init__(id=id)
        self._min_lines = min_lines
        self.display = False

    def show_detail(self, body: Body | None) -> None:
        """Show the detail of a row, if there is any."""
        self.display = body is not None and self.screen.size.height >= self._min_lines
        if body is not None:
            self.show(body)

    def scroll_pages(self, pages: int) -> None:
        """Scroll by pages."""
        self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False)

    @on(DocumentView.LaidOut)
    @on(DocumentView.CursorMoved)
    @on(DocumentView.EdgeRequested)
    @on(DocumentView.NearEnd)
    def keep(self, event: Message) -> None:
        """Keep a message, and take the room that the rows need."""
        event.stop()
        if self.fits and isinstance(event, DocumentView.LaidOut):
            most = max(2, self.screen.size.height // 3)
            self.styles.height = min(self.row_count, most) + 1
