"""Summarises a session in one line from both ends of its journal: its query, its costs and how it ended."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import QueryFinished, QueryReceived, SessionFinished, SessionStarted
from ua_tui.core.records.journal_reader import PastJournal, event_in, unreadable
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.text import clean_line
from ua_tui.core.view.costs import Costs

TITLE = "title.txt"
"""The file in a session's folder with the title that a person gave it."""
LONGEST_TITLE = 200
LONGEST_QUERY = 400
_HEAD = 96 << 10

Stamp = tuple[int, int, int]
"""Changes with the session: the time and length of its journal, and the time of its title."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One session; unknown values are None or empty. All texts are clean lines.

    Attributes:
        started: seconds since the epoch.
        seconds: how long the session took.
        state: `stopped` if a person, a limit or a signal ended it while a query ran; `unknown` if the journal has no
            end: the session is running or crashed. If it is `corrupt`, `why` says what is wrong.
        forked_from: the name of the session of which this is a fork; it began when it was forked.
        counted: the bytes of a journal without an end that were added up, and `costs` what its queries cost.
        unpriced: whether a part of the cost is unknown, as the price of a model is.
    """

    name: str
    stamp: Stamp = (0, 0, 0)
    title: str = ""
    query: str = ""
    started: float | None = None
    seconds: float | None = None
    cost: float | None = None
    costs: Costs = Costs()
    unpriced: bool = False
    calls: int | None = None
    artifacts: int | None = None
    state: Literal["finished", "stopped", "crashed", "running", "corrupt", "unknown"] = "unknown"
    why: str = ""
    demo: bool = False
    forked_from: str = ""
    counted: int = 0

    @property
    def known_cost(self) -> float | None:
        """The cost of all of it; None if a part is unknown."""
        return None if self.unpriced else self.cost

    @property
    def is_estimated(self) -> bool:
        """Whether a part of the cost is an estimate, as no end of a query states it."""
        return self.costs.estimated

    @property
    def heading(self) -> str:
        """Its title, or its first query if it has none."""
        return self.title or self.query

    @property
    def line(self) -> str:
        """The text for a list: the heading, or why there is none."""
        return self.heading or self.why or "nothing was asked"


def stamp_of(folder: Path) -> Stamp:
    """Return the stamp of a session, without reading it; zeros for missing files."""
    return *_state_of(folder / JOURNAL), _state_of(folder / TITLE)[0]


def _state_of(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def read_heading(folder: Path) -> Summary:
    """Read what both ends of a session's journal state, as `read_summary` does, without adding up the rest."""
    return read_summary(folder, stamp_of(folder), adds_up=False)


def read_summary(
    folder: Path, stamp: Stamp, before: Summary | None = None, *, adds_up: bool = True
) -> Summary:
    """Read a session's summary; never raises: a session that cannot be read is `corrupt`.

    If the session has an end, only both ends of its journal are read, otherwise all of it, or the part after `before`.
    """
    name = folder.name
    title = read_title(folder) if stamp[2] else ""
    corrupt = Summary(name=name, stamp=stamp, title=title, state="corrupt")
    if folder.is_symlink():
        return msgspec.structs.replace(corrupt, title="", why="it is a link, not a folder")
    try:
        with PastJournal(folder) as journal:
            head = journal.head(_HEAD)
            started, query = _beginning(head)
            if not head:
                return Summary(name=name, stamp=stamp, title=title, why=_damage(head))
            if started is None:
                return msgspec.structs.replace(corrupt, query=query, why=_damage(head))
            forked = clean_line(started.forked_from or "", 200)
            begun = time_in(name) if forked else None
            summary = Summary(
                name=name,
                stamp=stamp,
                title=title,
                query=query,
                started=(begun or started.at).timestamp(),
                demo=started.demo,
                forked_from=forked,
                why=_later(head),
            )
            end = journal.last()
            if not isinstance(end, SessionFinished):
                return _added_up(journal, summary, before) if adds_up else summary
    except JournalError as error:
        return msgspec.structs.replace(corrupt, why=unreadable(error))
    return msgspec.structs.replace(
        summary,
        state=end.state,
        seconds=end.duration_ms / 1000,
        cost=end.cost_usd,
        unpriced=bool(end.unpriced),
        calls=end.tool_calls,
        artifacts=end.artifacts,
    )


def beginning_of(folder: Path) -> SessionStarted:
    """Read the first event of a session.

    Raises:
        JournalError: the journal does not have it, or cannot be read; the message gives the same reason as the list.
    """
    try:
        with PastJournal(folder) as journal:
            head = journal.head(_HEAD)
    except JournalError as error:
        raise JournalError(unreadable(error)) from error
    started, _ = _beginning(head)
    if started is None:
        raise JournalError(_damage(head))
    return started


def ends_in_order(folder: Path) -> bool:
    """Whether the last event of a session is its end; reads only the end of the journal.

    Raises:
        JournalError: it cannot be read.
    """
    with PastJournal(folder) as journal:
        return isinstance(journal.last(), SessionFinished)


def texts_of(folder: Path) -> Iterator[str]:
    """Give the texts of all queries and answers of a session, in order; none if it cannot be read."""
    with suppress(JournalError), PastJournal(folder) as journal:
        for event in journal.find(QueryReceived, QueryFinished):
            if isinstance(event, QueryReceived | QueryFinished):
                yield event.text


def _damage(head: bytes) -> str:
    """Describe what is wrong with a journal without a session's first event."""
    return (_later(head) or "its journal is damaged") if head else "nothing was asked"


def _later(head: bytes) -> str:
    """Describe which later version of the program wrote a journal; empty if none did."""
    from ua_tui.core.version import VERSION

    try:
        first = msgspec.json.decode(head.partition(b"\n")[0], type=_First)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    if not _numbers(VERSION) or _numbers(first.version) <= _numbers(VERSION):
        return ""
    return f"it was written by ua-tui {clean_line(first.version, 40)}, a later version than this one"


class _First(msgspec.Struct, frozen=True):
    version: str = ""


def _numbers(version: str) -> list[int]:
    """The numbers of a version; none if it is unknown."""
    if "unknown" in version:
        return []
    return [int(each) for each in re.findall(r"\d{1,9}", version.partition("+")[0])[:3]]


def time_in(name: str) -> datetime | None:
    """The time in the name of a session's folder, which is that of this machine; None if it has none."""
    try:
        return datetime.strptime(name[len("session_") :][:15], "%Y%m%d_%H%M%S").astimezone()
    except (ValueError, OverflowError):
        return None


def read_title(folder: Path, longest: int = LONGEST_TITLE) -> str:
    """The title that a person gave a session, as a clean line; empty if there is none."""
    with suppress(OSError), os.fdopen(open_regular(folder / TITLE), "rb") as file:
        return clean_line(file.read(4 * longest).decode("utf-8", "replace"), longest)
    return ""


def _beginning(head: bytes) -> tuple[SessionStarted | None, str]:
    started: SessionStarted | None = None
    for line in head.split(b"\n"):
        # Only these two matter, and there may be hundreds of lines between them.
        if started is None and line.startswith(b'{"event":"session_started"'):
            found = event_in(line)
            started = found if isinstance(found, SessionStarted) else None
        elif line.startswith(b'{"event":"query_received"'):
            query = event_in(line)
            if isinstance(query, QueryReceived):
                return started, clean_line(query.text, LONGEST_QUERY)
    return started, ""


def _added_up(journal: PastJournal, summary: Summary, before: Summary | None) -> Summary:
    calls = artifacts = start = 0
    costs, seconds = Costs(), None
    if before is not None and before.started == summary.started and 0 < before.counted <= journal.size:
        calls, artifacts, start = before.calls or 0, before.artifacts or 0, before.counted
        costs, seconds = before.costs, before.seconds
    last, counted = b"", start
    # Decoding every line would take most of the time.
    for line, behind in journal.lines(start=start):
        last, counted = line, behind
        if line.startswith(b'{"event":"tool_call_started"'):
            calls += 1
        elif line.startswith(b'{"event":"artifact_saved"'):
            artifacts += 1
        elif line.startswith(
            (b'{"event":"query_finished"', b'{"event":"tokens_spent"', b'{"event":"session_forked"')
        ):
            event = event_in(line)
            costs = costs if event is None else costs.after(event)
    at = event_in(last)
    if at is not None and summary.started is not None:
        seconds = max(0.0, at.at.timestamp() - summary.started)
    return msgspec.structs.replace(
        summary,
        calls=calls,
        artifacts=artifacts,
        cost=costs.total,
        costs=costs,
        unpriced=bool(costs.unpriced),
        seconds=seconds,
        counted=counted,
    )
