"""A session in a line: what it was about, what it took and how it ended, from the two ends of its journal."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from core.event_json import decode_event
from core.events import Event, QueryFinished, QueryReceived, SessionFinished, SessionStarted
from core.past_session import JOURNAL
from core.text import clean_line

__all__ = ["TITLE", "Stamp", "Summary", "read_summary", "stamp_of", "words_of"]

TITLE = "title.txt"
"""The file in a session's folder that has the title a person gave it."""
LONGEST_TITLE = 200
LONGEST_QUERY = 400
_HEAD = 96 << 10
_TAIL = 16 << 10
_BLOCK = 1 << 20
_LONGEST_LINE = 8 << 20

Stamp = tuple[int, int, int]
"""What changes when a session does: when its journal was written and how long it is, and when it was named."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One session; what is not known is None or empty. All texts are clean lines.

    `started` is in seconds since the epoch, `seconds` how long it took. `state` is `unknown` where the session has no
    end, which a running and a crashed one have not, until somebody looks; `corrupt` says in `why` what is wrong.
    """

    name: str
    stamp: Stamp = (0, 0, 0)
    title: str = ""
    query: str = ""
    started: float | None = None
    seconds: float | None = None
    cost: float | None = None
    calls: int | None = None
    artifacts: int | None = None
    state: Literal["finished", "crashed", "running", "corrupt", "unknown"] = "unknown"
    why: str = ""
    demo: bool = False

    @property
    def heading(self) -> str:
        """What it is called: its title, or else what was asked first."""
        return self.title or self.query


def stamp_of(folder: Path) -> Stamp:
    """Tell whether a session changed, without reading it; zeros for what is not there."""
    try:
        journal = os.stat(folder / JOURNAL, follow_symlinks=False)
        written, length = journal.st_mtime_ns, journal.st_size
    except OSError:
        written = length = 0
    try:
        named = os.stat(folder / TITLE, follow_symlinks=False).st_mtime_ns
    except OSError:
        named = 0
    return written, length, named


def read_summary(folder: Path, stamp: Stamp) -> Summary:
    """Read a session's summary; never raises: what cannot be read is marked `corrupt`.

    Of a session that has an end the two ends of its journal are read, of any other all of it.
    """
    name = folder.name
    title = _read_title(folder) if stamp[2] else ""
    corrupt = Summary(name=name, stamp=stamp, title=title, state="corrupt")
    try:
        file = _open(folder / JOURNAL)
    except OSError as error:
        return msgspec.structs.replace(corrupt, why=f"its journal cannot be read: {error.strerror}")
    try:
        head = os.pread(file, _HEAD, 0)
        started, query = _beginning(head)
        if started is None:
            why = "its journal is damaged" if head else "its journal is empty"
            return msgspec.structs.replace(corrupt, query=query, why=why)
        summary = Summary(
            name=name,
            stamp=stamp,
            title=title,
            query=query,
            started=started.at.timestamp(),
            demo=started.demo,
        )
        end = _end(file, stamp[1])
        if end is None:
            return _added_up(file, summary)
        return msgspec.structs.replace(
            summary,
            state="finished",
            seconds=end.duration_ms / 1000,
            cost=end.cost_usd,
            calls=end.tool_calls,
            artifacts=end.artifacts,
        )
    except OSError as error:
        return msgspec.structs.replace(corrupt, why=f"its journal cannot be read: {error.strerror}")
    finally:
        os.close(file)


def words_of(folder: Path) -> Iterator[str]:
    """Give the texts of all queries and answers of a session, in order; nothing of one that cannot be read."""
    try:
        file = _open(folder / JOURNAL)
    except OSError:
        return
    try:
        for line in _lines(file, b'{"event":"query_'):
            match _event(line):
                case QueryReceived(text=text) | QueryFinished(text=text):
                    yield text
                case _:
                    continue
    except OSError:
        return
    finally:
        os.close(file)


def _open(path: Path) -> int:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(0, "it is not a regular file")
    return file


def _read_title(folder: Path) -> str:
    try:
        file = _open(folder / TITLE)
    except OSError:
        return ""
    try:
        return clean_line(os.read(file, 4 * LONGEST_TITLE).decode("utf-8", "replace"), LONGEST_TITLE)
    except OSError:
        return ""
    finally:
        os.close(file)


def _event(line: bytes) -> Event | None:
    try:
        return decode_event(line)
    except ValueError:
        return None


def _beginning(head: bytes) -> tuple[SessionStarted | None, str]:
    started: SessionStarted | None = None
    for line in head.split(b"\n"):
        # Only these two matter, and hundreds of lines may stand between them.
        if started is None and line.startswith(b'{"event":"session_started"'):
            found = _event(line)
            started = found if isinstance(found, SessionStarted) else None
        elif line.startswith(b'{"event":"query_received"'):
            asked = _event(line)
            if isinstance(asked, QueryReceived):
                return started, clean_line(asked.text, LONGEST_QUERY)
    return started, ""


def _end(file: int, length: int) -> SessionFinished | None:
    tail = os.pread(file, _TAIL, max(0, length - _TAIL))
    last = tail.rstrip(b"\n").rpartition(b"\n")[2]
    end = _event(last) if last.startswith(b'{"event":"session_finished"') else None
    return end if isinstance(end, SessionFinished) else None


def _added_up(file: int, summary: Summary) -> Summary:
    calls = artifacts = 0
    cost: float | None = None
    last = b""
    for line in _lines(file, b'{"event":"'):
        last = line
        if line.startswith(b'{"event":"tool_call_started"'):
            calls += 1
        elif line.startswith(b'{"event":"artifact_saved"'):
            artifacts += 1
        elif line.startswith(b'{"event":"query_finished"'):
            ended = _event(line)
            if isinstance(ended, QueryFinished) and ended.cost_usd is not None:
                cost = (cost or 0.0) + ended.cost_usd
    at = _event(last)
    seconds = at.at.timestamp() - summary.started if at is not None and summary.started is not None else None
    return msgspec.structs.replace(
        summary,
        calls=calls,
        artifacts=artifacts,
        cost=cost,
        seconds=max(0.0, seconds) if seconds is not None else None,
    )


def _lines(file: int, beginning: bytes) -> Iterator[bytes]:
    """Give the whole lines that begin so; such as are far too long are passed over."""
    at, rest = 0, b""
    marked = b"\n" + beginning
    while block := os.pread(file, _BLOCK, at):
        at += len(block)
        end = block.rfind(b"\n")
        if end < 0:
            rest = rest + block if len(rest) < _LONGEST_LINE else b""
            continue
        # With a break before the first line all begin alike.
        whole = b"\n" + rest + block[: end + 1]
        rest = block[end + 1 :]
        place = whole.find(marked)
        while place >= 0:
            stop = whole.find(b"\n", place + 1)
            yield whole[place + 1 : stop]
            place = whole.find(marked, stop)
