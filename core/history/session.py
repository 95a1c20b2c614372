"""A past session, or one that runs in another program, opened read-only: its events come from its journal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.bus import Bus
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.types import Event, QueryReceived, SessionStarted
from ua_tui.core.history.event_replay import EventReplay, SessionStats
from ua_tui.core.records.journal_reader import PastJournal, Unread
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.queue_file import read_queue
from ua_tui.core.storage.regular_file import is_locked

TAIL = 384 << 10
"""Bytes at the end of the journal that are shown before the rest is read."""
POLL_SECONDS = 0.25
"""Seconds between two checks for new events of a session that runs in another program."""
FEWEST = 50
"""Events; if the end of the journal has this many from a query on, it is shown from that query on."""


class SessionFiles(msgspec.Struct, frozen=True):
    """The folder of the session's files."""

    path: Path


class PastSession:
    """A session whose events come from its journal; nothing is ever written, and nothing can be controlled.

    `start` publishes the end of the journal on the bus. If that is not the complete journal, `all_events` then gives
    all events from the first one on. Streamed text is left out if a finished message repeats it. If the session runs
    in another program, `follow` then gives its new events. All of them read in a thread.

    Args:
        folder: the session's folder.
        tail: how many bytes at the end of the journal `start` reads.

    Raises:
        JournalError: there is no journal that can be read.
    """

    trace: None = None
    controls: None = None
    inbox: Any = None
    """None: nobody receives a query or an answer."""

    def __init__(self, folder: Path, *, tail: int = TAIL) -> None:
        self.bus = Bus()
        self.workspace = SessionFiles(Path(os.path.abspath(folder)))
        self.journal = PastJournal(self.workspace.path)
        self.stats = SessionStats(unread=self.journal.unread)
        self.unsent: tuple[str, ...] = ()
        """The queries that still waited when the program ended, oldest first."""
        self.state = "closed"
        self.closed = False
        self._tail = tail
        self._replay = EventReplay(self.workspace.path)

    @property
    def queued(self) -> tuple[str, ...]:
        """The queries that wait for the agent: none, as there is no agent."""
        return ()

    @property
    def permission_mode(self) -> str:
        """The mode in which the session ended, or is, as far as it was read."""
        return self.stats.setup.mode

    async def start(self) -> None:
        """Publish the session's first event and the end of the journal."""
        events = await asyncio.to_thread(self._read_tail)
        for event in events:
            self.bus.forward(event)

    @property
    def complete(self) -> bool:
        """Whether `start` published the complete session."""
        return self.stats.read >= 1.0

    async def all_events(self) -> AsyncIterator[list[Event]]:
        """Give all events from the first one on, some hundred at a time; `stats` is complete at the end.

        Raises:
            JournalError: the journal can no longer be read.
        """
        stats, start = self._fresh_stats(), self.journal.start
        if start:
            yield self._begun(stats)
        replay = EventReplay(self.workspace.path)
        batches = self.journal.batches(start)
        while not self.closed:
            batch = await asyncio.to_thread(next, batches, None)
            if batch is None:
                break
            at, raw = batch
            events = list(replay.add(raw))
            stats.add(events)
            self.stats.read = min(0.999, (at - start) / max(1, self.journal.size - start))
            yield events
        else:
            return
        if rest := list(replay.rest()):
            yield rest
        self._complete(stats)

    @property
    def runs_elsewhere(self) -> bool:
        """Whether another program ran the session at the last check."""
        return self.stats.runs

    async def follow(self) -> AsyncIterator[list[Event]]:
        """Give new events while another program runs the session; afterwards `stats` has how it ended.

        Call it after all earlier events were given.

        Raises:
            JournalError: the journal can no longer be read.
        """
        folder, place = self.workspace.path, self.journal.end
        while not self.closed:
            # Checked first, so that events written before the program ended are still read.
            runs = await asyncio.to_thread(runs_elsewhere, folder)
            place, raw = await asyncio.to_thread(self.journal.more, place)
            if raw:
                events = list(self._replay.live(raw))
                self.stats.add(events)
                yield events
            elif runs:
                await asyncio.sleep(POLL_SECONDS)
            else:
                break
        else:
            return
        self.stats.runs = False
        self.unsent = await asyncio.to_thread(_read_queue, folder)

    def _read_tail(self) -> list[Event]:
        start = self.journal.tail_place(self._tail)
        replay = self._replay
        raw = [event for _, events in self.journal.batches(start) for event in events]
        if start:
            first = next((at for at, event in enumerate(raw) if isinstance(event, QueryReceived)), 0)
            raw = raw[first:] if len(raw) - first >= FEWEST else raw
        events = [*replay.add(raw), *replay.rest()]
        stats = self._fresh_stats()
        begun = self._begun(stats) if start else []
        stats.add(events)
        stats.runs = stats.end is None and runs_elsewhere(self.workspace.path)
        self.unsent = _read_queue(self.workspace.path) if not stats.runs else ()
        if start:
            stats.is_tail = True
            self.stats = stats
        else:
            self._complete(stats)
        return [*begun, *events]

    def _begun(self, stats: SessionStats) -> list[Event]:
        first = self.journal.first()
        begun = list(self._replay.live([first])) if isinstance(first, SessionStarted) else []
        stats.add(begun)
        return begun

    def _fresh_stats(self) -> SessionStats:
        return SessionStats(runs=self.stats.runs, unread=Unread(self.journal.unread.left_out))

    def _complete(self, stats: SessionStats) -> None:
        unread = self.journal.unread
        stats.unread = msgspec.structs.replace(unread, torn=unread.torn and not stats.runs)
        stats.read = 1.0
        self.stats = stats

    async def close(self, reason: str) -> None:
        """Close the journal."""
        self.closed = True
        self.journal.close()


def queries_of(folder: Path) -> list[QueryReceived]:
    """The queries of a session.

    Raises:
        JournalError: the journal cannot be read.
    """
    with PastJournal(folder) as journal:
        return [event for event in journal.find(QueryReceived) if isinstance(event, QueryReceived)]


def runs_elsewhere(folder: Path) -> bool:
    """Whether another process holds the lock of a session; checking writes nothing."""
    try:
        lock = os.open(folder / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return is_locked(lock)
    except OSError:
        return False
    finally:
        os.close(lock)


def _read_queue(folder: Path) -> tuple[str, ...]:
    """The queries that were never sent, for a screen; none if the file is missing or has another format."""
    with suppress(WorkspaceError):
        return read_queue(Root(folder), foreign=True)
    return ()
