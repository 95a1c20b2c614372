"""The conversation as the frame knows it."""

from __future__ import annotations

from ua_tui.tui.panes.spec import PaneCommand, PaneSpec

PANES = (
    PaneSpec(
        name="conversation",
        title="Conversation",
        column="talk",
        order=10,
        widget="ua_tui.tui.panes.conversation.pane:ConversationPane",
        number=1,
        commands=(PaneCommand("search", "Search the conversation", "find.search", "find"),),
    ),
)
