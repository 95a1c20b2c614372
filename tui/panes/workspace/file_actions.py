"""The keys of the workspace for the file under the cursor: copy, edit, open, delete, and find its call."""

from __future__ import annotations

import asyncio
import os
import stat
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual.message import Message
from textual.widget import Widget

from ua_tui.core.errors import UniversalAgentError, WorkspaceError
from ua_tui.core.events.units import size
from ua_tui.core.storage.workspace import REPORT_INDEX, is_record
from ua_tui.core.text import clean_line, natural_key
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.panes.requests import CompareFile, ShowCall
from ua_tui.tui.panes.workspace.folder_tree import Row
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.view.calls import FullCall
    from ua_tui.tui.panes.workspace.locations import Place
    from ua_tui.tui.panes.workspace.provenance import Origins
    from ua_tui.tui.panes.workspace.tree import WorkspaceTree

FileAction = Literal["open_outside", "edit", "delete", "compare"]

_NAME = 120
_RESULTS = "tool_results"


class FileActions(Widget):
    """What a pane with a `WorkspaceTree` can do with its files; every problem is reported in a sentence."""

    BINDINGS = bindings("FileActions")

    tree_view: WorkspaceTree
    origins: Origins
    copies: Path | None = None
    """Where copies for the browser are written; the user's cache folder when None."""

    @dataclass
    class DeletionRequested(Message):
        """A file may be deleted if the person confirms it; `answer` is called with their decision."""

        name: str
        facts: str
        answer: Callable[[bool | None], None]

    @dataclass
    class PastCallRequested(Message):
        """The call that a file of another session came from is to be shown."""

        call: FullCall
        folder: Path

    def _here(self) -> tuple[Place, Row] | None:
        """The file or folder under the cursor."""
        place, row = self.tree_view.place, self.tree_view.cursor
        if place is None or row is None or row.entry is None:
            return None
        return place, row

    def _report(self, message: str, *, warning: bool = False) -> None:
        self.notify(message, markup=False, severity="warning" if warning else "information")

    def run_file_action(self, path: Path, action: FileAction) -> None:
        """Run the action of a key on a file, if the cursor is still on it."""
        here = self._here()
        if here is None or here[1].path != os.fspath(path):
            self._report(f"{clean_line(path.name, _NAME)} is no longer selected in the workspace.")
            return
        match action:
            case "open_outside":
                self.action_open_outside()
            case "edit":
                self.action_edit()
            case "delete":
                self.action_delete()
            case "compare":
                self.action_compare()

    # -- copying ----------------------------------------------------------------------------------

    def action_copy_path(self) -> None:
        """Copy the path under the cursor."""
        if (here := self._here()) is not None:
            copy_text(self, here[1].path, "Path")

    def action_copy_text(self) -> None:
        """Copy the text of the file under the cursor."""
        from ua_tui.tui.viewers.export import copy_file

        if (here := self._here()) is not None:
            copy_file(self, Path(here[1].path))

    # -- the call it came from --------------------------------------------------------------------

    def action_origin(self) -> None:
        """Go to the call that made the file under the cursor."""
        here = self._here()
        if here is None:
            return
        place, row = here
        if place.name == "others":
            session = row.path[len(place.model.base) + 1 :].partition(os.sep)[0]
            folder = Path(place.model.base) / session
            if row.path == os.fspath(folder):
                self._report("A session does not come from a call: choose a file in it.")
            else:
                start_job(self, partial(self._find_past, folder, Path(row.path)), "origin")
            return
        origin = self.origins.find(row.path, self._session_folder())
        if origin is None:
            name = clean_line(os.path.basename(row.path), _NAME)
            self._report(f"No tool call of this session is known to have made {name}.")
        else:
            self.post_message(ShowCall(origin, "The call that made this file is not in the trace."))

    @abstractmethod
    def _session_folder(self) -> str | None:
        """The folder of this session, which paths of its calls are relative to; None before there is one."""

    async def _find_past(self, folder: Path, path: Path) -> None:
        from ua_tui.tui.panes.workspace.provenance import read_origin

        try:
            call = await asyncio.to_thread(read_origin, folder, path)
        except UniversalAgentError as error:
            self._report(str(error), warning=True)
            return
        if call is None:
            self._report(f"The journal of that session has no call that made {clean_line(path.name, _NAME)}.")
        else:
            self.post_message(self.PastCallRequested(call, folder))

    # -- other programs ---------------------------------------------------------------------------

    def action_edit(self) -> None:
        """Open the file under the cursor in the person's editor, if it is text."""
        from ua_tui.tui.terminal.programs import edit_file
        from ua_tui.tui.viewers.export import why_not_edited

        here = self._here()
        if here is None:
            return
        place, row = here
        path = Path(row.path)
        why = why_kept(place, row.path) or why_not_edited(path)
        if why is not None:
            self._report(why, warning=True)
        else:
            edit_file(self, path, partial(self._on_edited, row.path))

    def _on_edited(self, path: str) -> None:
        self.tree_view.mark_seen(path)
        self.tree_view.rescan()
        self.tree_view.report_cursor_again()

    def action_open_outside(self) -> None:
        """Open the file under the cursor externally: HTML without scripts in the browser, others with the desktop."""
        if (here := self._here()) is not None:
            start_job(self, partial(self._open_outside, Path(here[1].path)), "outside")

    async def _open_outside(self, path: Path) -> None:
        from ua_tui.tui.viewers.export import open_outside

        if await open_outside(self, path, self.copies):
            self.tree_view.mark_seen(os.fspath(path))

    # -- comparing --------------------------------------------------------------------------------

    def action_compare(self) -> None:
        """Compare the file under the cursor with another version of it."""
        here = self._here()
        if here is None:
            return
        _, row = here
        if row.entry is not None and row.entry.is_folder:
            self._report("A folder cannot be compared: choose a file in it.")
        else:
            self.post_message(CompareFile(row.path))

    # -- deleting ---------------------------------------------------------------------------------

    def action_delete(self) -> None:
        """Delete the file, or the empty folder, under the cursor, after asking."""
        if (here := self._here()) is not None:
            start_job(self, partial(self._ask_to_delete, *here), "delete", replacing=False)

    async def _ask_to_delete(self, place: Place, row: Row) -> None:
        assert row.entry is not None
        why = await asyncio.to_thread(why_not_deleted, place, row.path, is_folder=row.entry.is_folder)
        if why is not None:
            self._report(why, warning=True)
            return
        shown = clean_line(row.path[len(place.model.base) + 1 :], 400)
        facts = "An empty folder." if row.entry.is_folder else f"A file of {size(row.entry.size)}."

        def answer(confirmed: bool | None) -> None:
            if confirmed:
                start_job(self, partial(self._delete, place, row), "delete", replacing=False)

        self.post_message(self.DeletionRequested(shown, facts, answer))

    async def _delete(self, place: Place, row: Row) -> None:
        assert row.entry is not None
        name = clean_line(row.entry.name, _NAME)
        try:
            was_there = await asyncio.to_thread(delete, place, row.path, is_folder=row.entry.is_folder)
        except UniversalAgentError as error:
            self._report(str(error), warning=True)
        else:
            self._report(f"{name} is deleted." if was_there else f"{name} was already deleted.")
        self.tree_view.request_scan({os.path.dirname(row.path)})


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
    return root.remove_folder(relative) if is_folder else root.remove(relative)
