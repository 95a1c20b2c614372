"""The calls of a past session: only their rows are kept in memory, the rest is read from the journal when needed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import Event, PermissionAnswered, ToolCallFinished, ToolCallStarted
from ua_tui.core.history.journal_reader import (
    PastArtifactSaved,
    PastCallFinished,
    PastCallStarted,
    PastJournal,
    PastPermissionAnswered,
)
from ua_tui.tui.panes.trace.calls import CallEvent, CallNode, CallRecord, Record
from ua_tui.tui.render.subagent_progress import Progress

UNFINISHED = "unfinished"
LONGEST_TEXT = 500
_NO_PROGRESS = Progress()


class PastCalls:
    """The calls of a journal; a call without an end has no known duration.

    Args:
        journal: where calls are read from when they are opened.
        still_runs: whether another program works on the session, so that a call without an end may get one.
    """

    def __init__(self, journal: PastJournal, *, still_runs: bool = False) -> None:
        self._journal = journal
        self._still_runs = still_runs

    def now(self, event: Event | None = None) -> float:
        """Return the time of an event, or that of day; 0 if the session has ended."""
        if not self._still_runs:
            return 0.0
        return time.time() if event is None else event.at.timestamp()

    def make_record(self, started: ToolCallStarted) -> Record:
        """Make a record that keeps the call's place in the journal, if it has one."""
        return (
            PastCall(self._journal, started) if isinstance(started, PastCallStarted) else CallRecord(started)
        )

    def end(self, node: CallNode, now: float) -> None:
        """Show that the row has no end."""
        node.took = None
        node.note = UNFINISHED
        if node.record is not None and not self._still_runs:
            node.record.add(ToolCallFinished(tool_use_id=node.key, status="cancelled"))


class PastCall:
    """One call, as places in a journal; `argument_text` is the beginning of the texts among its arguments."""

    __slots__ = ("_ended", "_journal", "_places", "argument_text", "name", "progress")

    def __init__(self, journal: PastJournal, started: PastCallStarted) -> None:
        self.name = started.name
        self.argument_text = _argument_text(started.input)
        self.progress = _NO_PROGRESS
        self._journal = journal
        self._places: tuple[int, ...] = (started.place,)
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the call has ended."""
        return self._ended

    def add(self, event: CallEvent) -> None:
        """Add where the journal has the end of the call, a file that it produced, or its changed arguments."""
        self._ended = self._ended or isinstance(event, ToolCallFinished)
        if isinstance(event, PermissionAnswered):
            self.argument_text = _argument_text(event.input or {})
        if isinstance(event, PastCallFinished | PastArtifactSaved | PastPermissionAnswered):
            self._places += (event.place,)

    def load(self) -> CallRecord:
        """Read all of it.

        Raises:
            JournalError: the journal is not as it was.
        """
        started, *rest = (self._journal.event_at(place) for place in self._places)
        if not isinstance(started, ToolCallStarted):
            raise JournalError(f"The journal {self._journal.path} was changed: this call is gone.")
        record = CallRecord(started, progress=self.progress)
        for event in rest:
            if isinstance(event, CallEvent):
                record.add(event)
        if self._ended and record.finished is None:
            record.add(ToolCallFinished(tool_use_id=started.tool_use_id, status="cancelled"))
        return record


def _argument_text(arguments: Mapping[str, Any]) -> str:
    text = "\n".join(value[:LONGEST_TEXT] for value in arguments.values() if isinstance(value, str))
    return text[:LONGEST_TEXT]
