"""The observers as the frame knows them."""

from __future__ import annotations

from ua_tui.tui.panes.spec import PaneCommand, PaneSpec

PANES = (
    PaneSpec(
        name="observers",
        title="Observers",
        column="machinery",
        order=40,
        widget="ua_tui.tui.panes.observers.pane:ObserversPane",
        number=3,
        commands=(
            PaneCommand(
                "numbers", "Every observer run, with statistics", "observers.numbers", "toggle_table"
            ),
        ),
    ),
)
