"""The prompt as the frame knows it."""

from __future__ import annotations

from ua_tui.tui.panes.spec import PaneSpec

PANES = (
    PaneSpec(name="prompt", title="", column="talk", order=20, widget="ua_tui.tui.panes.prompt.pane:Prompt"),
)
