"""The workspace: the session's files, the saved reports, or other sessions, as a live tree."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input

from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.events.units import quantity
from ua_tui.core.storage.workspace import saved_reports_of
from ua_tui.core.view.session import SessionView
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.panes.requests import OpenFile
from ua_tui.tui.panes.workspace.file_actions import FileActions
from ua_tui.tui.panes.workspace.locations import Place, PlaceTabs, Tab, place_of, places_of
from ua_tui.tui.panes.workspace.provenance import Origins
from ua_tui.tui.panes.workspace.tree import WorkspaceTree
from ua_tui.tui.viewers.reader import BINARY_SUFFIXES
from ua_tui.tui.widgets.modal import unscrolled_size

_SEEN_AFTER = 0.25


class WorkspacePane(FileActions, Vertical):
    """Tabs for the places, the tree of one of them, and a line to filter it.

    Files come and go without moving the cursor, the folds or the view. A new file is marked until it was seen: until
    it was opened, or the cursor rested on it while its preview was shown, which `previewed` reports.
    """

    PARTS = (WorkspaceTree,)
    BINDINGS = bindings("WorkspacePane")

    virtual_size = unscrolled_size()

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
            ("file.open_outside", "open outside"),
            ("workspace.sort", "sort"),
            ("workspace.next_place", "next folder"),
            *((("file.delete", "delete"),) if may_change else ()),
        )

    def __init__(
        self, root: Path | None = None, saved_reports: Path | None = None, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.border_title = Content("Workspace")
        self._note = ""
        self.tree_view = WorkspaceTree()
        self.origins = Origins()
        self._tabs = PlaceTabs()
        self._line = Input(placeholder="part of a name, or *.json", compact=True)
        self._places: list[Place] = []
        self._start_with = (root, saved_reports)
        self._left_at: tuple[str | None, int] | None = None
        self._resting: Timer | None = None

    def compose(self) -> ComposeResult:
        """Compose tabs, tree and filter line."""
        self._line.display = False
        self._tabs.display = False
        yield self._tabs
        yield self.tree_view
        yield self._line

    def on_mount(self) -> None:
        """Show what the pane was made for."""
        root, saved_reports = self._start_with
        if root is not None and not self._places:
            self.set_root(root, saved_reports)

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
            self._show_line(shown=False)
        if place is not self.place:
            self._go_to(place)
        self.tree_view.reveal(wanted)

    def rescan(self) -> None:
        """Scan every listed folder again."""
        self.tree_view.rescan()

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
            self.tree_view.unseen.add(path)
            self._show_counts()

    # -- places -----------------------------------------------------------------------------------

    def _go_to(self, place: Place) -> None:
        self._left_at = None
        self.tree_view.go_to(place)
        self._line.value = place.model.pattern
        self._show_line(shown=False)
        self._show_counts()

    def action_place(self, by: int) -> None:
        """Show the next or the previous place."""
        if self.place is not None:
            here = self._places.index(self.place)
            self._go_to(self._places[(here + by) % len(self._places)])

    def on_place_tabs_chosen(self, event: PlaceTabs.Chosen) -> None:
        """Show the place whose title was clicked."""
        event.stop()
        self._go_to(next(place for place in self._places if place.name == event.name))
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
            self.rescan()

    def action_filter(self) -> None:
        """Begin to type a filter."""
        if self.place is None:
            return
        if not self.place.model.filtered:
            self._left_at = (self.place.model.cursor, self.tree_view.bookmark.top[0])
        self._show_line(shown=True)
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
        self._show_line(shown=bool(event.value))
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
        self._show_line(shown=False)
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

    def _session_folder(self) -> str | None:
        return self._places[0].model.base if self._places else None

    def _show_line(self, *, shown: bool) -> None:
        self._line.display = shown

    # -- titles and messages ----------------------------------------------------------------------

    def on_workspace_tree_counts_changed(self, event: WorkspaceTree.CountsChanged) -> None:
        """Show what is new."""
        event.stop()
        self._show_counts()

    def on_workspace_tree_cursor_moved(self, event: WorkspaceTree.CursorMoved) -> None:
        """Report where the cursor is."""
        event.stop()
        if event.row is None:
            self.post_message(self.Highlighted(None))
        elif event.row.entry is not None:
            self.post_message(self.Highlighted(Path(event.row.path)))

    def on_workspace_tree_chosen(self, event: WorkspaceTree.Chosen) -> None:
        """Open a file."""
        event.stop()
        self.tree_view.mark_seen(event.row.path)
        self.post_message(OpenFile(event.row.path))

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
        self._tabs.offer(
            [
                Tab(
                    each.name,
                    each.title,
                    each.marks and each is not place and unseen.beneath(each.model.base) > 0,
                )
                for each in self._places
            ],
            place.name if place is not None else "",
        )
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
        self.border_subtitle = Content(" · ".join(part for part in parts_below if part))
