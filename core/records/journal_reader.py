"""Reads the journal of a past session in blocks: from its start, from near its end, or a single line."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Literal, Self

import msgspec

from ua_tui.core.concurrency.cancellation import checked
from ua_tui.core.errors import JournalError
from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import Event, PlacedEvent, ToolCallStarted, UnknownEvent
from ua_tui.core.events.units import size
from ua_tui.core.json_values import table_of
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.view.calls import FullCall
from ua_tui.core.view.session import SessionView

BLOCK = 256 << 10
"""Bytes read and decoded at a time: a few milliseconds of work."""
SCANNED = 64 << 10
"""Bytes searched at a time for lines of one kind: they stay in the processor's cache, which halves the time."""
LARGEST = 512 << 20
"""Bytes; of a longer journal only this much of its end is shown."""
LONGEST_LINE = 4 << 20
"""Bytes; no session writes a longer line."""
_BEGINNING = b'{"event":"'
_USUAL_LINE, _TAIL = 4 << 10, 16 << 10


class Unread(msgspec.Struct):
    """What of a journal cannot be read.

    Attributes:
        left_out: the bytes at its beginning that are not read because it is too long.
        skipped: the number of lines that are not events.
        unknown: the number of events of a later version.
        torn: whether the last line has no end.
    """

    left_out: int = 0
    skipped: int = 0
    unknown: int = 0
    torn: bool = False

    def sentences(self, where: Literal["screen", "export", "rebuild"]) -> Iterator[str]:
        """Say it as the table `unread.json` does for a place."""
        for name, texts in table_of(__file__, "unread.json")[where].items():
            if number := int(getattr(self, name)):
                text = texts[0 if number == 1 else -1]
                yield text.format(number=number, size=size(number), mebibytes=number >> 20)


class PastJournal:
    """A journal as it was when it was opened, and the lines that `more` finds appended afterwards.

    `unread` is about what was read so far, and `start` where reading begins. After
    `batches`, `end` is the place after the last complete line. Only one
    thread at a time may run `batches` or `more`; `event_at` and `close` are safe in any thread at any time.

    Raises:
        JournalError: there is no such file, it is a link or no regular file, or it may not be read.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self.end = 0
        try:
            self._file = open_regular(self.path)
        except OSError as error:
            raise JournalError(f"the session in {folder} cannot be opened: {unreadable(error)}.") from error
        self.size = os.fstat(self._file).st_size
        self.unread = Unread(max(0, self.size - LARGEST))
        self._open = True
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._file)

    def head(self, length: int) -> bytes:
        """Read the first `length` bytes.

        Raises:
            JournalError: the file can no longer be read.
        """
        return self._read(0, length)

    def first(self) -> Event | None:
        """The event of the first line, None if it is not an event."""
        return event_in(self._line_at(0))

    def last(self) -> Event | None:
        """The event of the last line, None if it is not an event or is long."""
        tail = self._read(max(0, self.size - _TAIL), _TAIL)
        return event_in(tail.rstrip(b"\n").rpartition(b"\n")[2])

    @property
    def start(self) -> int:
        """Where the first line begins that is read."""
        return self.tail_place(self.size - self.unread.left_out)

    def tail_place(self, length: int) -> int:
        """Where the first complete line of the last `length` bytes begins; 0 if the journal is not longer."""
        start = self.size - length
        return start - 1 + len(self._line_at(start - 1)) if start > 0 else 0

    def batches(self, start: int) -> Iterator[tuple[int, list[Event]]]:
        """Yield the events from the line at `start` on, some hundred at a time, each time with the bytes read so far.

        The events of calls, answers and saved files have their places; lines that are not events are counted.

        Raises:
            JournalError: the file can no longer be read.
        """
        for at, placed in self.placed(start):
            yield at, [event for event, _ in placed]

    def placed(self, start: int) -> Iterator[tuple[int, list[tuple[Event, int]]]]:
        """Yield the events as `batches` does, each with the place after its line.

        Raises:
            JournalError: the file can no longer be read.
        """
        self.unread = Unread(self.unread.left_out)
        self.end = start
        for at, place, lines in self._lines(start):
            events = list(self._placed_events(place, lines))
            self.end = place if self.unread.torn else at
            yield at, events

    def between(self, start: int, end: int) -> list[Event]:
        """Read the events of the lines from `start` to `end`, places that `placed` gave.

        Raises:
            JournalError: the file can no longer be read.
        """
        lines = self._read(start, end - start).split(b"\n")
        return [event for event, _ in self._placed_events(start, lines)]

    def more(self, start: int) -> tuple[int, list[Event]]:
        """Read the events of complete lines that were appended from `start` on, some hundred at a time.

        Returns the place after them, which is `start` if there is nothing new.

        Raises:
            JournalError: the file can no longer be read.
        """
        with self._lock:
            if not self._open:
                raise JournalError(f"the journal {self.path} is closed.")
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
        events = [event for event, _ in self._placed_events(start, lines)]
        return start + (end + 1 if end >= 0 else len(data)), events

    def event_at(self, place: int) -> Event:
        """Read the one event whose line begins at `place`.

        Raises:
            JournalError: it is no longer there.
        """
        event = event_in(self._line_at(place))
        if event is None:
            raise JournalError(f"the journal {self.path} was changed: the line is gone.")
        return event

    def _line_at(self, place: int) -> bytes:
        """The line that begins at a place, with its break; of one that is too long only the beginning."""
        data, end = b"", 0
        while not end and len(data) <= LONGEST_LINE and place + len(data) < self.size:
            length = BLOCK if data else _USUAL_LINE
            block = self._read(place + len(data), min(length, self.size - place - len(data)))
            if not block:
                break
            data += block
            end = data.find(b"\n") + 1
        return data[: end or len(data)]

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

    def lines(self, beginning: bytes = _BEGINNING, start: int = 0) -> Iterator[tuple[bytes, int]]:
        """Yield the complete lines with this beginning, undecoded, and the place after each.

        Raises:
            JournalError: the file can no longer be read.
        """
        at, rest = start, b""
        marked = b"\n" + beginning
        while block := self._read(at, SCANNED):
            at += len(block)
            end = block.rfind(b"\n")
            if end < 0:
                rest = rest + block if len(rest) < LONGEST_LINE else b""
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

    def find(self, *kinds: type[Event], naming: bytes = b"", end: int | None = None) -> Iterator[Event]:
        """Yield the events of these kinds, or of all, whose lines contain `naming`: only those are decoded.

        Raises:
            JournalError: the file can no longer be read.
            Stopped: the result is no longer needed.
        """
        begins = tuple(map(_beginning_of, kinds))
        # Searching for what their names begin with skips most other lines quickly.
        beginning = os.path.commonprefix(begins) or _BEGINNING  # noqa: RUF071  # no paths
        for line, behind in checked(self.lines(beginning)):
            if end is not None and behind > end:
                return
            if naming in line and line.startswith(begins or _BEGINNING) and (event := event_in(line)):
                yield _placed(event, behind - len(line) - 1)

    def view(self, redactor: Redactor | None = None, seq: int | None = None) -> SessionView:
        """Fold the session, or what there was of it after the event with this number.

        Raises:
            JournalError: the file can no longer be read.
        """
        view = SessionView(redactor, Root(self.path.parent))
        for _, events in self.batches(self.start):
            for event in events:
                if seq is not None and event.seq > seq:
                    return view
                view.add(event)
        return view

    def _placed_events(self, place: int, lines: Sequence[bytes]) -> Iterator[tuple[Event, int]]:
        for line in lines:
            event = self._event(line, place)
            place += len(line) + 1
            if event is not None:
                yield event, place

    def _event(self, line: bytes, place: int) -> Event | None:
        try:
            event = decode_event(line)
        except ValueError:
            if line.strip(b" \t\r\0"):
                # Only a last line without a line break can reach this far.
                self.unread.torn = place + len(line) >= self.size
                self.unread.skipped += not self.unread.torn
            return None
        if isinstance(event, UnknownEvent):
            # Questions about single servers are of an earlier version, which asked them.
            self.unread.unknown += not event.original_name.startswith("server_trust_")
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
                self.unread.skipped += 1
                too_long, rest = True, b""
        if rest:
            yield at, place, [rest]

    def _read(self, place: int, length: int) -> bytes:
        try:
            # After a close the descriptor could belong to another file.
            with self._lock:
                if not self._open:
                    raise JournalError(f"the journal {self.path} is closed.")
                return os.pread(self._file, length, place)
        except OSError as error:
            raise JournalError(
                f"the journal {self.path} cannot be read: {error.strerror or error}."
            ) from error


def read_events(folder: Path) -> Iterator[Event]:
    """Read the events of the session in a folder one by one; lines that are not events are skipped. Blocks.

    Raises:
        JournalError: the folder has no journal, or it cannot be read.
    """
    with PastJournal(folder) as journal:
        for _, events in journal.batches(0):
            yield from events


def read_call(folder: Path, tool_use_id: str) -> FullCall | None:
    """Find a call in the journal of the session in a folder; None if it is not there. Blocks.

    Raises:
        JournalError: the journal cannot be read.
        Stopped: the result is no longer needed.
    """
    call: FullCall | None = None
    with PastJournal(folder) as journal:
        for event in journal.find(naming=tool_use_id.encode()):
            if isinstance(event, ToolCallStarted) and event.tool_use_id == tool_use_id:
                call = FullCall(event)
            elif call is not None:
                call.add(event)
    return call


def unreadable(error: JournalError | OSError) -> str:
    """Describe why a journal cannot be read, in the words of every list and command."""
    if isinstance(error, JournalError):
        return unreadable(error.__cause__) if isinstance(error.__cause__, OSError) else str(error)
    match error.errno:
        case errno.ENOENT:
            return "it has no journal"
        case errno.ELOOP:
            return "its journal is a link, which is not followed"
        case errno.EACCES | errno.EPERM:
            return "you have no permission to read it: check the permissions of its folder and its journal"
        case _:
            return f"its journal cannot be read: {error.strerror or error}"


def _beginning_of(kind: type[Event]) -> bytes:
    """How the line of an event begins."""
    return b'%s%s"' % (_BEGINNING, str(kind.__struct_config__.tag).encode())


def event_in(line: bytes) -> Event | None:
    """The event of a line, with a zone; None if it is none."""
    try:
        return _with_zone(decode_event(line))
    except ValueError:
        return None


def _with_zone(event: Event) -> Event:
    # A time without a zone cannot be compared with the others, which are all UTC.
    return event if event.at.tzinfo else msgspec.structs.replace(event, at=event.at.replace(tzinfo=UTC))


def _placed(event: Event, place: int) -> Event:
    if isinstance(event, PlacedEvent):
        msgspec.structs.force_setattr(event, "place", place)
    return event
