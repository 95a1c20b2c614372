"""Panes that show the past of a session first, and then what happens in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from core.events.types import Event
from tui.panes.trace.rows import CallNode
from tui.panes.trace.tree import CallTree
from tui.panes.trace.tree_rows import TreeRows
from tui.panes.workspace.pane import WorkspacePane
from tui.panes.workspace.provenance import Origins
from tui.replay.panes import PastCalls, PastTrace

__all__ = ["ResumedTrace", "ResumedWorkspace"]


class ResumedCalls(PastCalls):
    """The tree of the calls of a session that is resumed."""

    past = True
    """Whether what comes was before."""

    def now(self) -> float:
        """The time by the clock of live rows."""
        return time.monotonic()

    def end_rows(self, nodes: Sequence[CallNode]) -> None:
        """End rows without a result."""
        if self.past:
            super().end_rows(nodes)
        else:
            CallTree.end_rows(self, nodes)


class ResumedTrace(PastTrace):
    """The calls of a session that is resumed."""

    calls: ResumedCalls

    def make_calls(self, tree: TreeRows, monotonic: Callable[[], float]) -> CallTree:
        """Make what turns events into rows."""
        return ResumedCalls(tree)


class ResumedWorkspace(WorkspacePane):
    """The session's files, of which those from before are not new."""

    past = True
    """Whether what comes was before."""

    def handle_events(self, events: Sequence[Event]) -> None:
        """Take up which files were saved by what, and mark those that are new."""
        if self.past:
            self.origins.handle_events(events)
        else:
            super().handle_events(events)

    def end(self) -> None:
        """Nothing here looks as if it went on."""

    def twin(self) -> Origins:
        """Make an empty index of files and calls."""
        return Origins()

    def adopt(self, whole: Origins) -> None:
        """Know the calls of all files."""
        self.origins = whole
