"""The panes of a past session on one screen, with a prompt that takes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from tui.layout.frame import Frame

__all__ = ["CLOSED_PROMPT", "FOLLOWING_PROMPT", "PastFrame"]

CLOSED_PROMPT = "A past session, only to be read: nothing can be asked here."
FOLLOWING_PROMPT = "It runs in another program, and is followed here."


class PastFrame(Frame):
    """Arranges panes that can be filled from their beginning while they show the end."""

    WORDS = CLOSED_PROMPT

    def tell(self, *, runs: bool) -> None:
        """Say in the prompt why it takes nothing: whether the session runs elsewhere, or is over."""
        self.prompt.placeholder = Content(FOLLOWING_PROMPT if runs else CLOSED_PROMPT)

    def make_panes(self) -> Sequence[Widget]:
        """Make the panes; they are imported only here, behind the first frame."""
        from tui.panes.prompt.pane import Prompt
        from tui.panes.workspace.preview import PreviewPane
        from tui.replay.panes import PastConversation, PastObservers, PastTrace
        from tui.replay.workspace import PastWorkspace

        prompt = Prompt(id="prompt", words=CLOSED_PROMPT)
        prompt.disabled = True
        return (
            PastConversation(id="conversation"),
            prompt,
            PastTrace(id="trace"),
            PastObservers(id="observers"),
            PastWorkspace(id="workspace"),
            PreviewPane(id="preview"),
        )

    def show(self, name: str) -> None:
        """Bring a pane to sight and focus it; in the place of the prompt the conversation."""
        super().show("conversation" if name == "prompt" else name)
