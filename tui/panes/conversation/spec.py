"""The conversation as the frame knows it."""

from __future__ import annotations

from tui.panes.spec import PaneCommand, PaneSpec

__all__ = ["PANES"]

PANES = (
    PaneSpec(
        name="conversation",
        title="Conversation",
        column="talk",
        order=10,
        widget="tui.panes.conversation.pane:ConversationPane",
        number=1,
        commands=(PaneCommand("search", "Search the conversation", "find.search", "find"),),
    ),
)
