"""Keeps the knowledge base up to date while a session runs: subscribers of the bus with threads of their own.

Events only wake them. What is stored is read from the journals: of the running session, and now and then of all other
sessions below the same folder. With the search by meaning a thread asks for the vectors of new passages: indexing and
the end of the program never wait for the server that makes them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.concurrency.threads import Schedule, apart, in_loop
from ua_tui.core.errors import JournalError, KnowledgeEmptied, KnowledgeError
from ua_tui.core.events.types import (
    KNOWLEDGE,
    ArtifactChanged,
    ArtifactSaved,
    Event,
    PlacedEvent,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.knowledge import access
from ua_tui.core.knowledge.place import KnowledgePlace, Origin, exists, folder_key
from ua_tui.core.knowledge.search.embeddings import Embedder, TextsRefused
from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import Redactor, error_raised
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from ua_tui.core.knowledge.index.store import KnowledgeStore

_WAKING = (ArtifactChanged, PlacedEvent, QueryFinished, QueryReceived)
_BATCH, _MOST = 16, 128
"""Passages of a request, and of a look for missing vectors, which sorts all that have none."""


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


@dataclass(eq=False)
class _Repeated:
    """A thread that works after an event, and again when the work said; it repeats what failed, and reports it once.

    What failed is in the journal and the files, so that nothing is lost. `work` does what there is to do, and returns
    the seconds after which to look again; `later` says what a person can expect after a failure.
    """

    name: str
    work: Callable[[], float]
    later: str
    database: KnowledgePlace
    redactor: Redactor
    publish: Callable[[Event], object]
    pace: Pace
    is_over: bool = False
    failures: int = 0

    def __post_init__(self) -> None:
        self.schedule = Schedule(self.name)
        self._publish_soon = in_loop(self._publish)

    def _publish(self, event: Event) -> None:
        # No event may follow the end of a session.
        if not self.is_over:
            self.publish(event)

    def wake(self) -> None:
        """Work soon, unless something failed: that is repeated when its time has come, whatever happens meanwhile."""
        self.schedule.plan(self._work_unless_failing, self.pace.wake)

    def _work_unless_failing(self) -> None:
        if not self.failures:
            self.check()

    def check(self) -> None:
        """Work now, unless the session is over; in the thread."""
        if self.is_over:
            return
        try:
            wait = self.work()
        except Exception as error:
            self.failures += 1
            wait = min(self.pace.retry * 2 ** min(self.failures - 1, 10), self.pace.check)
            self._report(error)
        else:
            self.failures = 0
        if wait < math.inf:
            self.schedule.plan(self.check, wait, again=True)

    def _report(self, error: Exception) -> None:
        if not isinstance(error, KnowledgeError):
            subject = f"the knowledge base {self.database} could not be updated"
            log.error("%s", subject, exc_info=error)
            error = KnowledgeError(f"{subject}: {clean_line(str(error), 300) or type(error).__name__}")
        log.info("failed: %s", error)
        # What another program does to the file may fail once.
        if self.failures == 2 or (self.failures == 1 and isinstance(error, KnowledgeEmptied)):
            failure = KnowledgeError(f"{error}; {self.later}")
            self._publish_soon(error_raised(KNOWLEDGE, failure, self.redactor))


class KnowledgeFeed:
    """Indexes the running session as it goes, and the other sessions below `base` in pieces between that.

    Make it in the event loop in which `publish` is called; subscribe `handle_event` to the bus. `origin` gives the
    session of a team that it is, whenever it connects: its rows stay the same where another machine takes it over.
    """

    def __init__(
        self,
        database: KnowledgePlace,
        folder: Path,
        base: Path,
        redactor: Redactor,
        publish: Callable[[Event], object],
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
        origin: Callable[[], Origin | None] = lambda: None,
    ) -> None:
        later = "the session continues, and indexing is tried again"
        self._repeated = _Repeated("knowledge", self._work, later, database, redactor, publish, pace)
        self._database = database
        self._redactor = redactor
        self._pace = pace
        self._origin = origin
        self._folder = folder
        self._base = base
        self._store: KnowledgeStore | None = None
        self._others: Iterator[object] | None = None
        self._has_news = False
        self._check_at = math.inf

    def handle_event(self, event: Event) -> None:
        """Wake the thread if there may be something to index."""
        if isinstance(event, SessionFinished):
            self._repeated.is_over = True
        elif isinstance(event, SessionStarted):
            self._check_at = time.monotonic() + self._pace.start
            self._repeated.schedule.plan(self._repeated.check, self._pace.start)
        elif isinstance(event, _WAKING):
            self._has_news = True
            self._repeated.wake()

    async def close(self, seconds: float = 3.0) -> None:
        """Index the rest of the session and close the file, if that takes no longer; the next start does the rest."""
        self._repeated.is_over = True
        schedule = self._repeated.schedule
        if self._has_news or self._check_at < math.inf:
            schedule.plan(self._finish)
            await apart(partial(schedule.finish, seconds))
        schedule.stop(0.0)

    # -- in the thread ------------------------------------------------------------------------------

    def _work(self) -> float:
        """Index what is new of the session, and then a piece of the others if it is time."""
        try:
            if self._has_news:
                self._index()
            left = self._check_at - time.monotonic()
            return left if left > 0 else self._index_others()
        except Exception as error:
            # It is opened again, which may repair it.
            self._close_store()
            if isinstance(error, KnowledgeEmptied):
                self._check_at = time.monotonic()
            raise

    def _finish(self) -> None:
        try:
            if self._has_news and not self._repeated.failures:
                self._index()
        except Exception as error:
            log.info("the rest of the session is indexed at the next start: %s", error)
        self._close_store()

    def _index(self) -> None:
        from ua_tui.observers.knowledge.catch_up import index_piece

        more: bool | None = True
        while more is not False and not self._repeated.schedule.is_stopped:
            try:
                more = index_piece(self._open_store(), self._folder, self._redactor)
            except JournalError as error:
                # Its writer reports what is wrong with it.
                log.info("failed: %s", error)
                return
            if more is None or (more and not self._repeated.is_over):
                time.sleep(self._pace.pause)

    def _index_others(self) -> float:
        """Index a piece of other sessions; returns after how many seconds to go on, or to check them again."""
        if self._others is None:
            from ua_tui.observers.knowledge.catch_up import catch_up

            # Another program may have replaced the file.
            self._close_store()
            self._others = catch_up(self._open_store(), self._base, self._redactor)
        begun = time.monotonic()
        is_piece = next(self._others, None) is not None
        took = time.monotonic() - begun
        if is_piece:
            return max(self._pace.pause, took)
        self._others = None
        # A check of very many sessions takes time, and is made less often.
        wait = max(self._pace.check, 500 * took)
        self._check_at = time.monotonic() + wait
        return wait

    def _open_store(self) -> KnowledgeStore:
        """The open store; where a file was replaced meanwhile, it is opened again after a failure, or by a check."""
        if self._store is None:
            origin = self._origin()
            key = folder_key(self._database, self._folder)
            self._store = access.open_store(self._database, None if origin is None else {key: origin})
        return self._store

    def _close_store(self) -> None:
        store, self._store, self._others = self._store, None, None
        if store is not None:
            store.close()


class VectorFeed:
    """Fills in the missing vectors, those of the newest passages first; used as `KnowledgeFeed` is."""

    def __init__(
        self,
        database: KnowledgePlace,
        embedder: Embedder,
        redactor: Redactor,
        publish: Callable[[Event], object],
        pace: Pace = Pace(wake=2.0, check=120.0, pause=0.2, retry=10.0),  # noqa: B008 - it is frozen
    ) -> None:
        later = "until then only words are searched, and it is tried again later"
        self._repeated = _Repeated("knowledge-vectors", self._work, later, database, redactor, publish, pace)
        self._database = database
        self._pace = pace
        self._embedder = embedder

    def handle_event(self, event: Event) -> None:
        """Wake the thread if there may be something new."""
        if isinstance(event, SessionFinished):
            self.stop()
        elif isinstance(event, ArtifactChanged | ArtifactSaved | QueryFinished | SessionStarted):
            self._repeated.wake()

    def stop(self) -> None:
        """Ask for nothing more, without waiting for an answer."""
        self._repeated.is_over = True
        self._repeated.schedule.stop(0.0)

    # -- in the thread ------------------------------------------------------------------------------

    def _work(self) -> float:
        if not exists(self._database):
            return self._pace.check
        model = self._embedder.model
        with access.open_store(self._database) as store:
            while missing := store.rows("passages_without", model=model, limit=_MOST):
                for at in range(0, len(missing), _BATCH):
                    if self._repeated.schedule.is_stopped:
                        return 0.0
                    begun = time.monotonic()
                    passages = missing[at : at + _BATCH]
                    store.put_vectors(model, passages, self._vectors(passages))
                    time.sleep(min(max(self._pace.pause, time.monotonic() - begun), self._pace.check))
        return self._pace.check

    def _vectors(self, passages: Sequence[tuple[int, str, str]]) -> list[bytes]:
        """The vectors of passages; an empty one for a text that the server refuses alone."""
        texts = [f"{title}\n{text}".strip() for _, title, text in passages]
        try:
            return self._embedder.embed(texts)
        except TextsRefused:
            vectors = [b""] * len(texts)
            for number, text in enumerate(texts):
                with suppress(TextsRefused):
                    vectors[number] = self._embedder.embed([text])[0]
            # If it refuses all of them, the texts are not the reason.
            if not any(vectors):
                raise
            return vectors
