"""The results of a batch as JSON lines in a file, which show what is already done when the same batch is run again.

Each line has a seal of this user, so that nobody else's answers are taken. While a batch is not over, another file
beside it (`.NAME.running`) has its sessions, so that they are resumed, and keeps a second program away.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.errors import SettingsError, TeamError, WorkspaceError
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import sealer
from ua_tui.core.storage.paths import numbered
from ua_tui.core.storage.regular_file import hold_lock
from ua_tui.core.team.records import OVER, Job, JobResult
from ua_tui.core.text import clean_line, escape_unsafe

FIELDS = (
    "number", "query", "state", "answer", "error", "cost_usd", "started", "finished", "duration_s", "tokens", "model",
    "files", "unknown", "worker", "session", "folder", "attempt", "age_s", "job",
)  # fmt: skip
"""The names of a result, in their order; columns of the row's own come behind the query."""
# All but what says where the row is in a file and when it is looked at. A copy of the file is as good as the file.
_SEALED = tuple(each for each in FIELDS if each not in ("number", "duration_s", "age_s"))
# What an earlier version noted of a session that it had begun.
_BEGUN = ("job", "folder", "attempt", "started")
_SEAL = "seal"
_BEGIN = b'{"number":'
_LARGEST = 1 << 30


def own_columns(row: Job) -> dict[str, Any]:
    """The columns of a row's own; one with the name of a field is called `row_NAME`, and so is `row_NAME` beside it."""
    taken = row.columns.keys() & {*FIELDS, _SEAL}
    return {
        f"row_{name}" if re.sub("^(row_)+", "", name) in taken else name: value
        for name, value in row.columns.items()
    }


def fields_of(result: JobResult, row: Job, *, since: float | None = None) -> dict[str, Any]:
    """The fields of a result for one row of the file, those of the row included.

    `age_s` is how long before `since` it was there.
    """
    began, ended = result.started, result.finished
    age = 0.0 if since is None or ended is None else since - ended
    values = msgspec.structs.asdict(result) | {
        "started": _iso(began),
        "finished": _iso(ended),
        "duration_s": None if began is None or ended is None else round(ended - began, 3),
        "files": list(result.files),
        "unknown": list(result.unknown),
        "session": Path(result.folder).name or result.session,
        "age_s": round(age) if age > 0.0 else None,
        "job": row.id,
    }
    return {"number": row.number, "query": row.query, **own_columns(row)} | {
        name: values[name] for name in FIELDS[2:]
    }


def json_line(fields: Mapping[str, Any]) -> str:
    """A result as a line of JSON."""
    return escape_unsafe(json.dumps(fields, ensure_ascii=False))


class ResultsFile:
    """The file of a batch's results, for one program at a time; close it at the end. All methods block.

    `known` has the results that are in it, by job, and `begun` the sessions that are not over.

    Args:
        path: the file; missing folders are made.
        again: keep what is there under another name, and begin with an empty file.

    Raises:
        SettingsError: it has lines that are no results of this user.
        TeamError: another program uses it.
        WorkspaceError: it cannot be read or written.
    """

    def __init__(self, path: Path, *, again: bool = False) -> None:
        self.path = path
        self.known: dict[str, JobResult] = {}
        self.begun: dict[str, JobResult] = {}
        self.moved: Path | None = None
        """Where the results of the run before are, if they were moved away."""
        self._root = Root(path.parent, create=True)
        self._lines: dict[str, bytes] = {}
        # Not of one folder: whoever moves the results keeps them.
        self._seal = sealer("batch", Path("/"))
        self._running = self._root.path / f".{path.name}.running"
        self._lock = self._hold()
        try:
            with self._reporting():
                if again:
                    self._move_away()
                self._read()
        except BaseException:
            os.close(self._lock)
            raise

    def add(self, result: JobResult) -> None:
        """Append the result of a job."""
        line = self._line(result, result.job)
        self._root.append_lines(self.path.name, [line])
        self._lines[result.job.id] = line
        self.known[result.job.id] = result
        self.begun.pop(result.job.id, None)

    def begin(self, job: JobResult) -> None:
        """Note the session of a job that runs."""
        with self._reporting():
            with os.fdopen(self._lock, "ab", closefd=False) as running:
                # The line before may have been torn.
                running.write(b"\n" + self._line(job, job.job) + b"\n")
            os.fsync(self._lock)
        self.begun[job.job.id] = job

    def rewrite(self, jobs: Iterable[Job], results: Mapping[str, JobResult]) -> None:
        """Write the results in the order of the rows, one for each row, and behind them those of other rows.

        What is known of a row stays, also if it is to run again and has no result of that.
        """
        rows = list(jobs)
        begun = {job_id: result for job_id, result in results.items() if result.attempt}
        found = {**results, **self.known, **begun}
        lines = [self._line(found[row.id], row) for row in rows if row.id in found]
        ours = {row.id for row in rows}
        others = [line for job_id, line in self._lines.items() if job_id not in ours]
        self._root.write_chunks(self.path.name, (line + b"\n" for line in (*lines, *others)))

    def close(self) -> None:
        """Let other programs use it."""
        if not self.begun:
            self._running.unlink(missing_ok=True)
        os.close(self._lock)

    def _line(self, result: JobResult, row: Job) -> bytes:
        fields = fields_of(result, row)
        return json_line(fields | {_SEAL: self._seal(*(fields[each] for each in _SEALED))}).encode()

    def _hold(self) -> int:
        with self._reporting():
            while True:
                flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
                lock = os.open(self._running, flags, 0o600)
                try:
                    hold_lock(lock)
                except BlockingIOError:
                    os.close(lock)
                    raise TeamError(
                        f"another program is running a batch with the results file {clean_line(str(self.path), 300)}: "
                        "wait for it to end, or name another results file with --output or --name"
                    ) from None
                # Whoever had it may have removed it meanwhile.
                if self._running.exists() and self._running.samefile(f"/dev/fd/{lock}"):
                    return lock
                os.close(lock)

    def _move_away(self) -> None:
        os.ftruncate(self._lock, 0)
        if self._root.exists(self.path.name):
            at = datetime.fromtimestamp(self.path.stat().st_mtime, UTC).astimezone()
            name = f"{self.path.stem}.{at:%Y%m%d-%H%M%S}{self.path.suffix}"
            free = (self.path.with_name(each) for each in numbered(name))
            self.moved = next(each for each in free if not os.path.lexists(each))
            os.rename(self.path, self.moved)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            shown = clean_line(str(self.path), 300)
            raise WorkspaceError(
                f"the results {shown} cannot be written: {error.strerror or error}"
            ) from error

    def _read(self) -> None:
        foreign: list[int] = []
        if self._root.exists(self.path.name):
            for number, line in enumerate(self._root.read(self.path.name, _LARGEST).split(b"\n"), 1):
                if line and not self._take(line):
                    foreign.append(number)
        if foreign:
            which = ", ".join(map(str, foreign[:5])) + (", ..." if len(foreign) > 5 else "")
            raise SettingsError(
                f"{clean_line(str(self.path), 300)} has lines that this program did not write for this user, or that "
                f"were changed (line {which}), so nothing was run. Name another file with --output, or rename this one "
                "and run all rows with --again"
            )
        for line in self._running.read_bytes().split(b"\n"):
            self._take(line)

    def _take(self, line: bytes) -> bool:
        """Take the result of a line; returns whether it is one of this user, or was torn when the program ended."""
        try:
            fields = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return line.startswith(_BEGIN)
        if not isinstance(fields, dict):
            return False
        sealed = _SEALED if "state" in fields else _BEGUN
        if fields.get(_SEAL) != self._seal(*map(fields.get, sealed)):
            return False
        result = _result_of({"query": "", "state": "running"} | {name: fields.get(name) for name in sealed})
        job_id, known = result.job.id, self.known.get(result.job.id)
        if result.state not in OVER:
            if known is None or known.attempt < result.attempt:
                self.begun[job_id] = result
        # What was not begun, as no money was left, is no result. Somebody may have sorted the lines.
        elif result.attempt >= (known.attempt if known is not None else 1):
            self.known[job_id], self._lines[job_id] = result, line
        return True


def _result_of(fields: Mapping[str, Any]) -> JobResult:
    given = {
        "job": {"id": fields["job"], "query": fields["query"]},
        "started": _seconds(fields["started"]),
        "finished": _seconds(fields.get("finished")),
    }
    return msgspec.convert({**fields, **given}, JobResult)


def _iso(seconds: float | None) -> str | None:
    return (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    )


def _seconds(at: str | float | None) -> float | None:
    return datetime.fromisoformat(at).timestamp() if isinstance(at, str) else at
