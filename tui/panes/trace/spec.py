"""The trace as the frame knows it."""

from __future__ import annotations

from ua_tui.tui.panes.spec import PaneCommand, PaneSpec

PANES = (
    PaneSpec(
        name="trace",
        title="Trace",
        column="machinery",
        order=30,
        widget="ua_tui.tui.panes.trace.pane:TracePane",
        number=2,
        parts=2,
        commands=(
            PaneCommand("filter", "Filter the trace", "trace.filter", "filter"),
            PaneCommand("failure", "Next failure in the trace", "trace.next_failure", "failure(1)"),
        ),
    ),
)
