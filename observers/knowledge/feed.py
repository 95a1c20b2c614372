"""Keeps the knowledge base up to date while a session runs: a subscriber of the bus with a thread of its own.

Events only wake it. What is stored it reads from the journals: of the running session, and now and then of all other
sessions below the same folder.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ua_tui.core.concurrency.threads import Task, in_loop
from ua_tui.core.events.types import (
    ArtifactChanged,
    Event,
    PlacedEvent,
    QueryFinished,
    QueryReceived,
    SessionStarted,
)
from ua_tui.core.knowledge.index.database import KnowledgeEmptied
from ua_tui.core.knowledge.place import KnowledgePlace, Origin, folder_key, version_of
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.knowledge.background import Background, Pace

if TYPE_CHECKING:
    from ua_tui.core.knowledge.index.store import KnowledgeStore

T = TypeVar("T")

_log = logging.getLogger(__name__)

_WAKING = (ArtifactChanged, PlacedEvent, QueryFinished, QueryReceived)
_LATER = "the session continues, and indexing is tried again"


class KnowledgeFeed:
    """Indexes the running session as it goes, and the other sessions below `base` in pieces between that.

    Make it in the event loop in which `publish` is called; subscribe `handle_event` to the bus.

    A failure is published once, and everything is tried again later: what a lost connection kept from being stored is
    in the journal and the files.

    `origin` gives the session of a team that it is, whenever it connects: its rows stay the same where another machine
    takes it over.
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
        self._database = database
        self._origin = origin
        self._folder = folder
        self._base = base
        self._redactor = redactor
        self._pace = pace
        subject = f"the knowledge base {database} could not be updated"
        self._thread = Background("knowledge", redactor, publish, pace, subject=subject, later=_LATER)
        self._schedule = self._thread.schedule
        self._store: KnowledgeStore | None = None
        self._file: tuple[int, int] | None = None
        self._others: Iterator[None] | None = None
        self._has_started = self._was_woken = False

    # -- in the event loop --------------------------------------------------------------------------

    def handle_event(self, event: Event) -> None:
        """Wake the thread if there may be something to index."""
        if isinstance(event, SessionStarted):
            self._has_started = True
            self._schedule.plan(self._catch_up, self._pace.start)
        elif isinstance(event, _WAKING):
            self._was_woken = True
            self._schedule.plan(self._index, self._pace.wake)

    async def drain(self, seconds: float = 2.0) -> None:
        """Index the rest of the session, if that takes no longer; nothing is published afterwards."""
        if self._was_woken and not self._thread.is_failing:
            until = time.monotonic() + seconds
            await self._finish(lambda: self._index_rest(until), seconds)
            # What took longer.
            self._schedule.plan(self._index)
        self._thread.is_over = True

    async def close(self, seconds: float = 1.0) -> None:
        """Index the end of the session and close the file, if that takes no longer; the next start does the rest."""
        self._thread.is_over = True
        if self._was_woken or self._has_started:
            until = time.monotonic() + seconds
            await self._finish(lambda: self._end(until), seconds)
        self._schedule.stop(0.0)

    async def _finish(self, work: Task, seconds: float) -> None:
        done = asyncio.Event()
        set_done = in_loop(done.set)

        def task() -> None:
            try:
                work()
            finally:
                set_done()

        for other in (self._index, self._catch_up):
            self._schedule.cancel(other)
        self._schedule.plan(task)
        try:
            async with asyncio.timeout(seconds):
                await done.wait()
        except TimeoutError:
            _log.info("the rest of the session is indexed at the next start")

    # -- in the thread ------------------------------------------------------------------------------

    def _index(self) -> None:
        if self._try(self._index_piece, self._index):
            self._schedule.plan(self._index, self._pace.pause)

    def _index_piece(self, store: KnowledgeStore) -> bool:
        from ua_tui.core.knowledge.index.store import Overtaken
        from ua_tui.observers.knowledge.catch_up import index_piece

        try:
            return index_piece(store, self._folder, self._redactor)
        except Overtaken:
            time.sleep(self._pace.pause)
            return True

    def _index_rest(self, until: float) -> None:
        while time.monotonic() < until and self._try(self._index_piece):
            pass

    def _end(self, until: float) -> None:
        if self._was_woken and not self._thread.is_failing:
            self._index_rest(until)
        self._close_store()

    def _catch_up(self) -> None:
        begun = time.monotonic()
        more = self._try(self._next_of_others, self._catch_up)
        took = time.monotonic() - begun
        if more:
            self._schedule.plan(self._catch_up, max(self._pace.pause, took))
        else:
            # A check of very many sessions takes time, and is made less often.
            self._schedule.plan(self._catch_up, max(self._pace.check, 500 * took))

    def _next_of_others(self, store: KnowledgeStore) -> bool:
        """Index a piece of other sessions; returns whether there was one."""
        if self._others is None:
            from ua_tui.observers.knowledge.catch_up import catch_up

            self._others = catch_up(store, self._base, self._redactor, besides=self._folder)
        for _ in self._others:
            return True
        self._others = None
        return False

    def _try(self, work: Callable[[KnowledgeStore], T], again: Task | None = None) -> T | None:
        """Do some work; None if that failed: then the task `again` repeats it later."""

        def with_store() -> T:
            try:
                return work(self._open_store())
            except Exception as error:
                # It is opened again, which may repair it.
                self._close_store()
                if isinstance(error, KnowledgeEmptied):
                    self._schedule.plan(self._catch_up, self._pace.retry, again=True)
                raise

        return self._thread.attempt(with_store, again)

    def _open_store(self) -> KnowledgeStore:
        """The open store; a file that was removed or replaced meanwhile is opened again."""
        if self._store is not None and self._file != version_of(self._database):
            self._close_store()
        if self._store is None:
            from ua_tui.core.knowledge.access import open_store

            origin = self._origin()
            key = folder_key(self._database, self._folder)
            self._store = open_store(self._database, None if origin is None else {key: origin})
            self._file = version_of(self._database)
        return self._store

    def _close_store(self) -> None:
        store, self._store, self._others = self._store, None, None
        if store is not None:
            store.close()
