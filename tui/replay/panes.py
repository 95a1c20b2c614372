"""The panes of a past session, which can collect all of it off the screen, and then show it in their place.

While the journal is read a pane shows the end of the session. Its twin, which is on no screen, handles all events from
the first one on; when it has them all, `adopt` puts them on the screen without moving what the reader sees.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from core.events.types import Event, ToolCallFinished, ToolCallStarted
from core.history.journal_reader import PastCallStarted, PastJournal
from tui.panes.conversation.notices import Message
from tui.panes.conversation.pane import ConversationPane
from tui.panes.observers.pane import ObserversPane
from tui.panes.trace.pane import TracePane
from tui.panes.trace.rows import CallNode, CallRecord, Record
from tui.panes.trace.tree import CallTree
from tui.panes.trace.tree_rows import TreeRows
from tui.panes.workspace.pane import WorkspacePane
from tui.panes.workspace.provenance import Origins
from tui.replay.call import PastCall

__all__ = ["PastCalls", "PastConversation", "PastObservers", "PastPane", "PastTrace", "PastWorkspace"]

UNFINISHED = "unfinished"
DEEPEST = 50


class PastPane(Protocol):
    """A pane that can be filled from the beginning while it shows the end."""

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, in order."""

    def twin(self) -> Any:
        """Make an empty pane of the same kind that is on no screen, to collect the whole session."""

    def gather_for(self, shown: Any) -> None:
        """As a twin: adopt the view options of the pane on the screen."""

    def adopt(self, whole: Any) -> None:
        """Show what a twin has gathered; the reader stays where he is."""


class PastConversation(ConversationPane):
    """The dialogue of a past session."""

    def end(self, message: Message | None) -> None:
        """Let nothing look as if it continued, and show below what the session is, if there is something to show."""
        self.dialogue.end()
        self.report(message)

    def report(self, message: Message | None) -> None:
        """Show below what the session is, if there is something to show."""
        if message is not None:
            self.dialogue.add_message(message)
        self.update_rows()

    def twin(self) -> PastConversation:
        """Make an empty conversation that is on no screen."""
        twin = PastConversation(zone=self.zone)
        twin.gather_for(self)
        return twin


class PastCalls(CallTree):
    """The tree of a past session's calls, of which only the rows are kept in memory.

    Attributes:
        journal: where calls are read from when they are opened.
        still_runs: whether another program works on the session, so that a call without an end may get one.
        resumed: whether the session continues here, below its past.
        is_live: whether the events from here on are those of a live session.
    """

    journal: PastJournal | None = None
    still_runs = False
    resumed = False
    is_live = False
    _at: float | None = None

    def now(self) -> float:
        """Return the time of the current event, or of day; 0 if the session has ended.

        A call without an end in a past session has no known duration.
        """
        if self.resumed:
            return time.monotonic()
        if not self.still_runs:
            return 0.0
        return time.time() if self._at is None else self._at

    def handle_event(self, event: Event) -> None:
        """Update the rows that an event is about."""
        self._at = event.at.timestamp()
        try:
            super().handle_event(event)
        finally:
            self._at = None

    def on_call_started(self, event: ToolCallStarted) -> None:
        """Add the row of a call."""
        above = self.by_key.get(event.parent_tool_use_id or "")
        if above is not None and above.depth >= DEEPEST:
            # No session nests so deeply; a journal that says so must not exhaust the stack.
            event = msgspec.structs.replace(event, parent_tool_use_id=None)
        super().on_call_started(event)

    def make_record(self, started: ToolCallStarted) -> Record:
        """Make the record of a call, which keeps its place in the journal where it has one."""
        if self.journal is not None and isinstance(started, PastCallStarted):
            return PastCall(self.journal, started)
        return CallRecord(started)

    def end_rows(self, nodes: Sequence[CallNode]) -> None:
        """End rows without a result."""
        super().end_rows(nodes)
        if self.is_live:
            return
        for node in nodes:
            node.took = None
            node.note = UNFINISHED
            if node.record is not None and not self.still_runs:
                node.record.add(ToolCallFinished(tool_use_id=node.key, status="cancelled"))


class PastTrace(TracePane):
    """The calls of a past session, and the live ones if it is resumed."""

    calls: PastCalls

    def __init__(self, *, id: str | None = None, resumed: bool = False) -> None:
        super().__init__(id=id)
        self.calls.resumed = resumed

    def go_live(self) -> None:
        """Handle the events from here on as those of a live session."""
        self.calls.is_live = True

    def make_calls(self, tree: TreeRows, monotonic: Callable[[], float]) -> CallTree:
        """Make what turns events into rows."""
        return PastCalls(tree)

    def end(self) -> None:
        """Let no row look as if it continued."""
        self.calls.end_rows(list(self.calls.live.values()))
        self.handle_events(())

    def twin(self) -> PastTrace:
        """Make an empty trace that is on no screen."""
        twin = PastTrace()
        twin.calls.journal, twin.calls.still_runs = self.calls.journal, self.calls.still_runs
        twin.gather_for(self)
        return twin


class PastObservers(ObserversPane):
    """What the observers did in a past session."""

    def end(self) -> None:
        """Let no run look as if it continued."""
        self.end_runs(UNFINISHED)

    def twin(self) -> PastObservers:
        """Make an empty feed that is on no screen."""
        twin = PastObservers()
        twin.gather_for(self)
        return twin


class PastWorkspace(WorkspacePane):
    """The files of a past session, none of which is new; they are read-only unless the session is resumed."""

    def __init__(self, *, id: str | None = None, resumed: bool = False) -> None:
        super().__init__(id=id)
        self._resumed = resumed
        self._is_live = False

    def go_live(self) -> None:
        """Mark the files as new that appear from here on."""
        self._is_live = True

    def set_root(self, path: Path, saved_reports: Path | None = None) -> None:
        """Show the session's folder."""
        super().set_root(path, saved_reports)
        if not self._resumed:
            self._places[0].read_only = True
            self._show_counts()

    def handle_events(self, events: Sequence[Event]) -> None:
        """Note which call saved which file."""
        if self._is_live:
            super().handle_events(events)
        else:
            self.origins.handle_events(events)

    def end(self) -> None:
        """Do nothing: no row shows work that continues."""

    def twin(self) -> Origins:
        """Make an empty index of files and calls."""
        return Origins()

    def adopt(self, whole: Origins) -> None:
        """Know the calls of all files."""
        self.origins = whole
