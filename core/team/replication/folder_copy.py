"""What of a session's folder is still to be copied: lines of the journal, entries of transcripts, and files.

A record in the folder says which session of the team it is, so that it stays the same when it is resumed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import msgspec

from ua_tui.core.agent.conversation.store import encode_entry
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.history.headline import TITLE
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import CONVERSATION, JOURNAL, TEAM, Workspace, is_record
from ua_tui.core.team.records import SessionId

log = logging.getLogger(__name__)

_MARGIN = 1000
"""Lines of the journal that are sent again when a session is resumed: they may not be in the order of their numbers."""
_DEEPEST = 4
_RECORD_SIZE = 64 << 10
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

    def pieces(self) -> Iterator[list[bytes]]:
        """All complete lines that there are, piece by piece; `offset` is behind a piece when the next one is read.

        Raises:
            WorkspaceError: the file cannot be read.
        """
        while True:
            lines, end = self.read()
            if end == self.offset:
                return
            yield lines
            self.offset = end


class TranscriptTail(LineTail):
    """The entries of one transcript that are still to be copied; `offset` is where they begin."""

    def __init__(self, root: Root, path: str, key: dict[str, str]) -> None:
        super().__init__(root, path)
        self.key = key
        self.is_aligned = False

    def align(self, last: str | None, behind: Sequence[str]) -> None:
        """Begin where the database ends: behind the entry `last`, and what is stored after it without a `uuid`.

        Raises:
            WorkspaceError: the file cannot be read.
        """
        self.offset = 0
        self.is_aligned = True
        if last is not None and (found := self._offset_behind(last)) is not None:
            self.offset = found
        elif last is not None:
            # What has a `uuid` is stored only once.
            return
        stored = list(behind)
        for entry, end in self._entries():
            if not stored or encode_entry(entry) != stored.pop(0):
                return
            self.offset = end

    def read_entries(self) -> tuple[list[dict[str, Any]], int]:
        """Read about a mebibyte of entries, and where they end.

        Raises:
            WorkspaceError: the file cannot be read.
        """
        lines, end = self.read()
        return [entry for line in lines if (entry := _entry_of(line)) is not None], end

    def _offset_behind(self, uuid: str) -> int | None:
        behind = None
        for entry, end in self._entries():
            if entry.get("uuid") == uuid:
                behind = end
        return behind

    def _entries(self) -> Iterator[tuple[dict[str, Any], int]]:
        """The entries from the offset on, each with where it ends."""
        tail = LineTail(self.root, self.path)
        tail.offset = self.offset
        for lines in tail.pieces():
            at = tail.offset
            for line in lines:
                at += len(line) + 1
                if (entry := _entry_of(line)) is not None:
                    yield entry, at


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


def transcript_path(conversation: str, subpath: str) -> str:
    """Where a transcript is in a session's folder."""
    return (
        f"{CONVERSATION}/{conversation}/{subpath}.jsonl"
        if subpath
        else f"{CONVERSATION}/{conversation}.jsonl"
    )


class FolderCopy:
    """Finds what is new in a session's folder. Its methods read files: call them in a thread, one at a time.

    `files` are those that the journal announces and that are still to be copied, each with its digest if it is known.
    `title` is what a person called the session.
    """

    def __init__(self, workspace: Workspace, project: str) -> None:
        self.files: dict[str, str] = {}
        self._known = self._sent = self._read = 0
        self.title = ""
        self._workspace = workspace
        self._project = project
        self._journal = LineTail(workspace.root, JOURNAL)
        self._transcripts: dict[str, TranscriptTail] = {}

    def read_lines(self) -> tuple[list[tuple[int, str]], int]:
        """Read new lines of the journal with their numbers, and where they end, behind which there may be more.

        Raises:
            WorkspaceError: it cannot be read.
        """
        self.title = self._read_title()
        found, end = self._journal.read()
        lines: list[tuple[int, str]] = []
        for raw in found:
            line = journal_line_of(raw)
            if line is None or b"\0" in raw:
                continue
            with suppress(UnicodeDecodeError):
                text = raw.decode()
                self._note_files(text, line.event)
                if line.seq > self._known - _MARGIN:
                    lines.append((line.seq, text))
                    self._read = line.seq
        return lines, end

    def advance(self, end: int) -> bool:
        """Continue behind lines that were copied; returns whether there are probably more."""
        self._sent = max(self._sent, self._read)
        return self._journal.advance(end)

    def unaligned(self) -> list[TranscriptTail]:
        """The transcripts of which it is not known how much is stored.

        Raises:
            WorkspaceError: the folder cannot be read.
        """
        for path in self._transcript_files(CONVERSATION, 0):
            if path not in self._transcripts:
                self._transcripts[path] = TranscriptTail(self._workspace.root, path, self._key_of(path))
        return [each for each in self._transcripts.values() if not each.is_aligned]

    def check_positions(self, last_seq: int) -> None:
        """Continue where the database ends: at the line `last_seq`, and in each transcript where `align` says."""
        if last_seq < self._sent:
            self._journal.offset = 0
        self._known = last_seq
        for each in self._transcripts.values():
            each.is_aligned = False

    def read_entries(self) -> Iterator[tuple[TranscriptTail, list[dict[str, Any]], int]]:
        """Read what is new in the transcripts: the entries of each, and where they end.

        Raises:
            WorkspaceError: one cannot be read.
        """
        for tail in self._transcripts.values():
            if tail.is_aligned:
                entries, end = tail.read_entries()
                if end != tail.offset:
                    yield tail, entries, end

    def _read_title(self) -> str:
        with suppress(WorkspaceError):
            if self._workspace.exists(TITLE):
                return self._workspace.read(TITLE, 4096).decode("utf-8", "replace")
        return ""

    def waiting_lines(self) -> int:
        """How many lines of the journal are not copied."""
        tail = LineTail(self._workspace.root, JOURNAL)
        tail.offset = self._journal.offset
        count = 0
        with suppress(WorkspaceError):
            for lines in tail.pieces():
                count += len(lines)
        return count

    def _note_files(self, line: str, event: str) -> None:
        for path, sha256 in files_of(line, event):
            if not is_record(path):
                # Copied in the order in which they were saved last.
                self.files.pop(path, None)
                self.files[path] = sha256

    def _transcript_files(self, folder: str, depth: int) -> Iterator[str]:
        if not self._workspace.exists(folder):
            return
        for entry in self._workspace.list(folder):
            path = f"{folder}/{entry.name}"
            if entry.is_dir and depth < _DEEPEST:
                yield from self._transcript_files(path, depth + 1)
            elif not entry.is_dir and entry.name.endswith(".jsonl"):
                yield path

    def _key_of(self, path: str) -> dict[str, str]:
        name = path.removeprefix(f"{CONVERSATION}/").removesuffix(".jsonl")
        conversation, _, subpath = name.partition("/")
        key = {"project_key": self._project, "session_id": conversation}
        return {**key, "subpath": subpath} if subpath else key


class _Record(msgspec.Struct):
    id: str
    attempt: int = 1


def next_identity(workspace: Workspace) -> SessionId:
    """The identity of a session that begins or is resumed: the recorded one with the next attempt, or a new one."""
    identity = new_identity()
    if workspace.exists(TEAM):
        try:
            found = msgspec.json.decode(workspace.read(TEAM, _RECORD_SIZE), type=_Record)
            identity = SessionId(id=found.id, attempt=found.attempt + 1)
        except (WorkspaceError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("the record %s cannot be read, the session gets another one: %s", TEAM, error)
    store_identity(workspace, identity)
    return identity


def new_identity() -> SessionId:
    """An identity that no session has."""
    return SessionId(id=uuid4().hex)


def store_identity(workspace: Workspace, identity: SessionId) -> None:
    """Record the identity in the session's folder; if that fails, a resumed session gets another one."""
    try:
        workspace.write_json(TEAM, {"id": identity.id, "attempt": identity.attempt})
    except WorkspaceError as error:
        log.warning("%s", error)
