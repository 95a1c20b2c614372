"""The view of a report with its claims: goes from claim to claim, and highlights the current one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.strip import Strip

from ua_tui.tui.render.strips import highlight
from ua_tui.tui.viewers.claims.marks import SIGNS, MarkedBody, MarkedRows
from ua_tui.tui.viewers.view.detail_panel import DetailPanel
from ua_tui.tui.viewers.view.document_view import DocumentView


class EvidencePanel(DetailPanel, can_focus=False):
    """Shows the evidence for a claim below the report, which keeps the keys."""

    fits = False


class ReportView(DocumentView):
    """Shows a `MarkedBody` with its claims, and any other body as a `DocumentView` does.

    `choose` is given the number, from 0, of a claim that was clicked; `open_claim` shows the evidence for the current
    one, or its source.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "claim--current",
        *(f"claim--{part}{sign.style}" for sign in SIGNS.values() for part in ("", "sign-")),
    }

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
        for row in self._claim_rows(self.claim) | self._claim_rows(claim):
            self._strips.discard(row)
        self.claim = claim
        row, height = self.claim_row(claim), self.scrollable_content_region.height
        if row >= 0 and not self.scroll_offset.y <= row < self.scroll_offset.y + height - 1:
            self.go_to_row(row, below=height // 3)
        self.refresh()

    def claim_row(self, claim: int) -> int:
        """The row in which a claim begins; -1 if the rows do not have it."""
        return min(self._claim_rows(claim), default=-1)

    def _claim_rows(self, claim: int) -> set[int]:
        return self._rows.claim_rows(claim) if isinstance(self._rows, MarkedRows) else set()

    def decorate(self, index: int, strip: Strip) -> Strip:
        """Style the signs and the words of claims."""
        if not isinstance(self._rows, MarkedRows):
            return strip
        # A claim may be a part of another one: the current one is in front.
        found = sorted(self._rows.decorations.get(index, ()), key=lambda each: each[3] == self.claim)
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
