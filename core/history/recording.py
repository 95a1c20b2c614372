"""A session as a recording: every moment of its journal, by the number of events that had happened."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Literal, get_args

from ua_tui.core.events import types as ev
from ua_tui.core.history.past_files import PastFiles
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.view.session import SessionView

MarkKind = Literal["event", "query", "failure", "permission", "file", "cost"]
MARK_KINDS: tuple[MarkKind, ...] = get_args(MarkKind)
_PARTS = (ev.TextDelta, ev.ThinkingDelta, ev.TokensSpent, ev.ToolCallProgress, ev.ObserverStarted)
"""Too small to step to."""
_ASKS = (ev.PermissionAsked, ev.ElicitationAsked, ev.AuthRequired)
_EVERY, _MOST = 1_000, 24


class Recording:
    """The moments of a session, read from its journal as it was when it was opened; nothing is written.

    A moment is a position: the number of events that had happened, from 0 to the length of the recording. Each has an
    offset: the seconds from the first event in which it is replayed at speed 1, where long waits are shortened.

    Args:
        journal: of the session.
        longest_wait: the seconds to which longer waits are shortened; 0 shortens none.

    Attributes:
        files: the versions of its files.
        starts_late: whether its first events are missing.
        orphans: how many calls and queries ended that had never begun.
        disordered: how many events come before an earlier one.
    """

    def __init__(self, journal: PastJournal, *, longest_wait: float = 0.0) -> None:
        self.journal = journal
        self.files = PastFiles(journal.path.parent)
        self.starts_late = False
        self.orphans = self.disordered = 0
        self._longest_wait = longest_wait or float("inf")
        self._start = 0
        self._ends, self._seqs = array("Q"), array("q")
        self._times, self._offsets = array("d"), array("d")
        self._marks: dict[MarkKind, array[int]] = {kind: array("Q") for kind in MARK_KINDS}
        self._known = [(0, SessionView())]
        self._every = _EVERY

    def __len__(self) -> int:
        return len(self._ends)

    def read(self) -> Iterator[float]:
        """Read the journal; gives the share that was read, from 0 to 1. Blocks.

        Raises:
            JournalError: the journal can no longer be read.
        """
        journal = self.journal
        self._start = journal.start
        view = self.moment(0)
        for at, placed in journal.placed(self._start):
            for event, end in placed:
                self._add(event, end)
                view.add(event)
                self._mark(event, view)
                if len(self) % self._every == 0:
                    self._keep(view)
            yield at / max(1, journal.size)
        self._keep(view)

    def _add(self, event: ev.Event, end: int) -> None:
        at = event.at.timestamp()
        if self._ends:
            # The clock of the machine may have been set back meanwhile, and a damaged line may say any time.
            waited = max(0.0, at - self._times[-1])
            self._offsets.append(self._offsets[-1] + min(waited, self._longest_wait))
            self.disordered += 0 < event.seq <= self._seqs[-1]
        else:
            self._offsets.append(0.0)
            self.starts_late = not isinstance(event, ev.SessionStarted)
        self._times.append(at)
        self._seqs.append(event.seq)
        self._ends.append(end)

    def _mark(self, event: ev.Event, view: SessionView) -> None:
        index = len(self) - 1
        self.files.add(index, event)
        if not isinstance(event, _PARTS):
            self._marks["event"].append(index)
        kind: MarkKind | None = None
        match event:
            case ev.QueryReceived():
                kind = "query"
            case ev.ToolCallFinished():
                kind = "failure" if event.status == "error" else None
                self.orphans += view.call(event.tool_use_id) is None
            case ev.QueryFinished():
                kind = "failure" if event.status == "error" else "cost" if event.cost_usd else None
                self.orphans += view.query(event.query_id) is None
            case (
                ev.ErrorRaised() | ev.ObserverFinished(status="failed") | ev.SubagentFinished(status="error")
            ):
                kind = "failure"
            case ev.ArtifactSaved() if event.kind != ev.REPORT_CHECK:
                kind = "file"
            case ev.BudgetReached():
                kind = "cost"
            case _ if isinstance(event, _ASKS):
                kind = "permission"
        if kind is not None:
            self._marks[kind].append(index)

    def _keep(self, view: SessionView) -> None:
        self._known.append((len(self), view.then(())))
        if len(self._known) > _MOST:
            del self._known[1::2]
            self._every *= 2

    def events(self, start: int, stop: int) -> list[ev.Event]:
        """Read the events that happened between two positions.

        Raises:
            JournalError: the journal can no longer be read.
        """
        if start >= stop:
            return []
        return self.journal.between(self._ends[start - 1] if start else self._start, self._ends[stop - 1])

    def moment(self, position: int) -> SessionView:
        """Return what was known at a position.

        Raises:
            JournalError: the journal can no longer be read.
        """
        at = bisect_right(self._known, position, key=lambda known: known[0]) - 1
        start, view = self._known[at]
        return view.then(self.events(start, position))

    def start_of_query(self, position: int) -> int:
        """The position before the last query that had begun; 0 if there is none."""
        queries = self._marks["query"]
        at = bisect_left(queries, position)
        return queries[at - 1] if at else 0

    def until(self, seq: int) -> int:
        """The position after the event with this number, or after the last one before it."""
        return next((at for at, each in enumerate(self._seqs) if each > seq), len(self))

    def marks(self, kind: MarkKind) -> Iterator[float]:
        """The offsets of the events of a kind."""
        return (self._offsets[index] for index in self._marks[kind])

    def next(self, kind: MarkKind, position: int, direction: int) -> int | None:
        """The position right after the next event of a kind, or the previous one; None if there is none."""
        marks = self._marks[kind]
        at = bisect_left(marks, position) if direction > 0 else bisect_left(marks, position - 1) - 1
        return marks[at] + 1 if 0 <= at < len(marks) else None

    @property
    def seconds(self) -> float:
        """How long it is replayed at speed 1."""
        return self._offsets[-1] if self._offsets else 0.0

    def offset(self, position: int) -> float:
        """When a position is reached."""
        return self._offsets[position - 1] if position else 0.0

    def position(self, offset: float) -> int:
        """The position at an offset."""
        return bisect_right(self._offsets, offset)

    def time(self, offset: float) -> float:
        """The time of day at an offset, in seconds since the epoch; 0 if nothing ever happened."""
        at = self.position(offset)
        if not self._times:
            return 0.0
        before = self._times[max(0, at - 1)]
        if not 0 < at < len(self):
            return before
        took = self._offsets[at] - self._offsets[at - 1]
        return before + (offset - self._offsets[at - 1]) / took * max(0.0, self._times[at] - before)

    def wait(self, position: int) -> float:
        """The seconds from a position to the next event, if they are shortened; else 0."""
        if not 0 < position < len(self):
            return 0.0
        waited = self._times[position] - self._times[position - 1]
        return waited if waited > self._longest_wait else 0.0
