"""The threads in which the knowledge base is kept up to date while a session runs, and what happens if they fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import msgspec

from ua_tui.core.concurrency.threads import Schedule, Task, in_loop
from ua_tui.core.errors import JournalError, KnowledgeError
from ua_tui.core.events.types import KNOWLEDGE, Event
from ua_tui.core.knowledge.index.database import KnowledgeEmptied, KnowledgeForeign
from ua_tui.core.redaction.redactor import Redactor, error_raised
from ua_tui.core.text import clean_line

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long the thread waits, in seconds.

    Attributes:
        wake: from an event to the work that it causes.
        start: from the start of the session until the other sessions are checked.
        check: until other sessions are checked again; also the longest time until a failed attempt is repeated.
        pause: between two pieces of work; one that took longer is followed by a pause as long as itself.
        retry: until the first repetition of a failed attempt; each further one takes twice as long.
    """

    wake: float = 0.1
    start: float = 5.0
    check: float = 60.0
    pause: float = 0.02
    retry: float = 2.0


class Background:
    """A thread that repeats what failed, and reports a failure once until everything works again.

    Make it in the event loop in which `publish` is called. `subject` is what failed, for an error that does not say so,
    and `later` is what a person can expect then. Nothing is published once `is_over` is set.
    """

    def __init__(
        self,
        name: str,
        redactor: Redactor,
        publish: Callable[[Event], object],
        pace: Pace,
        *,
        subject: str,
        later: str,
    ) -> None:
        self.schedule = Schedule(name)
        self._publish = in_loop(self._publish_unless_over)
        self.is_over = False
        self._redactor = redactor
        self._publish_event = publish
        self._pace = pace
        self._subject = subject
        self._later = later
        self._failing: dict[Task, int] = {}
        self._failures = 0
        self._is_reported = False

    @property
    def is_failing(self) -> bool:
        """Whether something is going to be repeated."""
        return bool(self._failing)

    def attempt(self, work: Callable[[], T], again: Task | None = None) -> T | None:
        """Do some work in the thread; None if that failed: then the task `again` repeats it later."""
        try:
            result = work()
        except Exception as error:
            self._failures += 1
            if again is not None:
                tries = self._failing[again] = self._failing.get(again, 0) + 1
                wait = self._pace.retry * 2 ** min(tries - 1, 10)
                self.schedule.plan(again, min(wait, self._pace.check), again=True)
            self._report(error)
            return None
        if again is not None:
            self._failing.pop(again, None)
        if not self._failing:
            self._failures, self._is_reported = 0, False
        return result

    def _report(self, error: Exception) -> None:
        if not isinstance(error, KnowledgeError | JournalError):
            _log.error("%s", self._subject, exc_info=error)
            error = KnowledgeError(f"{self._subject}: {clean_line(str(error), 300) or type(error).__name__}")
        _log.info("failed: %s", error)
        # What another program does to the file may fail once; what is wrong with a journal its writer reports.
        is_lasting = self._failures > 1 or isinstance(error, KnowledgeEmptied | KnowledgeForeign)
        if is_lasting and not self._is_reported and not isinstance(error, JournalError):
            self._is_reported = True
            self._publish(error_raised(KNOWLEDGE, KnowledgeError(f"{error}; {self._later}"), self._redactor))

    def _publish_unless_over(self, event: Event) -> None:
        # No event may follow the end of a session.
        if not self.is_over:
            self._publish_event(event)
