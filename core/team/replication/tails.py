"""Reads what is new in files that only grow: complete lines behind an offset."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ua_tui.core.agent.conversation.store import encode_entry
from ua_tui.core.storage.files import Root

_PIECE = 1 << 20
_LONGEST = 64 << 20
"""A line that is longer is skipped."""
_SAVED = ("artifact_saved", "artifact_changed")


class JournalLine(msgspec.Struct):
    """What a copy has to know of a line of the journal."""

    seq: int
    event: str = ""


class _File(msgspec.Struct):
    path: str
    sha256: str = ""


class _Files(msgspec.Struct):
    files: list[_File] = []


def journal_line_of(line: bytes | str) -> JournalLine | None:
    """Read a line of the journal; None if it is not an event."""
    try:
        found = msgspec.json.decode(line, type=JournalLine)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return found if 0 < found.seq < 1 << 63 else None


def files_of(line: bytes | str, event: str) -> list[tuple[str, str]]:
    """The files that a line of the journal announces: (path, SHA-256 if it is known)."""
    try:
        if event in _SAVED:
            saved = msgspec.json.decode(line, type=_File)
            return [(saved.path, saved.sha256)]
        if event == "files_attached":
            return [(each.path, "") for each in msgspec.json.decode(line, type=_Files).files]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    return []


class LineTail:
    """The lines of one file that are still to be copied; `offset` is where they begin."""

    def __init__(self, root: Root, path: str) -> None:
        self.path = path
        self.offset = 0
        self.root = root

    def read(self) -> tuple[list[bytes], int]:
        """Read about a mebibyte of complete lines, and where they end; nothing moves until `offset` is set to that.

        Raises:
            WorkspaceError: the file cannot be read.
        """
        if not self.root.exists(self.path) or self.root.size(self.path) == self.offset:
            return [], self.offset
        with self.root.opened(self.path) as file:
            size = file.seek(0, 2)
            # Somebody wrote it again: what is known already is skipped.
            start = self.offset if self.offset <= size else 0
            file.seek(start)
            data = file.read(_PIECE)
            while b"\n" not in data and len(data) < _LONGEST and (more := file.read(_PIECE)):
                data += more
            end = data.rfind(b"\n") + 1
            if not end and len(data) >= _LONGEST:
                file.readline()
                return [], file.tell()
        return data[:end].split(b"\n")[:-1], start + end

    def advance(self, end: int) -> bool:
        """Begin at `end`, as what is before it was copied; returns whether there is probably more."""
        step, self.offset = end - self.offset, end
        return step >= _PIECE // 2


class TranscriptTail:
    """The entries of one transcript that are still to be copied; `offset` is where they begin."""

    def __init__(self, root: Root, path: str, key: dict[str, str]) -> None:
        self.key = key
        self.is_aligned = False
        self._lines = LineTail(root, path)

    def align(self, last: str | None, behind: Sequence[str]) -> None:
        """Begin where the database ends: behind the entry `last`, and what is stored after it without a `uuid`.

        Raises:
            WorkspaceError: the file cannot be read.
        """
        self._lines.offset = 0
        self.is_aligned = True
        if last is not None and (found := self._offset_behind(last)) is not None:
            self._lines.offset = found
        elif last is not None:
            # What has a `uuid` is stored only once.
            return
        stored = list(behind)
        for entry, end in self._entries():
            if not stored or encode_entry(entry) != stored.pop(0):
                return
            self._lines.offset = end

    def read(self) -> tuple[list[dict[str, Any]], int]:
        """Read about a mebibyte of entries, and where they end.

        Raises:
            WorkspaceError: the file cannot be read.
        """
        lines, end = self._lines.read()
        return [entry for line in lines if (entry := _entry_of(line)) is not None], end

    def advance(self, end: int) -> bool:
        """Begin at `end`, as what is before it was copied; returns whether there is probably more."""
        return self._lines.advance(end)

    @property
    def offset(self) -> int:
        """Where the entries begin that are still to be copied."""
        return self._lines.offset

    def _offset_behind(self, uuid: str) -> int | None:
        behind = None
        for entry, end in self._entries():
            if entry.get("uuid") == uuid:
                behind = end
        return behind

    def _entries(self) -> Iterator[tuple[dict[str, Any], int]]:
        """The entries from the offset on, each with where it ends."""
        tail = LineTail(self._lines.root, self._lines.path)
        tail.offset = self._lines.offset
        while True:
            lines, end = tail.read()
            if end == tail.offset:
                return
            at = tail.offset
            for line in lines:
                at += len(line) + 1
                if (entry := _entry_of(line)) is not None:
                    yield entry, at
            tail.offset = end


def _entry_of(line: bytes) -> dict[str, Any] | None:
    """An entry of a transcript; None if the line is not one, as when a crash cut it off."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) and found.get("type") else None
