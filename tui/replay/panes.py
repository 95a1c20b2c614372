"""The panes of a past session: each can gather the whole of it off the screen and then show that in its own place.

While the whole is read a pane shows the end of the session. Its twin, which is on no screen, takes all events from
the first one on; when it has them all, `adopt` puts them on the screen, and the reader stays where he was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import msgspec

from core.events.types import Event, ToolCallFinished, ToolCallStarted
from core.history.journal_reader import PastCallStarted, PastJournal
from tui.panes.conversation.notices import Message
from tui.panes.conversation.pane import ConversationPane
from tui.panes.observers.pane import ObserversPane
from tui.panes.trace.pane import TracePane
from tui.panes.trace.rows import CallNode, CallRecord, Record
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

    def keep_up(self, pane: Any) -> None:
        """As a twin: look at things as the pane on the screen does by now."""

    def adopt(self, whole: Any) -> None:
        """Show what a twin has gathered; the reader stays where he is."""


class PastConversation(ConversationPane):
    """The dialogue of a past session."""

    def end(self, message: Message | None) -> None:
        """Let nothing look as if it went on, and say below what the session is, if there is something to say."""
        for stream in self._known.streams.values():
            stream.rest()
        self._known.streams.clear()
        self._folds.end_subagents(UNFINISHED)
        self.say(message)

    def say(self, message: Message | None) -> None:
        """Say below what the session is, if there is something to say."""
        if message is not None:
            self._tell(message)
        self.settle()

    def twin(self) -> PastConversation:
        """Make an empty conversation that is on no screen."""
        twin = PastConversation(zone=self._zone)
        twin.keep_up(self)
        return twin


class PastTrace(TracePane):
    """The calls of a past session, of which only the rows are kept in memory."""

    journal: PastJournal | None = None
    """Where calls are read from when they are looked at."""
    still_runs = False
    """Whether another program works on the session, so that a call without an end may get one."""
    gathers = False
    """Whether it is a twin, of which nothing is drawn."""
    _at: float | None = None

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, monotonic=self._now)
        self._keep: Callable[[ToolCallStarted], Record] = self._kept

    def _now(self) -> float:
        """The time of the event that is taken in, or of day; where nothing happens any more, none.

        What has no end in a past session took no time that is known.
        """
        if not self.still_runs:
            return 0.0
        return time.time() if self._at is None else self._at

    def _take(self, event: Event) -> None:
        self._at = event.at.timestamp()
        try:
            super()._take(event)
        finally:
            self._at = None

    def _start(self, event: ToolCallStarted) -> None:
        above = self.records.get(event.parent_tool_use_id or "")
        if above is not None and above.depth >= DEEPEST:
            # No session nests so deeply; a journal that says so must not exhaust the stack.
            event = msgspec.structs.replace(event, parent_tool_use_id=None)
        super()._start(event)

    def _kept(self, started: ToolCallStarted) -> Record:
        if self.journal is not None and isinstance(started, PastCallStarted):
            return PastCall(self.journal, started)
        return CallRecord(started)

    def end(self) -> None:
        """Let no row look as if it went on."""
        self._end_rows(list(self.live.values()))
        self._wind()
        self.settle()

    def _end_rows(self, nodes: Sequence[CallNode]) -> None:
        super()._end_rows(nodes)
        for node in nodes:
            node.took = None
            node.note = UNFINISHED
            if node.record is not None and not self.still_runs:
                node.record.take(ToolCallFinished(tool_use_id=node.key, status="cancelled"))

    def twin(self) -> PastTrace:
        """Make an empty trace that is on no screen."""
        twin = PastTrace()
        twin.journal, twin.still_runs = self.journal, self.still_runs
        twin.gathers = True
        twin.keep_up(self)
        return twin

    def touch(self, key: Hashable) -> None:
        """Tell that a row changed; one that nobody sees is as high as it was."""
        if not self.gathers:
            super().touch(key)

    def tell_counts(self) -> None:
        """Show the counts, if anybody can see them."""
        if not self.gathers:
            super().tell_counts()


class PastObservers(ObserversPane):
    """What the observers did in a past session."""

    gathers = False
    """Whether it is a twin, of which nothing is drawn."""

    def touch(self, key: Hashable) -> None:
        """Tell that a row changed; one that nobody sees is as high as it was."""
        if not self.gathers:
            super().touch(key)

    def tell_counts(self) -> None:
        """Show the counts, if anybody can see them."""
        if not self.gathers:
            super().tell_counts()

    def end(self) -> None:
        """Let no run look as if it went on."""
        for run in self._known.runs.values():
            if run.milliseconds is None and run.what == "at work":
                run.what, run.quiet = UNFINISHED, True
                self._change(run)
        self.settle()

    def twin(self) -> PastObservers:
        """Make an empty feed that is on no screen."""
        twin = PastObservers()
        twin.gathers = True
        twin.keep_up(self)
        return twin
