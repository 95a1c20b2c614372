"""The sessions of this machine, from their folders, and its batches: each is a file that is locked while it runs."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from msgspec.structs import asdict, replace

from ua_tui.core.errors import JournalError, UniversalAgentError, WorkspaceError
from ua_tui.core.history.headline import Summary
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.json_store import open_lock
from ua_tui.core.storage.regular_file import hold_lock, is_locked, open_regular
from ua_tui.core.storage.workspace import JOURNAL, LETTERS
from ua_tui.core.team.fleet.rows import Fleet, FleetBatch, FleetRow, FleetState
from ua_tui.core.team.records import Counts
from ua_tui.core.text import clean_line
from ua_tui.core.view.activity import Activity

_LONGEST = 300
BATCHES = "batches"
"""The folder with the results of batches, beside the sessions."""
_SUFFIX = ".batch"
_LARGEST = 16 << 20
_PATIENCE_SECONDS = 0.25
_KEPT = 7 * 24 * 3_600.0
"""Seconds since its beginning for which a batch is shown that runs no longer."""
_TAIL = 256 << 10

_STATES: dict[str, FleetState] = {"finished": "done", "stopped": "stopped", "running": "running"}


class JournalActivity:
    """What one session does now, from the end of its journal, which is read on as it grows; `read` blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._place = -1
        self._activity = Activity()

    @property
    def state(self) -> FleetState:
        """Whether it needs a person, works, starts, or rests."""
        # What is not known yet began before the end of the journal that was read.
        works = self._activity.state in ("", "running")
        rests: FleetState = "starting" if self._activity.state == "starting" else "idle"
        return "needs_you" if self._activity.needs_person else "running" if works else rests

    @property
    def text(self) -> str:
        """What it does, in one line."""
        return self._activity.text()

    def read(self) -> None:
        """Read what was written since the last time."""
        with suppress(JournalError, OSError):
            if os.stat(self._folder / JOURNAL, follow_symlinks=False).st_size == self._place:
                return
            with PastJournal(self._folder) as journal:
                if not 0 <= self._place <= journal.size:
                    self._place = journal.tail_place(_TAIL)
                place = -1
                while place != self._place:
                    place = self._place
                    self._place, events = journal.more(place)
                    for event in events:
                        self._activity = self._activity.after(event)


class LocalSessions:
    """Reads what there is on this machine; the methods block, so call them in a thread, one at a time."""

    def __init__(self, index: SessionIndex) -> None:
        self._index = index
        self._activities: dict[str, JournalActivity] = {}
        self._batch_of: dict[str, FleetBatch] = {}
        self.fleet = Fleet()
        """The sessions and the batches; its notice says what cannot be listed."""

    def refresh(self, *, first: bool = False) -> bool:
        """Read the sessions and what they do, each only if it has changed; returns whether anything has."""
        before = self.fleet
        try:
            read = self._index.refresh(keep=first)
            summaries = {summary.name: summary for batch in read for summary in batch}
        except UniversalAgentError as error:
            self.fleet = replace(before, notice=str(error))
            return self.fleet != before
        found = batches_of(self._index.sessions)
        self._batch_of = {name: batch for batch, names in reversed(found) for name in names}
        self._activities = {
            name: self._activities.get(name) or JournalActivity(self._index.folder(name))
            for name, summary in summaries.items()
            if summary.state == "running"
        }
        for activity in self._activities.values():
            activity.read()
        rows = (self._row(name, summary) for name, summary in summaries.items())
        self.fleet = Fleet(rows=tuple(rows), batches=tuple(batch for batch, _ in found))
        return self.fleet != before

    def _row(self, name: str, summary: Summary) -> FleetRow:
        state, activity = _STATES.get(summary.state, "crashed"), summary.why
        if (doing := self._activities.get(name)) is not None:
            state, activity = doing.state, doing.text
        is_over, batch = summary.state != "running", self._batch_of.get(name)
        folder = self._index.folder(name)
        # The folder of the letters stays when a job is over, and a person may resume its session.
        runs = not is_over and batch is not None and batch.over < batch.total
        takes_letters = runs and (folder / LETTERS).is_dir()
        if takes_letters and state == "idle":
            # A job ends with its query.
            state = "running"
        ended = None
        if is_over and summary.seconds is not None and summary.started is not None:
            ended = summary.started + summary.seconds
        elif is_over and summary.stamp[0]:
            ended = summary.stamp[0] / 1e9
        return FleetRow(
            id=f"here:{name}",
            state=state,
            title=summary.heading,
            activity=clean_line(activity, _LONGEST),
            cost_usd=summary.known_cost,
            cost_is_estimated=summary.is_estimated,
            started=summary.started,
            finished=ended,
            name=name,
            session=name if takes_letters else "",
            local=takes_letters,
            batch=batch.id if batch is not None else "",
            batch_name=batch.name if batch is not None else "",
            folder=str(folder),
            demo=summary.demo,
        )


class _Shown(msgspec.Struct, frozen=True):
    batch: FleetBatch
    sessions: list[str]


class RunningBatch:
    """Shows the batch of this program, and some days later what became of it; what cannot be written is not shown.

    Args:
        sessions: the folder of the sessions.
        name: what people call the batch.
        results: the file of its results, which only one batch has at a time, and of which the newest is shown.
        redactor: masks the name and the file, as a program that is killed leaves what it has shown.
    """

    def __init__(self, sessions: Path, name: str, results: Path, redactor: Redactor) -> None:
        shown = redactor.redact(os.path.abspath(results))
        self._batch = FleetBatch(
            id="", name=redactor.redact(name), owner="", submitted=time.time(), results=shown
        )
        digest = hashlib.sha256(os.fsencode(shown)).hexdigest()[:16]
        self._file, self._open = -1, ExitStack()
        with suppress(OSError, WorkspaceError), ExitStack() as stack:
            file = stack.enter_context(open_lock(sessions / BATCHES / f".{digest}{_SUFFIX}"))
            # Whoever reads it has its lock for a moment. A batch whose results were moved away may still run.
            hold_lock(file, _PATIENCE_SECONDS)
            os.ftruncate(file, 0)
            self._file, self._open = file, stack.pop_all()

    def show(self, counts: Counts, sessions: Collection[str]) -> None:
        """Show how many jobs are in each state, and the names of the sessions of the batch."""
        shown = _Shown(replace(self._batch, **asdict(counts)), list(sessions))
        with suppress(OSError):
            os.ftruncate(self._file, os.pwrite(self._file, msgspec.json.encode(shown), 0))

    def close(self) -> None:
        """Show what became of it."""
        self._open.close()


def batches_of(sessions: Path) -> list[tuple[FleetBatch, list[str]]]:
    """The batches of this machine, the newest first, each with the names of its sessions.

    What was not done when a batch ended, or its program was killed, counts as cancelled.
    """
    found = [each for path in (sessions / BATCHES).glob(f".*{_SUFFIX}") if (each := _read(path)) is not None]
    return sorted(found, key=lambda each: each[0].submitted, reverse=True)


def _read(path: Path) -> tuple[FleetBatch, list[str]] | None:
    with suppress(OSError, msgspec.MsgspecError), os.fdopen(open_regular(path), "rb") as file:
        runs = is_locked(file.fileno())
        if not runs and os.fstat(file.fileno()).st_mtime < time.time() - _KEPT:
            path.unlink()
            return None
        found = msgspec.json.decode(file.read(_LARGEST), type=_Shown)
        name, results = clean_line(found.batch.name, 200), clean_line(found.batch.results, 1_000)
        # It is the same batch when it is run again; a file that somebody else wrote is none of a team.
        batch = replace(found.batch, id=f"here:{results}", owner="", name=name, results=results)
        if not runs:
            gone = batch.cancelled + batch.total - batch.over
            batch = replace(batch, waiting=0, held=0, running=0, needs_you=0, cancelled=gone)
        return batch, found.sessions
    return None
