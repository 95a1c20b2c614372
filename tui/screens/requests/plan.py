"""The dialog in which a plan is approved, or sent back with a remark."""

from __future__ import annotations

from typing import Literal

from textual.app import ComposeResult

from ua_tui.core.agent.permissions.gate import REASON_LIMIT, PermissionReply
from ua_tui.core.events.types import PermissionAsked
from ua_tui.tui.screens.requests.text_answer import TextAnswer, WritingDialog, characters_left
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.view.document_view import DocumentView
from ua_tui.tui.widgets.dialog import Box, Choice, Foot, Words

PlanAnswer = PermissionReply | Literal["acceptEdits"]
"""An answer to the question, or the mode whose choice approves the plan."""

_NO_TEXT = "*The agent has not written the plan: its messages in the conversation may say what it is.*"
_ADVICE = "Until you approve it, nothing is written or sent."


class PlanScreen(WritingDialog[PlanAnswer | None]):
    """Shows a plan; Esc continues planning. The result None means that it is not answered here."""

    FIRST = "keep"
    RETURNS_TO = "#keep"

    def __init__(self, event: PermissionAsked) -> None:
        super().__init__()
        self.event = event

    def compose(self) -> ComposeResult:
        """Show the plan and the answers."""
        with Box("Plan", "-asks"):
            yield Words("Approve this plan?", "heading")
            yield DocumentView(id="plan")
            yield Words(_ADVICE, "advice")
            yield Foot(
                Choice("Ctrl+N" if self.can_wait else "Esc", "Keep planning", "keep"),
                Choice("r", "Comment", "remark", "write"),
                Choice("a", "Approve", "approve"),
                Choice("e", "Approve + edits", "edits", "answer('acceptEdits')"),
                *([Choice("Esc", "Later", "later", "back")] if self.can_wait else []),
                id="answers",
            )
            yield TextAnswer(
                "What should change? The model sees your comment.",
                "Send",
                lambda text: (
                    characters_left(text, REASON_LIMIT) or "Say what to change or to add.",
                    bool(text),
                ),
                most=REASON_LIMIT,
                id="reasoning",
            )

    def on_mount(self) -> None:
        """Show the plan."""
        self.query_one(DocumentView).show(MarkdownBody(str(self.event.input.get("plan") or _NO_TEXT)))

    def on_text_answer_submitted(self, event: TextAnswer.Submitted) -> None:
        """Send the plan back with a remark."""
        self.answer(PermissionReply(allow=False, reason=event.text))

    def on_document_view_laid_out(self, event: DocumentView.LaidOut) -> None:
        """Give the plan all of its rows; the box scrolls."""
        event.view.styles.height = max(1, event.view.virtual_size.height)

    def action_approve(self) -> None:
        """Approve the plan; the session continues in the default mode."""
        self.answer(PermissionReply(allow=True))

    def leave(self) -> None:
        """Continue planning, or let the plan wait."""
        self.wait_or(self.action_keep)

    def action_keep(self) -> None:
        """Continue planning."""
        self.answer(PermissionReply(allow=False))
