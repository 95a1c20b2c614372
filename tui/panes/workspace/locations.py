"""The places that the workspace can show (the session, the saved reports, other sessions), and their tabs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from textual.content import Content

from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.tui.panes.workspace.folder_tree import FolderTree
from ua_tui.tui.panes.workspace.scan import file_time_ns
from ua_tui.tui.panes.workspace.watch import Unseen
from ua_tui.tui.widgets.tab_line import TabLine, tab_line

_SESSION_HINT = "What the agent finds and writes appears here."
_REPORTS_HINT = "Finished reports are copied here and outlive their session."
_OTHERS_HINT = "Earlier sessions of this folder appear here, the latest first. They are read-only."
_SESSIONS = "session_"
NEW = "●"
"""The mark of a new file, and of a place that has some."""


@dataclass(slots=True)
class Place:
    """One of the folders the pane can show.

    `hint` is shown while it is empty. New files are marked only in a place with `marks`, and only a `deep` one is
    watched with everything beneath it. `since_ns` is when it was shown first.
    """

    name: str
    title: str
    model: FolderTree
    hint: str
    marks: bool = True
    deep: bool = True
    read_only: bool = False
    since_ns: int = field(default_factory=file_time_ns)


def places_of(session: Path, saved_reports: Path | None) -> list[Place]:
    """The places of a session; the last one exists only where sessions are side by side."""
    path = os.path.abspath(session)
    places = [Place("session", "Session", FolderTree(path), _SESSION_HINT)]
    if saved_reports is not None:
        reports = FolderTree(os.path.abspath(saved_reports))
        places.append(Place("reports", "Reports", reports, _REPORTS_HINT))
    beside, own = os.path.split(path)
    if os.path.basename(beside) == WORKSPACES:

        def is_other(name: str, is_folder: bool) -> bool:
            return is_folder and name.startswith(_SESSIONS) and name != own

        others = FolderTree(beside, is_other)
        places.append(
            Place("others", "Others", others, _OTHERS_HINT, marks=False, deep=False, read_only=True)
        )
    return places


def place_of(places: list[Place], path: str) -> Place | None:
    """The place a path lies in, the innermost one first."""
    inside = [place for place in places if path.startswith(place.model.base + os.sep)]
    return max(inside, key=lambda place: len(place.model.base), default=None)


class PlaceTabs(TabLine):
    """One line of titles: the active one by weight and underline, one with new files by a mark. A click chooses."""

    _line = Content("")

    def render(self) -> Content:
        """Show the titles."""
        return self._line

    def offer(self, places: Sequence[Place], active: Place | None, unseen: Unseen) -> None:
        """Offer places, and mark the one that is active."""
        tabs = []
        for place in places:
            is_fresh = place.marks and place is not active and unseen.beneath(place.model.base) > 0
            style = "bold underline $accent" if place is active else "$text-muted"
            tab = Content.assemble(" ", (place.title, style), (f" {NEW}" if is_fresh else "", "$accent"), " ")
            tabs.append((place.name, tab))
        line = tab_line(tabs, 1)
        if not line.is_same(self._line):
            self._line = line
            self.refresh()
