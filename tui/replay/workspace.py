"""The files of a past session: looked at, and left as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.events.types import Event
from tui.panes.workspace.pane import WorkspacePane
from tui.panes.workspace.provenance import Origins

__all__ = ["PastWorkspace"]


class PastWorkspace(WorkspacePane):
    """The tree of the session's folder, which is only to be read, and of what lies beside it."""

    def set_root(self, path: Path, saved_reports: Path | None = None) -> None:
        """Show the session's folder, only to be read."""
        super().set_root(path, saved_reports)
        self._places[0].read_only = True
        self._show_counts()

    def handle_events(self, events: Sequence[Event]) -> None:
        """Take up which files were saved by what; nothing of it is new."""
        self.origins.handle_events(events)

    def end(self) -> None:
        """Nothing here looks as if it went on."""

    def twin(self) -> Origins:
        """Make an empty index of files and calls."""
        return Origins()

    def adopt(self, whole: Origins) -> None:
        """Know the calls of all files."""
        self.origins = whole
