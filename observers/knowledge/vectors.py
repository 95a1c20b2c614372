"""Asks for the vectors of new passages while a session runs, if the user turned the search by meaning on.

It has a thread of its own: indexing and the end of the program never wait for the server that makes the vectors.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import msgspec

from ua_tui.core.concurrency.schedule import Schedule
from ua_tui.core.concurrency.threads import in_loop
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.events.types import (
    KNOWLEDGE,
    ArtifactChanged,
    ArtifactSaved,
    Event,
    QueryFinished,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.index.tables import Passage
from ua_tui.core.knowledge.place import KnowledgePlace, is_made
from ua_tui.core.knowledge.search.embeddings import Embedder, TextsRefused
from ua_tui.core.redaction.redactor import Redactor, error_raised

_log = logging.getLogger(__name__)

_BATCH = 16
_WAKING = (ArtifactChanged, ArtifactSaved, QueryFinished)
_LATER = "until then only words are searched, and it is tried again later"


class VectorPace(msgspec.Struct, frozen=True, kw_only=True):
    """How long it waits, in seconds.

    Attributes:
        wake: from something new to the first request; also from the start of the session.
        check: until passages of other sessions are looked for; also the longest time until a failure is repeated.
        pause: between two requests; one that took longer is followed by a pause as long as itself.
        retry: until the first repetition of a failed attempt; each further one takes twice as long.
    """

    wake: float = 2.0
    check: float = 120.0
    pause: float = 0.2
    retry: float = 10.0


_PACE = VectorPace()


class VectorFeed:
    """Fills in the missing vectors, those of the newest passages first.

    Make it in the event loop in which `publish` is called; subscribe `handle_event` to the bus. A failure is published
    once, and tried again later.
    """

    def __init__(
        self,
        database: KnowledgePlace,
        embedder: Embedder,
        redactor: Redactor,
        publish: Callable[[Event], object],
        pace: VectorPace = _PACE,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._redactor = redactor
        self._publish_event = publish
        self._publish = in_loop(self._publish_one)
        self._pace = pace
        self._schedule = Schedule("knowledge-vectors")
        self._file: tuple[int, int] | None = None
        self._complete_to = 0
        self._failures = 0
        self._is_over = False

    def handle_event(self, event: Event) -> None:
        """Wake the thread if there may be something new."""
        if isinstance(event, SessionFinished):
            self.close()
        elif isinstance(event, (SessionStarted, *_WAKING)):
            self._schedule.plan(self._wake, self._pace.wake)

    def close(self) -> None:
        """Ask for nothing more, without waiting for an answer."""
        self._is_over = True
        self._schedule.stop(0.0)

    def _publish_one(self, event: Event) -> None:
        # No event may follow the end of a session.
        if not self._is_over:
            self._publish_event(event)

    # -- in the thread ------------------------------------------------------------------------------

    def _wake(self) -> None:
        if not self._failures:
            self._fill()

    def _fill(self) -> None:
        wait = self._pace.check
        try:
            if is_made(self._database):
                with KnowledgeStore(self._database) as store:
                    self._fill_all(store)
            self._failures = 0
        except Exception as error:
            wait = min(self._pace.retry * 2 ** min(self._failures, 10), self._pace.check)
            self._failures += 1
            self._report(error)
        self._schedule.plan(self._fill, wait, again=True)

    def _fill_all(self, store: KnowledgeStore) -> None:
        if store.identity != self._file:
            self._file, self._complete_to = store.identity, 0
        last = up_to = store.last_passage()
        while not self._schedule.is_stopped:
            passages = store.passages_without(
                self._embedder.model, above=self._complete_to, up_to=up_to, limit=_BATCH
            )
            if not passages:
                self._complete_to = last
                return
            begun = time.monotonic()
            vectors = self._vectors(passages)
            store.put_vectors(self._embedder.model, passages, vectors)
            up_to = passages[-1].chunk - 1
            time.sleep(min(max(self._pace.pause, time.monotonic() - begun), self._pace.check))

    def _vectors(self, passages: Sequence[Passage]) -> list[bytes]:
        """The vectors of passages; an empty one for a text that the server refuses alone."""
        texts = [f"{passage.title}\n{passage.text}".strip() for passage in passages]
        try:
            return self._embedder.embed(texts)
        except TextsRefused:
            vectors = [self._vector(text) for text in texts]
            # If it refuses all of them, the texts are not the reason.
            if not any(vectors):
                raise
            return vectors

    def _vector(self, text: str) -> bytes:
        try:
            return self._embedder.embed([text])[0]
        except TextsRefused:
            return b""

    def _report(self, error: Exception) -> None:
        if not isinstance(error, KnowledgeError):
            _log.error("no vectors", exc_info=error)
            error = KnowledgeError(f"the vectors for the search by meaning failed: {type(error).__name__}")
        _log.info("no vectors: %s", error)
        if self._failures == 1:
            self._publish(error_raised(KNOWLEDGE, KnowledgeError(f"{error}; {_LATER}"), self._redactor))
