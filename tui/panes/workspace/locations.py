"""What the workspace pane can show: the session's own folder, the saved reports, and the other sessions."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from core.storage.workspace import WORKSPACES
from tui.panes.workspace.folder_tree import FolderTree
from tui.panes.workspace.tree import Place

__all__ = ["place_of", "places_of"]

_SESSION_HINT = (
    "What the agent finds and writes appears here as it is saved: search results, articles, reports."
)
_REPORTS_HINT = "Finished reports are copied here and outlive their session."
_OTHERS_HINT = "Earlier sessions of this folder appear here, the latest first. They are only for reading."
_SESSIONS = "session_"


def places_of(session: Path, saved_reports: Path | None) -> list[Place]:
    """The places that belong to a session; the last one only where sessions lie side by side."""
    path = os.path.abspath(session)
    places = [Place("session", "Session", FolderTree(path), _SESSION_HINT)]
    if saved_reports is not None:
        reports = FolderTree(os.path.abspath(saved_reports), newest_first=False)
        places.append(Place("reports", "Reports", reports, _REPORTS_HINT))
    beside, own = os.path.split(path)
    if os.path.basename(beside) == WORKSPACES:
        others = FolderTree(beside, newest_first=True, only=partial(_is_other, own), eager=False)
        places.append(
            Place("others", "Others", others, _OTHERS_HINT, marks=False, deep=False, read_only=True)
        )
    return places


def place_of(places: list[Place], path: str) -> Place | None:
    """The place a path lies in, the innermost one first."""
    inside = [place for place in places if path.startswith(place.model.base + os.sep)]
    return max(inside, key=lambda place: len(place.model.base), default=None)


def _is_other(own: str, name: str, is_folder: bool) -> bool:
    return is_folder and name.startswith(_SESSIONS) and name != own
