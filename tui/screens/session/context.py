"""What fills the model's context: a bar for each part, and what the largest parts consist of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from ua_tui.core.agent.messages.usage import describe_total
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import count
from ua_tui.core.text import clean_line
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot, Words
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.agent.messages.usage import ContextUsage
    from ua_tui.core.session.session import Session

_NAME = 28


class ContextScreen(Dialog[None]):
    """Asks the agent what fills the context, and shows it."""

    FIRST = "close"

    def __init__(self, controls: Session | None) -> None:
        self._controls = controls
        self._shown = Words("Asking the agent…")
        super().__init__(
            Box("Context", "", self._shown, Foot(Choice("Esc", "Close", "close"))), requested=True
        )

    def on_mount(self) -> None:
        """Ask the agent."""
        start_job(self, self._ask, "context")

    async def _ask(self) -> None:
        try:
            usage = await self._controls.context_usage() if self._controls is not None else None
        except UniversalAgentError as error:
            self._shown.update(
                f"The agent did not report what fills the context: {clean_line(str(error), 300)}"
            )
            return
        if usage is None:
            self._shown.update("The agent is not connected: there is no context yet.")
        else:
            self._shown.update(describe_usage(usage))


def describe_usage(usage: ContextUsage) -> Content:
    """The parts of the context as lines: name, tokens, share, and a bar."""
    window = max(1, usage.window)
    lines = [Content(describe_total(usage)), Content("")]
    for part in usage.parts:
        if usage.is_guess and not part.is_used:
            continue
        filled = round(20 * part.tokens / window)
        style = "$accent" if part.is_used else "$foreground-muted"
        figures = f"{count(part.tokens):>6}"
        if not usage.is_guess:
            figures += f" {100 * part.tokens / window:5.1f}%  "
        bar = ("█" * filled or "▏") if not usage.is_guess else ""
        lines.append(Content.assemble(part.name.ljust(_NAME), figures, (bar, style)))
        if part.details:
            details = " · ".join(f"{name} {count(tokens)}" for name, tokens in part.details)
            lines.append(Content.styled(f"  {details}", "$foreground-muted"))
    hint = "/compact summarises the conversation, to free context."
    return Content("\n").join([*lines, Content(""), Content.styled(hint, "$foreground-muted")])
