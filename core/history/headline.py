"""Summarises a session in one line from both ends of its journal: its query, its costs and how it ended."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from ua_tui.core.errors import JournalError
from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import (
    Event,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    TokensSpent,
)
from ua_tui.core.history.journal_reader import unreadable
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.text import clean_line

TITLE = "title.txt"
"""The file in a session's folder with the title that a person gave it."""
LONGEST_TITLE = 200
LONGEST_QUERY = 400
_HEAD = 96 << 10
_TAIL = 16 << 10
_BLOCK = 1 << 20
_LONGEST_LINE = 8 << 20
_LEAST = 1e-9

Stamp = tuple[int, int, int]
"""Changes with the session: the time and length of its journal, and the time of its title."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One session; unknown values are None or empty. All texts are clean lines.

    Attributes:
        started: seconds since the epoch.
        seconds: how long the session took.
        state: `unknown` if the journal has no end: the session is running or crashed. If it is `corrupt`, `why` says
            what is wrong.
        counted: the bytes of a journal without an end that were added up.
        estimate: the part of `cost` that is estimated, as no end of a query states it.
        unpriced: whether a part of the cost is unknown, as the price of a model is.
        open: the part of `estimate` that belongs to the query that is running or was cut off.
    """

    name: str
    stamp: Stamp = (0, 0, 0)
    title: str = ""
    query: str = ""
    started: float | None = None
    seconds: float | None = None
    cost: float | None = None
    estimate: float = 0.0
    open: float = 0.0
    unpriced: bool = False
    calls: int | None = None
    artifacts: int | None = None
    state: Literal["finished", "crashed", "running", "corrupt", "unknown"] = "unknown"
    why: str = ""
    demo: bool = False
    counted: int = 0

    @property
    def known_cost(self) -> float | None:
        """The cost of all of it; None if a part is unknown."""
        return None if self.unpriced else self.cost

    @property
    def heading(self) -> str:
        """Its title, or its first query if it has none."""
        return self.title or self.query

    @property
    def line(self) -> str:
        """The text for a list: the heading, or why there is none."""
        return self.heading or self.why or "empty"


def stamp_of(folder: Path) -> Stamp:
    """Return the stamp of a session, without reading it; zeros for missing files."""
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


def read_summary(folder: Path, stamp: Stamp, before: Summary | None = None) -> Summary:
    """Read a session's summary; never raises: a session that cannot be read is `corrupt`.

    If the session has an end, only both ends of its journal are read, otherwise all of it, or the part after `before`.
    """
    return _read(folder, stamp, lambda file, summary: _added_up(file, summary, before))


def read_heading(folder: Path) -> Summary:
    """Read what both ends of a session's journal state, as `read_summary` does, without adding up the rest."""
    return _read(folder, stamp_of(folder), lambda _file, summary: summary)


def _read(folder: Path, stamp: Stamp, add_up: Callable[[int, Summary], Summary]) -> Summary:
    """The summary of a session; `add_up` completes that of a journal without an end."""
    name = folder.name
    title = _read_title(folder) if stamp[2] else ""
    corrupt = Summary(name=name, stamp=stamp, title=title, state="corrupt")
    if folder.is_symlink():
        return msgspec.structs.replace(corrupt, title="", why="it is a link, and only folders are sessions")
    try:
        file = open_regular(folder / JOURNAL)
    except OSError as error:
        return msgspec.structs.replace(corrupt, why=unreadable(error))
    try:
        head = os.pread(file, _HEAD, 0)
        started, query = _beginning(head)
        if started is None:
            return msgspec.structs.replace(corrupt, query=query, why=_damage(head))
        summary = Summary(
            name=name,
            stamp=stamp,
            title=title,
            query=query,
            started=started.at.timestamp(),
            demo=started.demo,
            why=_later(head),
        )
        end = _end(file, stamp[1])
        if end is None:
            return add_up(file, summary)
        return msgspec.structs.replace(
            summary,
            state="finished",
            seconds=end.duration_ms / 1000,
            cost=end.cost_usd,
            unpriced=bool(end.unpriced),
            calls=end.tool_calls,
            artifacts=end.artifacts,
        )
    except OSError as error:
        return msgspec.structs.replace(corrupt, why=unreadable(error))
    finally:
        os.close(file)


def beginning_of(folder: Path) -> SessionStarted:
    """Read the first event of a session.

    Raises:
        JournalError: the journal does not have it, or cannot be read; the message gives the same reason as the list.
    """
    try:
        file = open_regular(folder / JOURNAL)
        try:
            head = os.pread(file, _HEAD, 0)
        finally:
            os.close(file)
    except OSError as error:
        raise JournalError(unreadable(error)) from error
    started, _ = _beginning(head)
    if started is None:
        raise JournalError(_damage(head))
    return started


def ends_in_order(folder: Path) -> bool:
    """Whether the last event of a session is its end; reads only the end of the journal.

    Raises:
        OSError: it cannot be read.
    """
    file = open_regular(folder / JOURNAL)
    try:
        return _end(file, os.fstat(file).st_size) is not None
    finally:
        os.close(file)


def texts_of(folder: Path) -> Iterator[str]:
    """Give the texts of all queries and answers of a session, in order; none if it cannot be read."""
    try:
        file = open_regular(folder / JOURNAL)
    except OSError:
        return
    try:
        for line, _ in event_lines(file, b'{"event":"query_'):
            match _event(line):
                case QueryReceived(text=text) | QueryFinished(text=text):
                    yield text
                case _:
                    continue
    except OSError:
        return
    finally:
        os.close(file)


def _damage(head: bytes) -> str:
    """Describe what is wrong with a journal without a session's first event."""
    return (_later(head) or "its journal is damaged") if head else "its journal is empty"


def _later(head: bytes) -> str:
    """Describe which later version of the program wrote a journal; empty if none did."""
    from ua_tui.core.version import VERSION

    try:
        first = msgspec.json.decode(head.partition(b"\n")[0], type=_First)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    if not _numbers(VERSION) or _numbers(first.version) <= _numbers(VERSION):
        return ""
    return f"it was written by ua-tui {clean_line(first.version, 40)}, which is later than this one"


class _First(msgspec.Struct, frozen=True):
    version: str = ""


def _numbers(version: str) -> list[int]:
    """The numbers of a version; none if it is unknown."""
    if "unknown" in version:
        return []
    return [int(each) for each in re.findall(r"\d{1,9}", version.partition("+")[0])[:3]]


def _read_title(folder: Path) -> str:
    try:
        file = open_regular(folder / TITLE)
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
        # Only these two matter, and there may be hundreds of lines between them.
        if started is None and line.startswith(b'{"event":"session_started"'):
            found = _event(line)
            started = found if isinstance(found, SessionStarted) else None
        elif line.startswith(b'{"event":"query_received"'):
            query = _event(line)
            if isinstance(query, QueryReceived):
                return started, clean_line(query.text, LONGEST_QUERY)
    return started, ""


def _end(file: int, length: int) -> SessionFinished | None:
    tail = os.pread(file, _TAIL, max(0, length - _TAIL))
    last = tail.rstrip(b"\n").rpartition(b"\n")[2]
    end = _event(last) if last.startswith(b'{"event":"session_finished"') else None
    return end if isinstance(end, SessionFinished) else None


def _added_up(file: int, summary: Summary, before: Summary | None) -> Summary:
    calls = artifacts = start = 0
    cost: float | None = None
    estimate = running = 0.0
    unpriced = False
    seconds: float | None = None
    if before is not None and before.started == summary.started and 0 < before.counted <= summary.stamp[1]:
        calls, artifacts, start = before.calls or 0, before.artifacts or 0, before.counted
        cost, seconds, estimate, running = before.cost, before.seconds, before.estimate, before.open
        unpriced = before.unpriced
    last, counted = b"", start
    for line, place in event_lines(file, b'{"event":"', start):
        last, counted = line, place
        if line.startswith(b'{"event":"tool_call_started"'):
            calls += 1
        elif line.startswith(b'{"event":"artifact_saved"'):
            artifacts += 1
        elif line.startswith(b'{"event":"query_finished"'):
            ended = _event(line)
            if isinstance(ended, QueryFinished):
                if ended.cost_usd is not None:
                    cost, estimate = (cost or 0.0) - running + ended.cost_usd, estimate - running
                running, unpriced = 0.0, unpriced or bool(ended.unpriced)
        elif line.startswith(b'{"event":"tokens_spent"'):
            spent = _event(line)
            if isinstance(spent, TokensSpent) and spent.cost_usd:
                cost = (cost or 0.0) + spent.cost_usd
                estimate, running = estimate + spent.cost_usd, running + spent.cost_usd
    at = _event(last)
    if at is not None and summary.started is not None:
        seconds = max(0.0, at.at.timestamp() - summary.started)
    return msgspec.structs.replace(
        summary,
        calls=calls,
        artifacts=artifacts,
        cost=cost,
        # Subtracting may leave a rounding error.
        estimate=estimate if estimate > _LEAST else 0.0,
        open=running,
        unpriced=unpriced,
        seconds=seconds,
        counted=counted,
    )


def event_lines(file: int, beginning: bytes, at: int = 0) -> Iterator[tuple[bytes, int]]:
    """Give the complete lines from `at` on with this beginning, and the place after each; skips far too long lines."""
    rest = b""
    marked = b"\n" + beginning
    while block := os.pread(file, _BLOCK, at):
        at += len(block)
        end = block.rfind(b"\n")
        if end < 0:
            rest = rest + block if len(rest) < _LONGEST_LINE else b""
            continue
        # With a line break before the first line, all lines begin alike.
        lines = b"\n" + rest + block[: end + 1]
        behind = at - len(block) + end + 1
        rest = block[end + 1 :]
        place = lines.find(marked)
        while place >= 0:
            stop = lines.find(b"\n", place + 1)
            yield lines[place + 1 : stop], behind - len(lines) + stop + 1
            place = lines.find(marked, stop)
