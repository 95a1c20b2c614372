"""The list of what was forgotten: a small file of tombstones beside the database, which also outlives a damaged one.

A tombstone says which session, address or document stays away, and nothing of what is in it. It is a hash, because an
address or the name of a file may be what nobody shall read any more.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from pathlib import Path

import msgspec

from ua_tui.core.errors import KnowledgeError, WorkspaceError
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.storage.files import Root


class ForgottenEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the file: what was forgotten at once, or the `id` of such a line all of which was removed."""

    id: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    done: bool = False
    tombstones: tuple[str, ...] = ()


_DECODER = msgspec.json.Decoder(ForgottenEntry)


def session_tombstone(folder: str) -> str:
    """The tombstone of a session; a folder that was moved has the same one."""
    return _hash("session", _name(folder))


def title_tombstone(folder: str) -> str:
    """The tombstone of the title of a session, whatever the title is."""
    return _hash("title of", _name(folder))


def source_tombstone(url: str) -> str:
    """The tombstone of an address."""
    return _hash("source", canonical_url(url))


def document_tombstone(folder: str, path: str, part: int) -> str:
    """The tombstone of a document, which is known by its place: its session, its file, and its number in the file."""
    return _hash("place", _name(folder), path, str(part))


class Tombstones(ABC):
    """A list of what was forgotten, as it is kept in memory; use it in one thread at a time."""

    def __init__(self) -> None:
        self.damaged_lines = 0
        self._known: set[str] = set()
        self._entries: dict[str, ForgottenEntry] = {}
        self._is_done: set[str] = set()

    @abstractmethod
    def refresh(self) -> None:
        """Read what was added to the list since the last time.

        Raises:
            KnowledgeError: it cannot be read, and nothing may be added to the database.
        """

    @abstractmethod
    def append(self, entry: ForgottenEntry) -> None:
        """Add an entry, so that it survives the end of the program.

        Raises:
            KnowledgeError: it cannot be written.
        """

    def __len__(self) -> int:
        """How many times something was forgotten."""
        return len(self._entries)

    @property
    def pending(self) -> list[ForgottenEntry]:
        """What may still be in the database, because the program that removes it has not ended."""
        return [entry for key, entry in self._entries.items() if key not in self._is_done]

    def add(self, line: bytes, *, is_own: bool = True) -> None:
        """Add a line of the list; what is not this user's own is not for this program to remove, and never pending."""
        try:
            entry = _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self.damaged_lines += bool(line.strip())
            return
        if entry.done or not is_own:
            self._is_done.add(entry.id)
        if not entry.done:
            self._entries[entry.id] = entry
        self._known.update(entry.tombstones)

    def __contains__(self, tombstone: str) -> bool:
        return tombstone in self._known

    def has_document(self, folder: str, path: str, part: int, url: str) -> bool:
        """Whether a document is forgotten, by its session, its place in it, or its address."""
        # Mostly nothing is forgotten, and the hashes would cost more than the check.
        return bool(self._known) and (
            document_tombstone(folder, path, part) in self._known
            or session_tombstone(folder) in self._known
            or bool(url and source_tombstone(url) in self._known)
        )


class ForgottenFile(Tombstones):
    """The file of the tombstones beside the database, which is read again when it changes."""

    def __init__(self, database: Path) -> None:
        super().__init__()
        self.path = database.with_name(f"{database.stem}-forgotten.jsonl")
        self._read: tuple[int, ...] = ()

    def refresh(self) -> None:
        """Read the file again if it has changed."""
        try:
            found = os.lstat(self.path)
            state = (found.st_dev, found.st_ino, found.st_size)
            if state == self._read:
                return
            data = Root(self.path.parent).read(self.path.name)
        except FileNotFoundError:
            return
        except (OSError, WorkspaceError) as error:
            why = f"{self.path}: {error.strerror}" if isinstance(error, OSError) else error
            raise KnowledgeError(f"the list of what was forgotten cannot be read: {why}") from error
        self._read, self.damaged_lines = state, 0
        complete, _, _torn = data.rpartition(b"\n")
        for line in complete.splitlines():
            self.add(line)

    def append(self, entry: ForgottenEntry) -> None:
        """Write an entry to the disk."""
        try:
            root = Root(self.path.parent, create=True)
            root.append_lines(self.path.name, [msgspec.json.encode(entry)])
            with root.opened(self.path.name) as file:
                os.fsync(file.fileno())
        except WorkspaceError as error:
            raise KnowledgeError(f"the list of what was forgotten cannot be written: {error}") from error
        self.refresh()


def _name(folder: str) -> str:
    return folder.rstrip("/").rpartition("/")[2]


def _hash(*parts: str) -> str:
    data = b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)
    return hashlib.sha256(data).hexdigest()[:32]
