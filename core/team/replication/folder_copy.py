"""What of a session's folder is still to be copied: pieces of the files that only grow, and other files.

The journal and the agent's transcripts only grow: byte by byte, the database has the beginning of each. A record in the
folder says which session of the team it is, so that it stays the same when it is resumed.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple
from uuid import uuid4

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.history.headline import TITLE
from ua_tui.core.storage.workspace import CONVERSATION, JOURNAL, TEAM, Workspace, is_record
from ua_tui.core.team.records import SessionId

log = logging.getLogger(__name__)

_DEEPEST = 4
_RECORD_SIZE = 64 << 10
_PIECE = 1 << 20
_SAVED = ("artifact_saved", "artifact_changed")


class Piece(NamedTuple):
    """Some lines of a file that only grows, and where they begin in it; of a long line it may be a part."""

    path: str
    start: int
    data: bytes

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.start + len(self.data)


class StoredPiece(NamedTuple):
    """The last piece of a file that the database has: where it begins and ends, and its SHA-256."""

    path: str
    start: int
    end: int
    sha256: str


class _File(msgspec.Struct):
    path: str
    sha256: str = ""


class _Line(msgspec.Struct):
    event: str = ""
    path: str = ""
    sha256: str = ""
    files: list[_File] = []


def announced_files(line: bytes) -> list[tuple[str, str]]:
    """The files that a line of the journal announces: (path, SHA-256 if it is known)."""
    try:
        found = msgspec.json.decode(line, type=_Line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return []
    if found.event in _SAVED:
        return [(found.path, found.sha256)]
    return [(each.path, "") for each in found.files] if found.event == "files_attached" else []


class FolderCopy:
    """Finds what is new in a session's folder. Its methods read files: call them in a thread, one at a time.

    `files` are those that the journal announces and that are still to be copied, each with its digest if it is known.
    `title` is what a person called the session.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.files: dict[str, str] = {}
        self.title = ""
        self._workspace = workspace
        self._ends: dict[str, int] = {}
        self._noted = 0

    def begin(self, stored: Sequence[StoredPiece]) -> dict[str, int]:
        """Continue where the database ends; returns the files of which it has something else, and from where on.

        What the database has of a file that the folder lacks stays there.

        Raises:
            WorkspaceError: the folder cannot be read.
        """
        ends = {each.path: each.end for each in stored}
        self._ends = {each.path: self._common_end(each) for each in stored}
        end = self._ends.get(JOURNAL, 0)
        while self._noted < end and (piece := self._next(JOURNAL, self._noted)) is not None:
            self._note_files(piece)
        return {path: end for path, end in self._ends.items() if 0 <= end < ends[path]}

    def read(self) -> list[Piece]:
        """Read about a mebibyte of what is new, the journal first.

        Raises:
            WorkspaceError: the folder cannot be read, or a file of it was made anew.
        """
        self.title = self._read_title()
        found: list[Piece] = []
        for path in (JOURNAL, *self._transcripts(CONVERSATION, 0)):
            if (piece := self._next(path, self._ends.get(path, 0))) is not None:
                found.append(piece)
            if sum(len(each.data) for each in found) >= _PIECE // 2:
                break
        return found

    def advance(self, pieces: Iterable[Piece]) -> None:
        """Continue behind pieces that were copied."""
        for piece in pieces:
            self._ends[piece.path] = piece.end
            if piece.path == JOURNAL:
                self._note_files(piece)

    def waiting_lines(self) -> int:
        """How many lines of the journal are not copied."""
        at, count = self._ends.get(JOURNAL, 0), 0
        with suppress(WorkspaceError):
            while (piece := self._next(JOURNAL, at)) is not None:
                at, count = piece.end, count + piece.data.count(b"\n")
        return count

    def _next(self, path: str, start: int) -> Piece | None:
        """The next complete lines of a file, or a part of a long one; None if there are none."""
        if not self._workspace.exists(path) or (size := self._workspace.root.size(path)) == start:
            return None
        if not 0 <= start <= size:
            raise WorkspaceError(f"the session's file {path} was made anew: it is copied again")
        with self._workspace.root.opened(path) as file:
            file.seek(start)
            data = file.read(_PIECE)
        end = data.rfind(b"\n") + 1 or (len(data) if len(data) == _PIECE else 0)
        return Piece(path, start, data[:end]) if end else None

    def _common_end(self, stored: StoredPiece) -> int:
        """Up to where a file may have what is stored, or -1: a copy of the folder may have gone on elsewhere."""
        if not self._workspace.exists(stored.path):
            return -1
        if (size := self._workspace.root.size(stored.path)) < stored.end:
            # The last line was torn when the folder was restored.
            return min(size, stored.start)
        with self._workspace.root.opened(stored.path) as file:
            file.seek(stored.start)
            data = file.read(stored.end - stored.start)
        return stored.end if hashlib.sha256(data).hexdigest() == stored.sha256 else 0

    def _note_files(self, piece: Piece) -> None:
        if piece.end <= self._noted:
            return
        self._noted = piece.end
        for line in piece.data.split(b"\n"):
            for path, sha256 in announced_files(line):
                if not is_record(path):
                    # Copied in the order in which they were saved last.
                    self.files.pop(path, None)
                    self.files[path] = sha256

    def _read_title(self) -> str:
        with suppress(WorkspaceError):
            if self._workspace.exists(TITLE):
                return self._workspace.read(TITLE, 4096).decode("utf-8", "replace")
        return ""

    def _transcripts(self, folder: str, depth: int) -> Iterator[str]:
        if not self._workspace.exists(folder):
            return
        for entry in self._workspace.list(folder):
            path = f"{folder}/{entry.name}"
            if entry.is_dir and depth < _DEEPEST:
                yield from self._transcripts(path, depth + 1)
            elif not entry.is_dir and entry.name.endswith(".jsonl"):
                yield path


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
