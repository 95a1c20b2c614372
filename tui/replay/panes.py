"""The panes of a past session: each can gather the whole of it off the screen and then show that in its own place.

While the whole is read a pane shows the end of the session. Its twin, which is on no screen, takes all events from
the first one on; when it has them all, `adopt` puts them on the screen, and the reader stays where he was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
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
from tui.replay.call import PastCall

__all__ = ["PastConversation", "PastObservers", "PastPane", "PastTrace"]

UNFINISHED = "unfinished"
DEEPEST = 50


class PastPane(Protocol):
    """A pane that can be filled from the beginning while it shows the end."""

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, in order."""

    def twin(self) -> Any:
        """Make an empty pane of the same kind that is on no screen, to gather the whole."""

    def gather_for(self, shown: Any) -> None:
        """As a twin: gather for the pane on the screen, as that is shown by now."""

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
    """

    journal: PastJournal | None = None
    still_runs = False
    _at: float | None = None

    def now(self) -> float:
        """The time of the event that is handled, or of day; where nothing happens any more, none.

        A call without an end in a past session has no known duration.
        """
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
        for node in nodes:
            node.took = None
            node.note = UNFINISHED
            if node.record is not None and not self.still_runs:
                node.record.add(ToolCallFinished(tool_use_id=node.key, status="cancelled"))


class PastTrace(TracePane):
    """The calls of a past session."""

    calls: PastCalls

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
