"""Reads the journal of a past session in blocks: from its start, from near its end, or a single line."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC
from pathlib import Path

import msgspec

from ua_tui.core.errors import JournalError
from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    PermissionAnswered,
    ToolCallFinished,
    ToolCallStarted,
    UnknownEvent,
)
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.storage.workspace import JOURNAL

BLOCK = 256 << 10
"""Bytes read and decoded at a time: a few milliseconds of work."""
LARGEST = 512 << 20
"""Bytes; of a longer journal only this much of its end is shown."""
LONGEST_LINE = 4 << 20
"""Bytes; no session writes a longer line."""
_USUAL_LINE = 4 << 10


class PastCallStarted(ToolCallStarted, frozen=True, kw_only=True, tag="tool_call_started"):
    """A call, and the place of its line in the journal, in bytes."""

    place: int = 0


class PastCallFinished(ToolCallFinished, frozen=True, kw_only=True, tag="tool_call_finished"):
    """The end of a call, and the place of its line in the journal, in bytes."""

    place: int = 0


class PastArtifactSaved(ArtifactSaved, frozen=True, kw_only=True, tag="artifact_saved"):
    """A saved file, and the place of its line in the journal, in bytes."""

    place: int = 0


class PastPermissionAnswered(PermissionAnswered, frozen=True, kw_only=True, tag="permission_answered"):
    """The answer to a call that waited, and the place of its line in the journal, in bytes."""

    place: int = 0


_Placed = PastCallStarted | PastCallFinished | PastArtifactSaved | PastPermissionAnswered


class PastJournal:
    """A journal as it was when it was opened, and the lines that `more` finds appended afterwards.

    `skipped` counts the lines read so far that are not events, `unknown` the events of a later version. After
    `batches`, `torn` is whether the last line has no end, and `end` is the place after the last complete line. Only one
    thread at a time may run `batches` or `more`; `event_at` and `close` are safe in any thread at any time.

    Raises:
        JournalError: there is no such file, it is a link or no regular file, or it may not be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = 0
        self.unknown = 0
        self.torn = False
        self.end = 0
        try:
            self._file = open_regular(path)
        except OSError as error:
            raise JournalError(
                f"The session in {path.parent} cannot be opened: {unreadable(error)}."
            ) from error
        self.size = os.fstat(self._file).st_size
        self.left_out = max(0, self.size - LARGEST)
        """The bytes at the beginning that are not read because the journal is too long."""
        self._open = True
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._file)

    def first(self) -> Event | None:
        """The event of the first line, None if it is not an event."""
        head = self._read(0, min(BLOCK, self.size))
        try:
            return _with_zone(decode_event(head.partition(b"\n")[0]))
        except ValueError:
            return None

    def tail_place(self, length: int) -> int:
        """Where the first complete line of the last `length` bytes begins; 0 if the journal is not longer."""
        start = max(0, self.size - length)
        if not start:
            return 0
        at = start - 1
        while at < self.size:
            block = self._read(at, min(BLOCK, self.size - at))
            end = block.find(b"\n")
            if end >= 0:
                return at + end + 1
            if not block:
                break
            at += len(block)
        return self.size

    def batches(self, start: int) -> Iterator[tuple[int, list[Event]]]:
        """Yield the events from the line at `start` on, some hundred at a time, each time with the bytes read so far.

        The events of calls, answers and saved files have their places; lines that are not events are counted.

        Raises:
            JournalError: the file can no longer be read.
        """
        self.skipped = self.unknown = 0
        self.torn = False
        self.end = start
        for at, place, lines in self._lines(start):
            events = self._events(place, lines)
            self.end = place if self.torn else at
            yield at, events

    def more(self, start: int) -> tuple[int, list[Event]]:
        """Read the events of complete lines that were appended from `start` on, some hundred at a time.

        Returns the place after them, which is `start` if there is nothing new.

        Raises:
            JournalError: the file can no longer be read.
        """
        with self._lock:
            if not self._open:
                raise JournalError(f"The journal {self.path} is closed.")
            # The part that was read stays readable, even if the file has shrunk.
            self.size = max(self.size, os.fstat(self._file).st_size)
        data, end = b"", -1
        while end < 0 and len(data) <= LONGEST_LINE:
            block = self._read(start + len(data), BLOCK)
            if not block:
                return start, []
            data += block
            end = data.rfind(b"\n")
        # A part of a line that is too long counts as a damaged line.
        lines = data.split(b"\n")[:-1] if end >= 0 else [data]
        return start + (end + 1 if end >= 0 else len(data)), self._events(start, lines)

    def event_at(self, place: int) -> Event:
        """Read the one event whose line begins at `place`.

        Raises:
            JournalError: it is no longer there.
        """
        line = b""
        while b"\n" not in line and len(line) <= LONGEST_LINE and place + len(line) < self.size:
            block = self._read(place + len(line), min(BLOCK, self.size - place - len(line)))
            if not block:
                break
            line += block
        try:
            return _with_zone(decode_event(line.partition(b"\n")[0]))
        except ValueError as error:
            raise JournalError(f"The journal {self.path} was changed: the line is gone.") from error

    def line_before(self, place: int) -> bytes:
        """Return the line that ends at `place`, without its break; empty if no line ends there.

        Of a line that is too long there is only the end.

        Raises:
            JournalError: the file can no longer be read.
        """
        data = b""
        start = place
        while start > 0 and b"\n" not in data[:-1] and len(data) <= LONGEST_LINE:
            length = min(_USUAL_LINE if not data else BLOCK, start)
            data = self._read(start - length, length) + data
            start -= length
        line = data[:-1].rpartition(b"\n")[2]
        return line if data.endswith(b"\n") and len(data) == place - start else b""

    def _events(self, place: int, lines: Sequence[bytes]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            event = self._event(line, place)
            if event is not None:
                events.append(event)
            place += len(line) + 1
        return events

    def _event(self, line: bytes, place: int) -> Event | None:
        try:
            event = decode_event(line)
        except ValueError:
            if line.strip(b" \t\r\0"):
                # Only a last line without a line break can reach this far.
                self.torn = place + len(line) >= self.size
                self.skipped += not self.torn
            return None
        if isinstance(event, UnknownEvent):
            self.unknown += 1
            return None
        return _placed(_with_zone(event), place)

    def _lines(self, start: int) -> Iterator[tuple[int, int, list[bytes]]]:
        """Yield the bytes read so far, the place of the first line, and the lines."""
        at = place = start
        rest = b""
        too_long = False
        while at < self.size:
            block = self._read(at, min(BLOCK, self.size - at))
            if not block:
                break
            at += len(block)
            if too_long:
                _, end, block = block.partition(b"\n")
                if not end:
                    continue
                too_long = False
                place = at - len(block)
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            yield at, place, lines
            place = at - len(rest)
            if len(rest) > LONGEST_LINE:
                self.skipped += 1
                too_long, rest = True, b""
        if rest:
            yield at, place, [rest]

    def _read(self, place: int, length: int) -> bytes:
        try:
            # After a close the descriptor could belong to another file.
            with self._lock:
                if not self._open:
                    raise JournalError(f"The journal {self.path} is closed.")
                return os.pread(self._file, length, place)
        except OSError as error:
            raise JournalError(
                f"The journal {self.path} cannot be read: {error.strerror or error}."
            ) from error


def read_events(folder: Path) -> Iterator[Event]:
    """Read the events of the session in a folder one by one; lines that are not events are skipped. Blocks.

    Raises:
        JournalError: the folder has no journal, or it cannot be read.
    """
    with closing(PastJournal(folder / JOURNAL)) as journal:
        for _, events in journal.batches(0):
            yield from events


def unreadable(error: OSError) -> str:
    """Describe why a journal cannot be read, in the words of every list and command."""
    match error.errno:
        case errno.ENOENT:
            return "it holds no journal"
        case errno.ELOOP:
            return "its journal is a link, which is not followed"
        case errno.EACCES | errno.EPERM:
            return "it may not be read: check the permissions of its folder and its journal"
        case _:
            return f"its journal cannot be read: {error.strerror or error}"


def _with_zone(event: Event) -> Event:
    # A time without a zone cannot be compared with the others, which are all UTC.
    return event if event.at.tzinfo else msgspec.structs.replace(event, at=event.at.replace(tzinfo=UTC))


_PLACED: dict[type[Event], type[_Placed]] = {
    ToolCallStarted: PastCallStarted,
    ToolCallFinished: PastCallFinished,
    ArtifactSaved: PastArtifactSaved,
    PermissionAnswered: PastPermissionAnswered,
}


def _placed(event: Event, place: int) -> Event:
    kind = _PLACED.get(type(event))
    return event if kind is None else kind(**msgspec.structs.asdict(event), place=place)
