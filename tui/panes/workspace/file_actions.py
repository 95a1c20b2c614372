"""Which files and folders of the workspace may be changed and deleted, and how they are deleted."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.workspace import REPORT_INDEX, is_record
from ua_tui.core.text import clean_line, natural_key

if TYPE_CHECKING:
    from ua_tui.tui.panes.workspace.locations import Place

FileAction = Literal["open_outside", "edit", "delete", "compare"]

_RESULTS = "tool_results"


class ProtectedFile(WorkspaceError):
    """A file must not be changed; the message says why."""


def why_kept(place: Place, path: str) -> str | None:
    """Why a file must not be changed or deleted from the pane; None when it may."""
    relative = path[len(place.model.base) + 1 :]
    if place.read_only:
        which = "A past session is" if place.name == "session" else "Other sessions are"
        return f"{which} read-only here."
    if place.name == "session" and is_record(relative):
        return f"{relative} is a record of this session and cannot be changed."
    if place.name == "session" and relative.startswith(_RESULTS + os.sep):
        return "The journal of this session refers to this result, so it cannot be changed."
    if place.name == "reports" and relative == REPORT_INDEX:
        return "The index of the saved reports cannot be changed."
    return None


def why_not_deleted(place: Place, path: str, *, is_folder: bool) -> str | None:
    """Why a file or folder cannot be deleted from the pane, where that is known in advance; None when it can be."""
    if (why := why_kept(place, path)) is not None:
        return why
    name = clean_line(os.path.basename(path), 120)
    try:
        mode = os.lstat(path).st_mode
        held = sorted(os.listdir(path), key=natural_key) if is_folder and stat.S_ISDIR(mode) else []
    except OSError as error:
        return f"{name} cannot be deleted: {error.strerror}."
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return f"{name} is not a regular file and cannot be deleted."
    if held:
        more = f" and {len(held) - 1:,} more" if len(held) > 1 else ""
        return f"{name} is not empty: it contains {clean_line(held[0], 60)}{more}. Delete its contents first."
    return None


def delete(place: Place, path: str, *, is_folder: bool) -> bool:
    """Delete a regular file, or an empty folder; returns whether it existed.

    Raises:
        ProtectedFile: it must not be deleted.
        WorkspaceError: it is a link, the folder is not empty, or the file system refused.
    """
    from ua_tui.core.storage.files import Root

    if (why := why_kept(place, path)) is not None:
        raise ProtectedFile(why)
    relative = path[len(place.model.base) + 1 :]
    root = Root(Path(place.model.base))
    return root.remove(relative, is_folder=is_folder)
