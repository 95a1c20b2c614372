"""What the store asks of a database. It decides itself what is written when, and in what transaction.

`ua_tui.core.knowledge.index.sqlite_tables` writes to the file of this machine, and
`ua_tui.core.knowledge.postgres.tables` to the database of a team.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from ua_tui.core.knowledge.index.preparing import Prepared
from ua_tui.core.knowledge.records import Chunk, Cursor
from ua_tui.core.knowledge.removal.forgotten import ForgottenEntry, Tombstones


class Overtaken(Exception):
    """Another program moved the cursor of the session, or removed it."""


class Passage(msgspec.Struct, frozen=True):
    """A passage without a vector: its number, its document's title, and its text."""

    chunk: int
    title: str
    text: str


class Forgotten(Protocol):
    """The list of what was forgotten."""

    tombstones: Tombstones

    def refresh(self) -> bool:
        """Read what was added to the list; returns whether there was anything."""

    def append(self, entry: ForgottenEntry) -> None:
        """Add an entry, so that it survives the end of the program."""


class Tables(Protocol):
    """Writes to a knowledge base; all methods block, and are called in one thread at a time.

    All methods but `forgotten` and `close` are called within `reporting`.

    Attributes:
        identity: what tells the file from another one that replaced it; a database is never replaced.
        follows_folders: whether a session is removed when its folder is gone. In the database of a team it may have
            moved to another machine.
    """

    identity: tuple[int, int] | None
    follows_folders: bool

    def reporting(self, action: str) -> AbstractContextManager[None]:
        """Raise a `KnowledgeError` for every error of the database in the block; `action` as in "cannot be read"."""

    def forgotten(self, folder: str = "") -> Forgotten:
        """The list of what was forgotten that holds for a session, or for everything that is removed here."""

    def transaction(self) -> AbstractContextManager[None]:
        """Run the block in one transaction that may write; an exception undoes it."""

    def is_due(self) -> bool:
        """Whether the transaction has to end soon, because other programs may wait for it."""

    def rows(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        """Run one of the statements of `statements.toml`."""

    def session(self, folder: str, before: Cursor, *, is_new: bool) -> int:
        """Find the number of a session, and keep others from changing it in the transaction.

        It is made if there is none, if its journal is read from the beginning and `is_new`.

        Raises:
            Overtaken: its cursor is not `before`, or it is not there.
        """

    def put_documents(self, session: int, documents: Sequence[Prepared]) -> list[int]:
        """Add documents without their chunks; returns their numbers, of which none was used before."""

    def put_chunks(self, chunks: Sequence[tuple[int, Prepared, Chunk]]) -> None:
        """Add chunks of documents that were just put, each with the number of its document.

        Raises:
            Overtaken: between two transactions another program removed one of the documents.
        """

    def remove_some(self, documents: Sequence[int]) -> bool:
        """Remove documents with what only they had, or some of their chunks; returns whether to call it once more."""

    def scrub(self) -> bool:
        """Remove what is left of removed texts; returns False if it has to be tried again later."""

    def close(self) -> None:
        """Close it."""
