"""Asks for the vectors of new passages while a session runs, if the user turned the search by meaning on.

It has a thread of its own: indexing and the end of the program never wait for the server that makes the vectors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from ua_tui.core.events.types import (
    ArtifactChanged,
    ArtifactSaved,
    Event,
    QueryFinished,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.store import Passage
from ua_tui.core.knowledge.place import KnowledgePlace, version_of
from ua_tui.core.knowledge.search.embeddings import Embedder, TextsRefused
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.knowledge.background import Background, Pace

_BATCH, _MOST = 16, 128
"""Passages of a request, and of a look for missing vectors, which sorts all that have none."""
_PACE = Pace(wake=2.0, check=120.0, pause=0.2, retry=10.0)
_WAKING = (ArtifactChanged, ArtifactSaved, QueryFinished)
_LATER = "until then only words are searched, and it is tried again later"


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
        pace: Pace = _PACE,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._pace = pace
        subject = "the vectors for the search by meaning failed"
        self._thread = Background("knowledge-vectors", redactor, publish, pace, subject=subject, later=_LATER)
        self._schedule = self._thread.schedule

    def handle_event(self, event: Event) -> None:
        """Wake the thread if there may be something new."""
        if isinstance(event, SessionFinished):
            self.close()
        elif isinstance(event, (SessionStarted, *_WAKING)):
            self._schedule.plan(self._wake, self._pace.wake)

    def close(self) -> None:
        """Ask for nothing more, without waiting for an answer."""
        self._thread.is_over = True
        self._schedule.stop(0.0)

    # -- in the thread ------------------------------------------------------------------------------

    def _wake(self) -> None:
        if not self._thread.is_failing:
            self._fill()

    def _fill(self) -> None:
        self._schedule.plan(self._fill, self._pace.check, again=True)
        self._thread.attempt(self._fill_missing, self._fill)

    def _fill_missing(self) -> None:
        if version_of(self._database) is None:
            return
        model = self._embedder.model
        with open_store(self._database) as store:
            while missing := store.passages_without(model, limit=_MOST):
                for at in range(0, len(missing), _BATCH):
                    if self._schedule.is_stopped:
                        return
                    begun = time.monotonic()
                    passages = missing[at : at + _BATCH]
                    store.put_vectors(model, passages, self._vectors(passages))
                    time.sleep(min(max(self._pace.pause, time.monotonic() - begun), self._pace.check))

    def _vectors(self, passages: Sequence[Passage]) -> list[bytes]:
        """The vectors of passages; an empty one for a text that the server refuses alone."""
        texts = [f"{passage.title}\n{passage.text}".strip() for passage in passages]
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
