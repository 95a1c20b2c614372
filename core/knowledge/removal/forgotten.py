"""The list of what was forgotten: a small file of hashes beside the database, which also outlives a damaged one."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ua_tui.core.errors import KnowledgeError, WorkspaceError
from ua_tui.core.knowledge.index.fingerprints import body_hash
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.storage.files import Root


class Traces(msgspec.Struct, frozen=True):
    """By what a document is recognised: hashes of its session, its place in it, its address and its text.

    What a document does not have is empty, and never on the list.
    """

    session: str
    place: str
    source: str
    text: str


class Doomed(msgspec.Struct, frozen=True):
    """A document that is forgotten."""

    id: int
    folder: str
    path: str
    part: int
    title: str
    digest: bytes


class ForgottenEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the file: what was forgotten at once, or the `id` of such a line all of which was removed."""

    id: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    at: float = msgspec.field(default_factory=time.time)
    done: bool = False
    sessions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


class _Hashes(msgspec.Struct):
    """All hashes of the list, by what they are of."""

    sessions: set[str] = msgspec.field(default_factory=set)
    sources: set[str] = msgspec.field(default_factory=set)
    places: set[str] = msgspec.field(default_factory=set)
    texts: set[str] = msgspec.field(default_factory=set)


_DECODER = msgspec.json.Decoder(ForgottenEntry)


def forgotten_file(database: Path) -> Path:
    """The file beside the database with the hashes of what was forgotten."""
    return database.with_name(f"{database.stem}-forgotten.jsonl")


def traces_of(folder: str, path: str, part: int, url: str, digest: bytes) -> Traces:
    """The traces of a document of the session in `folder`; `digest` is the hash of its text."""
    return Traces(
        session=session_trace(folder),
        place=place_trace(folder, path, part),
        source=source_trace(url) if url else "",
        text=text_trace(digest),
    )


def session_trace(folder: str) -> str:
    """The trace of a session; a folder that was moved has the same one."""
    return _hash("session", folder.rstrip("/").rpartition("/")[2])


def place_trace(folder: str, path: str, part: int) -> str:
    """The trace of the place of a document in its session."""
    return _hash("place", folder.rstrip("/").rpartition("/")[2], path, str(part))


def source_trace(url: str) -> str:
    """The trace of an address."""
    return _hash("source", canonical_url(url))


def text_trace(digest: bytes) -> str:
    """The trace of a text by its hash; empty if there is no text, which many documents have in common."""
    return "" if digest == _NO_TEXT else digest.hex()


def title_trace(title: str) -> str:
    """The trace of the title of a session."""
    return _hash("title", title)


class ForgottenList:
    """The hashes of what was forgotten, read again when the file changes.

    `KnowledgeStore.apply` asks it, so nobody else has to. Use it in one thread at a time.
    """

    def __init__(self, database: Path) -> None:
        self.path = forgotten_file(database)
        self.damaged_lines = 0
        self._hashes = _Hashes()
        self._entries: dict[str, ForgottenEntry] = {}
        self._is_done: set[str] = set()
        self._file: tuple[int, int] | None = None
        self._read = 0

    def __len__(self) -> int:
        """How many times something was forgotten."""
        return len(self._entries)

    @property
    def pending(self) -> list[ForgottenEntry]:
        """What may still be in the database, because the program that removes it has not ended."""
        return [entry for key, entry in self._entries.items() if key not in self._is_done]

    def refresh(self) -> bool:
        """Read what was added to the file; returns whether there was anything.

        Raises:
            KnowledgeError: the file cannot be read, and nothing may be added to the database.
        """
        try:
            found = os.lstat(self.path)
            if (found.st_dev, found.st_ino) != self._file or found.st_size < self._read:
                self._file, self._read = (found.st_dev, found.st_ino), 0
            if found.st_size == self._read:
                return False
            with Root(self.path.parent).opened(self.path.name) as file:
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return False
        except (OSError, WorkspaceError) as error:
            raise KnowledgeError(f"the list of what was forgotten cannot be read: {error}") from error
        complete, _, torn = data.rpartition(b"\n")
        self._read += len(data) - len(torn)
        for line in complete.splitlines():
            self._add(line)
        return bool(complete)

    def append(self, entry: ForgottenEntry) -> None:
        """Write an entry to the disk.

        Raises:
            KnowledgeError: it cannot be written.
        """
        try:
            root = Root(self.path.parent, create=True)
            root.append_lines(self.path.name, [msgspec.json.encode(entry)])
            with root.opened(self.path.name) as file:
                os.fsync(file.fileno())
        except WorkspaceError as error:
            raise KnowledgeError(f"the list of what was forgotten cannot be written: {error}") from error
        self.refresh()

    def has_session(self, folder: str) -> bool:
        """Whether a session is forgotten; `folder` as the database names it."""
        return session_trace(folder) in self._hashes.sessions

    def has_source(self, url: str) -> bool:
        """Whether an address is forgotten."""
        return bool(self._hashes.sources) and source_trace(url) in self._hashes.sources

    def has_title(self, title: str) -> bool:
        """Whether the title of a session is forgotten."""
        return bool(self._hashes.texts) and title_trace(title) in self._hashes.texts

    def has(self, traces: Traces) -> bool:
        """Whether a document is forgotten, by its session, its place in it, its address, or its text."""
        known = self._hashes
        return (
            traces.session in known.sessions
            or traces.place in known.places
            or traces.source in known.sources
            or traces.text in known.texts
        )

    def _add(self, line: bytes) -> None:
        try:
            entry = _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self.damaged_lines += bool(line.strip())
            return
        if entry.done:
            self._is_done.add(entry.id)
            return
        self._entries[entry.id] = entry
        known = self._hashes
        known.sessions.update(entry.sessions)
        known.sources.update(entry.sources)
        known.places.update(entry.places)
        known.texts.update(entry.texts)


def _hash(*parts: str) -> str:
    return hashlib.sha256(b"\0".join(_encoded(parts))).hexdigest()[:32]


def _encoded(parts: Iterable[str]) -> Iterable[bytes]:
    return (part.encode("utf-8", "surrogatepass") for part in parts)


_NO_TEXT = body_hash("")
