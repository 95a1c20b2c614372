"""Panes that show the past of a session first, and then what happens in it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from core.events.types import Event
from tui.panes.trace.pane import TracePane
from tui.panes.trace.rows import CallNode
from tui.panes.workspace.pane import WorkspacePane
from tui.panes.workspace.provenance import Origins
from tui.replay.panes import PastTrace

__all__ = ["ResumedTrace", "ResumedWorkspace"]


class ResumedTrace(PastTrace):
    """The calls of a session that goes on: of those from before only the rows are kept in memory."""

    past = True
    """Whether what comes was before."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._monotonic = time.monotonic

    def _end_rows(self, nodes: Sequence[CallNode]) -> None:
        if self.past:
            super()._end_rows(nodes)
        else:
            TracePane._end_rows(self, nodes)


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
