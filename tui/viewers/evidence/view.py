"""The view of a report with its claims: goes from claim to claim, and highlights the current one."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip

from ua_tui.core.evidence.records import Level
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.evidence.marks import MarkedBody, MarkedRows
from ua_tui.tui.viewers.view.document_view import DocumentView
from ua_tui.tui.viewers.view.search import highlight


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


_ROLES = (*Level, *(f"sign-{level}" for level in Level))


class ReportView(DocumentView):
    """Shows a `MarkedBody` with its claims, and any other body as a `DocumentView` does."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"claim--{role}" for role in _ROLES} | {"claim--current"}

    class ClaimChosen(DocumentView.ViewMessage):
        """A claim was clicked; `claim` is its number, from 0."""

        def __init__(self, view: ReportView, claim: int) -> None:
            self.claim = claim
            super().__init__(view)

    class Commanded(DocumentView.ViewMessage):
        """The reader gave a command that the body does not know, such as `open`."""

        def __init__(self, view: ReportView, name: str) -> None:
            self.name = name
            super().__init__(view)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.claim = -1
        """The number of the current claim; -1 for none."""

    def select_claim(self, claim: int) -> None:
        """Make a claim the current one, and bring it into view; -1 for none."""
        rows = self._marked_rows()
        for each in {self.claim, claim} - {-1}:
            for row in rows.claim_rows(each) if rows is not None else ():
                self._strips.discard(row)
        self.claim = claim
        if rows is not None and claim >= 0:
            row, height = rows.claim_row(claim), self.scrollable_content_region.height
            if not self.scroll_offset.y <= row < self.scroll_offset.y + height - 1:
                self.go_to_row(row, below=height // 3)
        self.refresh()

    def claim_row(self, claim: int) -> int:
        """The row in which a claim begins; -1 while the rows have no claims."""
        rows = self._marked_rows()
        return rows.claim_row(claim) if rows is not None else -1

    def _marked_rows(self) -> MarkedRows | None:
        return self._rows if isinstance(self._rows, MarkedRows) else None

    def decorate(self, index: int, strip: Strip) -> Strip:
        """Style the signs and the words of claims."""
        rows = self._marked_rows()
        if rows is None:
            return strip
        for start, end, role, claim in rows.decorations(index):
            name = "current" if claim == self.claim else role
            style = self.get_component_rich_style(f"claim--{name}", partial=True)
            style += Style(meta={"claim": claim})
            strip = highlight(strip, [(start, end, False)], style, style)
        return strip

    def action_command(self, name: str) -> None:
        """Give the body a command; one of a report goes to the screen."""
        if isinstance(self._body, MarkedBody):
            self.post_message(self.Commanded(self, name))
        else:
            super().action_command(name)

    async def _on_click(self, event: events.Click) -> None:
        claim = event.style.meta.get("claim")
        if isinstance(claim, int) and not event.style.meta.get("url"):
            event.stop()
            event.prevent_default()
            self.post_message(self.ClaimChosen(self, claim))
