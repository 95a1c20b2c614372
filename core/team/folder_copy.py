"""Which parts of a session's folder are still to be copied: pieces of the files that only grow.

The journal and the agent's transcripts only grow: byte by byte, the database has the beginning of each. A record in the
folder says which session of the team it is, so that it stays the same when it is resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from uuid import uuid4

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.history.headline import LONGEST_TITLE, read_title
from ua_tui.core.log import log
from ua_tui.core.storage.workspace import CONVERSATION, JOURNAL, TEAM, Workspace
from ua_tui.core.team.records import SessionId

_DEEPEST = 4
_RECORD_SIZE = 64 << 10
_PIECE = 1 << 20
LARGEST = 64 << 20
"""The most bytes of a file whose content is copied."""


class Piece(NamedTuple):
    """Some lines of a file that only grows, and where they begin in it; of a long line it may be a part."""

    path: str
    start: int
    data: bytes

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.start + len(self.data)


class FolderCopy:
    """Finds what is new in a session's folder. Its methods read files: call them in a thread, one at a time.

    `title` is what a person called the session.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.title = ""
        self._workspace = workspace
        self._ends: dict[str, int] = {}

    def begin(self, stored: Sequence[tuple[str, int, int, str]]) -> dict[str, int]:
        """Continue where the database ends; returns the files of which it has something else, and from where on.

        `stored` has the last piece of each file in the database: its path, where it begins and ends, and its SHA-256.
        What the database has of a file that the folder lacks stays there.

        Raises:
            WorkspaceError: the folder cannot be read.
        """
        self._ends = {piece[0]: self._common_end(*piece) for piece in stored}
        return {path: self._ends[path] for path, _, end, _ in stored if 0 <= self._ends[path] < end}

    def read(self) -> list[Piece]:
        """Read about a mebibyte of what is new, the journal first.

        Raises:
            WorkspaceError: the folder cannot be read, or a file of it was made anew.
        """
        # It is cut when its secrets are masked.
        self.title = read_title(self._workspace.path, 4 * LONGEST_TITLE)
        found: list[Piece] = []
        for path in (JOURNAL, *self._transcripts(CONVERSATION, 0)):
            if (piece := self._next(path, self._ends.get(path, 0))) is not None:
                found.append(piece)
            if sum(len(each.data) for each in found) >= _PIECE // 2:
                break
        return found

    def advance(self, pieces: Iterable[Piece]) -> None:
        """Continue behind pieces that were copied."""
        self._ends.update((piece.path, piece.end) for piece in pieces)

    def _next(self, path: str, start: int) -> Piece | None:
        """The next complete lines of a file, or a part of a long one; None if there are none."""
        if not self._workspace.exists(path) or (size := self._workspace.root.size(path)) == start:
            return None
        if not 0 <= start <= size:
            raise WorkspaceError(f"the session's file {path} was recreated, so it is copied again")
        with self._workspace.root.opened(path) as file:
            file.seek(start)
            data = file.read(_PIECE)
        end = data.rfind(b"\n") + 1 or (len(data) if len(data) == _PIECE else 0)
        return Piece(path, start, data[:end]) if end else None

    def _common_end(self, path: str, start: int, end: int, sha256: str) -> int:
        """Up to where a file may have what is stored, or -1: a copy of the folder may have gone on elsewhere."""
        if not self._workspace.exists(path):
            return -1
        if (size := self._workspace.root.size(path)) < end:
            # The last line was torn when the folder was restored.
            return min(size, start)
        with self._workspace.root.opened(path) as file:
            file.seek(start)
            data = file.read(end - start)
        return end if hashlib.sha256(data).hexdigest() == sha256 else 0

    def _transcripts(self, folder: str, depth: int) -> Iterator[str]:
        if not self._workspace.exists(folder):
            return
        for entry in self._workspace.list(folder):
            path = f"{folder}/{entry.name}"
            if entry.is_dir and depth < _DEEPEST:
                yield from self._transcripts(path, depth + 1)
            elif not entry.is_dir and entry.name.endswith(".jsonl"):
                yield path


def next_identity(workspace: Workspace) -> SessionId:
    """The identity of a session that begins or is resumed: the recorded one with the next attempt, or a new one."""
    identity = SessionId(id=uuid4().hex)
    if workspace.exists(TEAM):
        try:
            found = msgspec.json.decode(workspace.read(TEAM, _RECORD_SIZE), type=SessionId)
            identity = SessionId(id=found.id, attempt=found.attempt + 1)
        except (WorkspaceError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("the record %s cannot be read, so the session gets a new one: %s", TEAM, error)
    store_identity(workspace, identity)
    return identity


def store_identity(workspace: Workspace, identity: SessionId) -> None:
    """Record the identity in the session's folder; if that fails, a resumed session gets another one."""
    try:
        workspace.write_json(TEAM, {"id": identity.id, "attempt": identity.attempt})
    except WorkspaceError as error:
        log.warning("%s", error)
