"""The view of a report with its claims: goes from claim to claim, and highlights the current one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.strip import Strip

from ua_tui.tui.render.strips import highlight
from ua_tui.tui.viewers.claims.marks import STYLES, MarkedBody, MarkedRows
from ua_tui.tui.viewers.view.detail_panel import DetailPanel
from ua_tui.tui.viewers.view.document_view import DocumentView


class EvidencePanel(DetailPanel, can_focus=False):
    """Shows the evidence for a claim below the report, which keeps the keys."""

    fits = False


_STYLES = (*STYLES, *(f"sign-{style}" for style in STYLES))


class ReportView(DocumentView):
    """Shows a `MarkedBody` with its claims, and any other body as a `DocumentView` does.

    Args:
        choose: is given the number, from 0, of a claim that was clicked.
        open_claim: shows the evidence for the current claim, or its source.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"claim--{style}" for style in _STYLES} | {"claim--current"}

    def __init__(
        self, choose: Callable[[int], object], open_claim: Callable[[], object], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._choose = choose
        self._open_claim = open_claim
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
            row, height = self.claim_row(claim), self.scrollable_content_region.height
            if row >= 0 and not self.scroll_offset.y <= row < self.scroll_offset.y + height - 1:
                self.go_to_row(row, below=height // 3)
        self.refresh()

    def claim_row(self, claim: int) -> int:
        """The row in which a claim begins; -1 if the rows do not have it."""
        rows = self._marked_rows()
        return min(rows.claim_rows(claim), default=-1) if rows is not None else -1

    def _marked_rows(self) -> MarkedRows | None:
        return self._rows if isinstance(self._rows, MarkedRows) else None

    def decorate(self, index: int, strip: Strip) -> Strip:
        """Style the signs and the words of claims."""
        rows = self._marked_rows()
        if rows is None:
            return strip
        # A claim may be a part of another one: the current one is in front.
        found = sorted(rows.decorations(index), key=lambda each: each.claim == self.claim)
        for start, end, role, claim in found:
            name = "current" if claim == self.claim else role
            style = self.get_component_rich_style(f"claim--{name}", partial=True)
            style += Style(meta={"claim": claim})
            strip = highlight(strip, [(start, end, False)], style, style)
        return strip

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action applies: what has no rows has no articles, and leaves their key to its claims."""
        if action == "command" and parameters == ("article",) and self.cursor_body is None:
            return False
        return super().check_action(action, parameters)

    def action_command(self, name: str) -> None:
        """Give the body a command; that of a report opens its current claim."""
        if not isinstance(self.body, MarkedBody):
            super().action_command(name)
        elif name == "open":
            self._open_claim()

    async def _on_click(self, event: events.Click) -> None:
        claim = event.style.meta.get("claim")
        if isinstance(claim, int) and not event.style.meta.get("url"):
            event.stop()
            event.prevent_default()
            self._choose(claim)
