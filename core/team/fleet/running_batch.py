"""A batch that runs on this machine, as the fleets of other programs show it: a file that its program keeps locked."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from secrets import token_hex

import msgspec

from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.team.fleet.rows import FleetBatch, FleetRow
from ua_tui.core.team.records import Counts, Job
from ua_tui.core.text import clean_line

BATCHES = "batches"
"""The folder with the results of batches, beside the sessions."""
_SUFFIX = ".batch"
_LARGEST = 16 << 20
_LONGEST, _MOST_WAITING = 300, 100


class _Shown(msgspec.Struct, frozen=True):
    name: str
    began: float
    counts: Counts
    sessions: list[str] = []
    waiting: list[tuple[int, str]] = []


class RunningBatch:
    """Shows the batch of this program while it runs; what cannot be written is not shown.

    Args:
        sessions: the folder of the sessions.
        name: what people call the batch.
        redactor: masks the name and the queries, as a program that is killed leaves its file.
    """

    def __init__(self, sessions: Path, name: str, redactor: Redactor) -> None:
        self._name, self._began, self._redactor = redactor.redact(name), time.time(), redactor
        self._path = sessions / BATCHES / f".{token_hex(8)}{_SUFFIX}"
        self._file = -1
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unlocked = self._path.with_suffix(".new")
            self._file = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # One without a lock is taken for that of a program that was killed.
            unlocked.rename(self._path)

    def show(self, counts: Counts, sessions: Collection[str], waiting: Iterable[Job]) -> None:
        """Show how many jobs are in each state, the names of the sessions of the batch, and the next jobs."""
        # Half a secret is not found: what is cut first, as a query may have a megabyte, is more than what is shown.
        following = [
            (job.number, self._redactor.redact(job.query[: 4 * _LONGEST])[:_LONGEST])
            for job in islice(waiting, _MOST_WAITING)
        ]
        shown = _Shown(self._name, self._began, counts, list(sessions), following)
        with suppress(OSError):
            os.ftruncate(self._file, os.pwrite(self._file, msgspec.json.encode(shown), 0))

    def close(self) -> None:
        """Show it no longer."""
        with suppress(OSError):
            os.close(self._file)
            self._path.unlink()


def running_batches(sessions: Path) -> Iterator[tuple[FleetBatch, list[str], list[FleetRow]]]:
    """The batches that run on this machine, each with the names of its sessions, and its next jobs."""
    for path in sorted((sessions / BATCHES).glob(f".*{_SUFFIX}")):
        with suppress(OSError, msgspec.MsgspecError), os.fdopen(open_regular(path), "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                # Its program was killed.
                path.unlink()
            except BlockingIOError:
                found = msgspec.json.decode(file.read(_LARGEST), type=_Shown)
                counts = msgspec.structs.asdict(found.counts)
                name, id_ = clean_line(found.name, 200), f"here:{path.name}"
                rows = [
                    FleetRow(
                        id=f"{id_}:{number}",
                        state="waiting",
                        title=clean_line(query, _LONGEST),
                        started=found.began,
                        batch=id_,
                        batch_name=name,
                        position=number,
                    )
                    for number, query in found.waiting
                ]
                batch = FleetBatch(id=id_, name=name, owner="", submitted=found.began, **counts)
                yield batch, found.sessions, rows
