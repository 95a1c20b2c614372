"""The prompt as the frame knows it."""

from __future__ import annotations

from tui.panes.spec import PaneSpec

__all__ = ["PANES"]

PANES = (PaneSpec(name="prompt", title="", column="talk", order=20, widget="tui.panes.prompt.pane:Prompt"),)
