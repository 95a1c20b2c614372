"""Which files of the workspace may be changed or deleted, and deleting one; both run in a thread."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from core.errors import WorkspaceError
from core.storage.files import Root
from core.storage.workspace import RECORDS
from core.text import clean_line
from tui.panes.workspace.tree import Place

__all__ = ["ProtectedFile", "delete", "why_kept", "why_not_deleted"]

_REPORT_INDEX = "index.jsonl"
_LOCK = ".lock"
_RESULTS = "tool_results"


class ProtectedFile(WorkspaceError):
    """A file is left as it is; the message says why."""


def why_kept(place: Place, path: str) -> str | None:
    """Why a file must not be changed or deleted from the pane; None when it may."""
    relative = path[len(place.model.base) + 1 :]
    if place.read_only:
        which = "A past session is" if place.name == "session" else "Other sessions are"
        return f"{which} only for reading here."
    if place.name == "session" and (relative in RECORDS or relative == _LOCK):
        return f"{relative} is a record of this session: it stays as it is."
    if place.name == "session" and relative.startswith(_RESULTS + os.sep):
        return "The journal of this session refers to this result: it stays as it is."
    if place.name == "reports" and relative == _REPORT_INDEX:
        return "The list of the saved reports stays as it is."
    return None


def why_not_deleted(place: Place, path: str, *, is_folder: bool) -> str | None:
    """Why a file or folder cannot be deleted from the pane, as far as that is known before; None when it can be."""
    if (why := why_kept(place, path)) is not None:
        return why
    name = clean_line(os.path.basename(path), 120)
    try:
        mode = os.lstat(path).st_mode
        held = sorted(os.listdir(path)) if is_folder and stat.S_ISDIR(mode) else []
    except OSError as error:
        return f"{name} cannot be deleted: {error.strerror}."
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return f"{name} is not a regular file and is left alone."
    if held:
        more = f" and {len(held) - 1:,} more" if len(held) > 1 else ""
        return f"{name} is not empty: it holds {clean_line(held[0], 60)}{more}. Delete what is in it first."
    return None


def delete(place: Place, path: str, *, is_folder: bool) -> bool:
    """Delete a regular file, or a folder with nothing in it; tells whether it was there.

    Raises:
        ProtectedFile: it must stay.
        WorkspaceError: it is a link, the folder holds something, or the file system refused.
    """
    if (why := why_kept(place, path)) is not None:
        raise ProtectedFile(why)
    relative = path[len(place.model.base) + 1 :]
    root = Root(Path(place.model.base))
    return root.remove_folder(relative) if is_folder else root.remove(relative)
