"""The workspace: the session's files, the saved reports, or other sessions, as a live tree."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.events.units import quantity, size
from ua_tui.core.storage.workspace import saved_reports_of
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import SessionView
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.panes.requests import CompareFile, OpenFile, ShowCall
from ua_tui.tui.panes.workspace.file_actions import FileAction, delete, why_kept, why_not_deleted
from ua_tui.tui.panes.workspace.folder_tree import Row
from ua_tui.tui.panes.workspace.locations import Place, PlaceTabs, place_of, places_of
from ua_tui.tui.panes.workspace.provenance import Origins
from ua_tui.tui.panes.workspace.tree import WorkspaceTree
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.viewers.reader import BINARY_SUFFIXES
from ua_tui.tui.widgets.modal import unscrolled_size
from ua_tui.tui.workers import start_job

_SEEN_AFTER = 0.25
_NAME = 120


class WorkspacePane(Vertical):
    """Tabs for the places, the tree of one of them, and a line to filter it.

    Files come and go without moving the cursor, the folds or the view. A new file is marked until it was seen: until
    it was opened, or the cursor rested on it while its preview was shown, which `previewed` reports.
    """

    PARTS = (WorkspaceTree,)
    BINDINGS = bindings("WorkspacePane")

    virtual_size = unscrolled_size()

    @dataclass
    class DeletionRequested(Message):
        """A file may be deleted if the person confirms it; `answer` is called with their decision."""

        name: str
        facts: str
        answer: Callable[[bool | None], None]

    @dataclass
    class Highlighted(Message):
        """The cursor came to a file or folder, or to nothing when none is left."""

        path: Path | None

    @property
    def key_hints(self) -> tuple[tuple[str, str], ...]:
        """The most useful keys; editing is offered for what may be text, and no change where it is read-only."""
        row = self.tree_view.cursor
        may_change = self.place is None or not self.place.read_only
        is_text = row is None or PurePath(row.path).suffix.lower() not in BINARY_SUFFIXES
        return (
            ("move.open", "open"),
            ("find.search", "filter"),
            ("call.origin", "origin"),
            *((("file.compare", "compare"),) if is_text else ()),
            *((("file.edit", "edit"),) if is_text and may_change else ()),
            ("file.open_outside", "open externally"),
            ("workspace.sort", "sort"),
            ("workspace.next_place", "next folder"),
            *((("file.delete", "delete"),) if may_change else ()),
        )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = Content("Workspace")
        self._note = ""
        self.tree_view = WorkspaceTree(self._show_counts, self._report_cursor, self._open)
        self.origins = Origins()
        self._tabs = PlaceTabs(self._choose_place)
        self._line = Input(placeholder="part of a name, or *.json", compact=True)
        self._line.display = self._tabs.display = False
        self._places: list[Place] = []
        self._left_at: tuple[str | None, int] | None = None
        self._resting: Timer | None = None

    def compose(self) -> ComposeResult:
        """Compose tabs, tree and filter line."""
        yield self._tabs
        yield self.tree_view
        yield self._line

    # -- what others call -------------------------------------------------------------------------

    @property
    def is_only_read(self) -> bool:
        """Whether the session itself is read-only, as a past one is."""
        return bool(self._places) and self._places[0].read_only

    @property
    def place(self) -> Place | None:
        """What is shown."""
        return self.tree_view.place

    @property
    def has_cursor(self) -> bool:
        """Whether the cursor is on a file or folder; it is not before the person was here."""
        return self.tree_view.cursor is not None

    @property
    def selected(self) -> Path | None:
        """The file or folder that the cursor is on."""
        row = self.tree_view.cursor
        return Path(row.path) if row is not None and row.entry is not None else None

    @property
    def new_files(self) -> frozenset[Path]:
        """The files that appeared since `set_root` and were not seen."""
        return frozenset(map(Path, self.tree_view.unseen))

    def focus(self, scroll_visible: bool = True) -> WorkspacePane:
        """Focus the tree."""
        self.tree_view.focus(scroll_visible)
        return self

    def set_root(self, path: Path, saved_reports: Path | None = None, *, read_only: bool = False) -> None:
        """Show the folder of a session, which need not exist yet; its present files count as seen."""
        self.tree_view.unseen.clear()
        if self._places:
            self.origins = Origins()
        self._places = places_of(path, saved_reports)
        self._places[0].read_only = read_only
        self._tabs.display = len(self._places) > 1
        self._go_to(self._places[0])

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Note the session's folder, and the files that are saved."""
        self.origins.handle_event(event, view)
        match event:
            case SessionStarted(workspace=folder):
                if not self._places and folder:
                    self.set_root(Path(folder), saved_reports_of(Path(folder)))
                self._show_records(shown=event.resumed_from is not None or self.is_only_read)
            case ArtifactSaved() if self._places:
                self._note_saved(event)
            case QueryReceived():
                self.tree_view.set_agent_running(True)
            case QueryFinished() | SessionFinished():
                self.tree_view.set_agent_running(False)
                self._show_records(shown=True)
            case _:
                pass

    def _show_records(self, *, shown: bool) -> None:
        if self._places and self._places[0].model.with_records is not shown:
            self._places[0].model.with_records = shown
            self.tree_view.changed()

    def reveal(self, path: Path) -> None:
        """Move the cursor to a file, opening the folders above it; a file that does not exist yet is waited for."""
        wanted = os.path.abspath(path)
        place = place_of(self._places, wanted)
        if place is None:
            return
        if place.model.filtered:
            place.model.filter_by("")
            self._line.display = False
        if place is not self.place:
            self._go_to(place)
        self.tree_view.reveal(wanted)

    def previewed(self, path: Path) -> None:
        """Note that the preview shows a file: if the cursor rests on it, it counts as seen."""
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(_SEEN_AFTER, partial(self._rested, os.fspath(path)))

    def _rested(self, path: str) -> None:
        row = self.tree_view.cursor
        if row is not None and row.path == path:
            self.tree_view.mark_seen(path)

    def _note_saved(self, event: ArtifactSaved) -> None:
        base = self._places[0].model.base
        path = os.path.join(base, event.path)
        if self.place is self._places[0]:
            self.tree_view.first_choice = path
        self.tree_view.request_scan({base, os.path.dirname(path)})
        self._note_elsewhere(path)
        if event.copied_to is not None:
            self._note_elsewhere(event.copied_to)
            self.tree_view.request_scan({os.path.dirname(event.copied_to)})
            self.tree_view.check_soon()

    def _note_elsewhere(self, path: str) -> None:
        # What is on screen is found by a scan, which also knows when it was listed before.
        place = place_of(self._places, path)
        if place is not None and place.marks and place is not self.place:
            folder, name = os.path.split(path)
            self.tree_view.unseen.add(folder, (name,))
            self._show_counts()

    # -- places -----------------------------------------------------------------------------------

    def _go_to(self, place: Place) -> None:
        self._left_at = None
        self.tree_view.go_to(place)
        self._line.value = place.model.pattern
        self._line.display = False
        self._show_counts()

    def action_place(self, by: int) -> None:
        """Show the next or the previous place."""
        if self.place is not None:
            here = self._places.index(self.place)
            self._go_to(self._places[(here + by) % len(self._places)])

    def _choose_place(self, name: str) -> None:
        self._go_to(next(place for place in self._places if place.name == name))
        self.focus()

    # -- order and filter -------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next thing: name, time, size."""
        if self.place is not None:
            self.place.model.resort(self.place.model.order.next)
            self.tree_view.changed()
            self._show_counts()

    def action_toggle_hidden(self) -> None:
        """Show or hide names that begin with a dot, and what is left out: empty folders, the logs of a new session."""
        if self.place is not None:
            self.place.model.hidden = not self.place.model.hidden
            self.tree_view.changed()
            self.tree_view.rescan()

    def action_filter(self) -> None:
        """Begin to type a filter."""
        if self.place is None:
            return
        if not self.place.model.filtered:
            self._left_at = (self.place.model.cursor, self.tree_view.bookmark.top[0])
        self._line.display = True
        self._line.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what matches so far."""
        event.stop()
        if self.place is not None and event.value != self.place.model.pattern:
            self.place.model.filter_by(event.value)
            self.tree_view.changed()
            self._show_counts()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the first match."""
        event.stop()
        model = self.place.model if self.place is not None else None
        if model is not None and model.filtered and model.cursor not in model.matches:
            self.tree_view.show_entry(model.next_match(1))
        self._line.display = bool(event.value)
        self.focus()

    def action_match(self, by: int) -> None:
        """Go to the next match, or to the one before."""
        if self.place is not None and self.place.model.filtered:
            self.tree_view.show_entry(self.place.model.next_match(by))

    @property
    def escape_clears(self) -> str:
        """What Esc does while there is a filter."""
        return "clear filter" if self.check_action("leave_filter", ()) else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Esc to other actions while there is no filter."""
        if action == "leave_filter":
            return self._line.has_focus or (self.place is not None and self.place.model.filtered)
        return True

    def action_leave_filter(self) -> None:
        """Show everything again; from the filter line, as it was before."""
        place, left_at = self.place, self._left_at
        from_line, self._left_at = self._line.has_focus, None
        self._line.display = False
        self._line.value = ""
        if place is not None:
            if from_line and left_at is not None:
                place.model.cursor = left_at[0]
            place.model.filter_by("")
            self.tree_view.changed()
            if from_line and left_at is not None:
                self.tree_view.place_at(left_at[1], 0)
        self.focus()
        self._show_counts()

    # -- the file under the cursor ---------------------------------------------------------------

    def _here(self) -> tuple[Place, Row] | None:
        """The file or folder under the cursor."""
        place, row = self.tree_view.place, self.tree_view.cursor
        if place is None or row is None or row.entry is None:
            return None
        return place, row

    def run_file_action(self, path: Path, action: FileAction) -> None:
        """Run the action of a key on a file, if the cursor is still on it."""
        here = self._here()
        if here is None or here[1].path != os.fspath(path):
            self.notify(f"{clean_line(path.name, _NAME)} is no longer selected in the workspace.")
            return
        getattr(self, f"action_{action}")()

    # -- copying ----------------------------------------------------------------------------------

    def action_copy_path(self) -> None:
        """Copy the path under the cursor."""
        if (here := self._here()) is not None:
            copy_text(self, here[1].path, "Path")

    def action_copy_text(self) -> None:
        """Copy the text of the file under the cursor."""
        from ua_tui.tui.viewers.export import copy_file

        if (here := self._here()) is not None:
            start_job(self, copy_file, "copy", self, Path(here[1].path))

    # -- the call it came from --------------------------------------------------------------------

    def action_origin(self) -> None:
        """Go to the call that made the file under the cursor."""
        here = self._here()
        if here is None:
            return
        _, row = here
        origin = self.origins.find(row.path, self._places[0].model.base)
        if origin is None:
            name = clean_line(os.path.basename(row.path), _NAME)
            self.notify(f"No tool call of this session is known to have made {name}.")
        else:
            self.post_message(ShowCall(origin, "The call that made this file is not in the trace."))

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
            self.notify(why, severity="warning")
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

        if await open_outside(self, path):
            self.tree_view.mark_seen(os.fspath(path))

    # -- comparing --------------------------------------------------------------------------------

    def action_compare(self) -> None:
        """Compare the file under the cursor with another version of it."""
        here = self._here()
        if here is None:
            return
        _, row = here
        if row.entry is not None and row.entry.is_folder:
            self.notify("A folder cannot be compared: choose a file in it.")
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
            self.notify(why, severity="warning")
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
            self.notify(error.advice.sentence, severity="warning")
        else:
            self.notify(f"{name} is deleted." if was_there else f"{name} was already deleted.")
        self.tree_view.request_scan({os.path.dirname(row.path)})

    # -- titles and messages ----------------------------------------------------------------------

    def _report_cursor(self, row: Row | None) -> None:
        if row is None or row.entry is not None:
            self.post_message(self.Highlighted(Path(row.path) if row is not None else None))

    def _open(self, path: str) -> None:
        self.tree_view.mark_seen(path)
        self.post_message(OpenFile(path))

    def show_note(self, note: str) -> None:
        """Show a note at the beginning of the lower border."""
        if note != self._note:
            self._note = note
            self._show_counts()

    def _show_counts(self) -> None:
        unseen = self.tree_view.unseen
        parts: list[str | tuple[str, str]] = ["Workspace"]
        if unseen:
            parts += [" · ", (f"{len(unseen):,} new", "bold $accent")]
        self.border_title = Content.assemble(*parts)
        place = self.place
        self._tabs.offer(self._places, place, unseen)
        if place is None:
            self.border_subtitle = Content(self._note)
            return
        model = place.model
        matches = quantity(len(model.matches), "match", "matches")
        parts_below = [
            self._note,
            f"by {model.order.value}",
            matches + (" so far" if model.searched_in_part else "") if model.filtered else "",
            "with hidden files" if model.hidden else "",
            "read-only" if place.read_only else "",
            "polling" if self.tree_view.polling else "",
        ]
        self.border_subtitle = Content(" · ".join(filter(None, parts_below)))
