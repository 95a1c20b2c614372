"""The panes of a past session: each can gather the whole of it off the screen and then show that in its own place.

While the whole is read a pane shows the end of the session. Its twin, which is on no screen, takes all events from
the first one on; when it has them all, `take_over` puts them on the screen, and the reader stays where he was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from textual.geometry import Size

from core.events import Event, ToolCallFinished, ToolCallStarted
from core.past_journal import PastCallStarted, PastJournal
from tui.jobs import start_job
from tui.lines import LineView
from tui.panes.calls import CallNode, CallRecord, Record
from tui.panes.conversation import ConversationPane
from tui.panes.finding import Findings, Hit
from tui.panes.notices import Message
from tui.panes.observers import ObserversPane
from tui.panes.trace import TracePane
from tui.past.call import PastCall

__all__ = ["PastConversation", "PastObservers", "PastPane", "PastTrace"]

UNFINISHED = "unfinished"
DEEPEST = 50

_View = TypeVar("_View", bound=LineView[Any])


class PastPane(Protocol):
    """A pane that can be filled from the beginning while it shows the end."""

    def apply(self, events: Sequence[Event]) -> None:
        """Take up a batch of events, in order."""

    def twin(self) -> Any:
        """Make an empty pane of the same kind that is on no screen, to gather the whole."""

    def keep_up(self, pane: Any) -> None:
        """As a twin: look at things as the pane on the screen does by now."""

    def take_over(self, whole: Any) -> None:
        """Show what a twin has gathered; the reader stays where he is."""


class PastConversation(ConversationPane):
    """The dialogue of a past session."""

    def end(self, message: Message | None) -> None:
        """Let nothing look as if it went on, and say below what the session is, if there is something to say."""
        for stream in self._streams.values():
            stream.rest()
        self._streams.clear()
        for key, fold in self._folds.items():
            if fold.markdown and fold.summary.startswith("at work"):
                self._end_subagent(key, UNFINISHED)
        self.say(message)

    def say(self, message: Message | None) -> None:
        """Say below what the session is, if there is something to say."""
        if message is not None:
            self._tell(message)
        self.settle()

    def twin(self) -> PastConversation:
        """Make an empty conversation that is on no screen."""
        return _sized(PastConversation(zone=self._zone), self)

    def keep_up(self, pane: PastConversation) -> None:
        """Guess heights for the width on the screen."""
        _resize(self, pane)

    def take_over(self, whole: PastConversation) -> None:
        """Show all of it; what is unfolded stays so, and a search goes on in what is new."""
        for key, fold in self._folds.items():
            if fold.open and (theirs := whole._folds.get(key)) is not None:
                whole.set_open(theirs, True)
        grown = len(whole._entries) - len(self._entries)

        def same(index: int) -> int:
            # Both end alike; above the place where reading began what was cut off may look different.
            return max(0, index + grown)

        unfolded = [whole._folds[str(fold.key)] for fold in self._unfolded_here if fold.key in whole._folds]
        hit = self._index.get(self._hit.key) if self._hit is not None else None
        top, following, cursor = self._origin
        came_from = self._index.get(cursor) if cursor is not None else None
        _take_entries(self, whole, same)
        self._turns, self._steered, self._streams = whole._turns, whole._steered, whole._streams
        for stream in self._streams.values():
            stream.move_to(self)
        self._folds, self._agents, self._topics = whole._folds, whole._agents, whole._topics
        self._servers, self._unfolded, self._numbers = whole._servers, whole._unfolded, whole._numbers
        self._unfolded_here = unfolded
        kept = self._entries[same(came_from)].key if came_from is not None else None
        self._origin = self._origin._replace(top=(same(top[0]), top[1]), following=following, cursor=kept)
        if self._findings is not None:
            self._findings = Findings(self._needle)
            self._forget_marks()
            if self._hit is not None and hit is not None:
                self._hit = Hit(self._entries[same(hit)].key, self._hit.number)
            self._looking = True
            start_job(self, self._look_at_news, "find")
        self.settle()


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
        above = self._calls_by_key.get(event.parent_tool_use_id or "")
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
        self._end_rows(list(self._live.values()))
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
        twin = _sized(PastTrace(), self)
        twin.journal, twin.still_runs = self.journal, self.still_runs
        twin.gathers = True
        return twin

    def touch(self, key: Hashable) -> None:
        """Tell that a row changed; one that nobody sees is as high as it was."""
        if not self.gathers:
            super().touch(key)

    def tell_counts(self) -> None:
        """Show the counts, if anybody can see them."""
        if not self.gathers:
            super().tell_counts()

    def keep_up(self, pane: PastTrace) -> None:
        """Filter as is filtered on the screen."""
        _resize(self, pane)
        if self._typed != pane._typed:
            self.keep_only(pane._typed)

    def take_over(self, whole: PastTrace) -> None:
        """Show all of it; what is folded stays so."""
        whole.keep_up(self)
        # These are unfolded as long as there is a filter.
        only_now = {node.key for node in self._folded}
        for mine, theirs in ((self._calls_by_key, whole._calls_by_key), (self._words, whole._words)):
            for key, node in mine.items():
                other = theirs.get(key)
                if other is None:
                    continue
                if node.key in only_now:
                    whole._folded.append(other)
                elif other.open != node.open:
                    whole.set_open(other, open_=node.open)
        self._sifting = None
        _take_entries(self, whole, _by_key(self, whole))
        self._queries, self._folded, self._matched = whole._queries, whole._folded, whole._matched
        self._filter = whole._filter
        self._calls_by_key, self._words = whole._calls_by_key, whole._words
        self._live, self._asked = whole._live, whole._asked
        self._calls, self._failures, self._retrying = whole._calls, whole._failures, whole._retrying
        self._wind()
        self.tell_counts()
        self.settle()


class PastObservers(ObserversPane):
    """What the observers did in a past session."""

    gathers = False
    """Whether it is a twin, of which nothing is drawn."""

    def touch(self, key: Hashable) -> None:
        """Tell that a row changed; one that nobody sees is as high as it was."""
        if not self.gathers:
            super().touch(key)

    def _tell_counts(self) -> None:
        if not self.gathers:
            super()._tell_counts()

    def end(self) -> None:
        """Let no run look as if it went on."""
        for run in self._runs.values():
            if run.milliseconds is None and run.what == "at work":
                run.what, run.quiet = UNFINISHED, True
                self._change(run)
        self.settle()

    def twin(self) -> PastObservers:
        """Make an empty feed that is on no screen."""
        twin = _sized(PastObservers(), self)
        twin.gathers = True
        return twin

    def keep_up(self, pane: PastObservers) -> None:
        """Guess heights for the width on the screen."""
        _resize(self, pane)

    def take_over(self, whole: PastObservers) -> None:
        """Show all of it; a cause that is shown stays so."""
        for key, run in self._runs.items():
            if run.open and (theirs := whole._runs.get(key)) is not None:
                theirs.open = True
        _take_entries(self, whole, _by_key(self, whole))
        self._names, self._calls, self._runs = whole._names, whole._calls, whole._runs
        self._latest, self._copied, self._rules = whole._latest, whole._copied, whole._rules
        self._files, self._all, self._metrics = whole._files, whole._all, whole._metrics
        self._tell_counts()
        self.settle()


def _sized(twin: _View, view: _View) -> _View:
    twin._seen_size = view._seen_size
    return twin


def _resize(twin: LineView[Any], view: LineView[Any]) -> None:
    """Guess the heights again when the pane on the screen has another width by now."""
    if twin._seen_size.width != view._seen_size.width:
        twin._seen_size = Size(view._seen_size.width, view._seen_size.height)
        twin._guess_heights()


def _by_key(view: LineView[Any], whole: LineView[Any]) -> Callable[[int], int]:
    def same(index: int) -> int:
        found = whole._index.get(view._entries[index].key) if index < len(view._entries) else None
        return found if found is not None else max(0, index + len(whole._entries) - len(view._entries))

    return same


def _take_entries(view: LineView[Any], whole: LineView[Any], same: Callable[[int], int]) -> None:
    """Put the entries of `whole` in the place of those of `view`; `same` gives where each of those is now."""
    cursor = view._index.get(view._cursor) if view._cursor is not None else None
    if view._entries:
        view._top = (same(view._top[0]), view._top[1])
    kept = whole._entries[same(cursor)].key if cursor is not None and whole._entries else None
    view._cursor = kept
    view._entries, view._index, view._heights = whole._entries, whole._index, whole._heights
    view._measured = set()
    view._cache.clear()
    # They are places among the old entries.
    view._rows = []
    view._pending = True
