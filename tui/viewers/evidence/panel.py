"""The panel with the evidence for a claim: beside the report, or below it on a narrow screen."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.view.document_view import DocumentView


class EvidencePanel(Vertical):
    """Shows the evidence for a claim; the report keeps the keys."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False

    def compose(self) -> ComposeResult:
        """Create the content."""
        view = DocumentView()
        view.can_focus = False
        yield view

    def show_evidence(self, body: Body | None) -> None:
        """Show the evidence for a claim; None closes the panel."""
        self.display = body is not None
        if body is not None:
            self.query_one(DocumentView).show(body)

    def on_document_view_laid_out(self, event: DocumentView.LaidOut) -> None:
        """Keep the message from the screen."""
        event.stop()

    def on_document_view_cursor_moved(self, event: DocumentView.CursorMoved) -> None:
        """Keep the message from the screen."""
        event.stop()

    def on_document_view_edge_requested(self, event: DocumentView.EdgeRequested) -> None:
        """Keep the message from the screen."""
        event.stop()

    def on_document_view_near_end(self, event: DocumentView.NearEnd) -> None:
        """Keep the message from the screen."""
        event.stop()
