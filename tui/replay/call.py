"""A call of a past session: only its row is kept in memory, arguments and result are read from the journal."""

from __future__ import annotations

from core.errors import JournalError
from core.events.types import ArtifactSaved, ToolCallFinished, ToolCallStarted
from core.history.journal_reader import PastArtifactSaved, PastCallFinished, PastCallStarted, PastJournal
from tui.panes.trace.rows import CallRecord
from tui.render.subagent_progress import Progress

__all__ = ["PastCall"]

LONGEST_WORDS = 500
_NO_PROGRESS = Progress()


class PastCall:
    """What is known of one call, as places in a journal; `words` is the beginning of the texts it was given."""

    __slots__ = ("_ended", "_journal", "_places", "name", "progress", "words")

    def __init__(self, journal: PastJournal, started: PastCallStarted) -> None:
        self.name = started.name
        self.words = _words(started)
        self.progress = _NO_PROGRESS
        self._journal = journal
        self._places: tuple[int, ...] = (started.place,)
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the call came to its end."""
        return self._ended

    def take(self, event: ToolCallFinished | ArtifactSaved) -> None:
        """Note where the end of the call stands, or a file that came of it."""
        self._ended = self._ended or isinstance(event, ToolCallFinished)
        if isinstance(event, PastCallFinished | PastArtifactSaved):
            self._places += (event.place,)

    def whole(self) -> CallRecord:
        """Read all of it.

        Raises:
            JournalError: the journal is not as it was.
        """
        started, *rest = (self._journal.event_at(place) for place in self._places)
        if not isinstance(started, ToolCallStarted):
            raise JournalError(f"The journal {self._journal.path} was changed: this call is gone.")
        record = CallRecord(started, progress=self.progress)
        for event in rest:
            if isinstance(event, ToolCallFinished | ArtifactSaved):
                record.take(event)
        if self._ended and record.finished is None:
            record.take(ToolCallFinished(tool_use_id=started.tool_use_id, status="cancelled"))
        return record


def _words(started: ToolCallStarted) -> str:
    words = "\n".join(value[:LONGEST_WORDS] for value in started.input.values() if isinstance(value, str))
    return words[:LONGEST_WORDS]
