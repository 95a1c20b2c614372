"""Writes to the knowledge base of a team: what differs from a file.

Several machines may index a session one after the other; its row is locked while something of it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import msgspec
import psycopg
from psycopg.types.json import Jsonb

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.preparing import Prepared
from ua_tui.core.knowledge.index.store import KnowledgeStore, Overtaken
from ua_tui.core.knowledge.place import Origin
from ua_tui.core.knowledge.postgres.connection import Connection, Link, reporting, run
from ua_tui.core.knowledge.postgres.lexemes import Lexemes
from ua_tui.core.knowledge.records import Chunk, Cursor
from ua_tui.core.knowledge.removal.forgotten import ForgottenEntry, Tombstones
from ua_tui.core.knowledge.search.database import read_statements
from ua_tui.core.postgres.address import Address

_STATEMENTS = read_statements(__file__)
_VACUUM = b"VACUUM (ANALYZE) k_document, k_chunk, k_call, k_vector, k_session"


class PostgresStore(KnowledgeStore):
    """A `KnowledgeStore` of a database; the next call connects again if the connection was lost.

    Args:
        address: the database of the team.
        origins: the sessions of the team that are on this machine, by their names; others are not of the team.
    """

    path: Address
    follows_folders = False

    def __init__(self, address: Address, origins: Mapping[str, Origin] | None = None) -> None:
        self.path = address
        self._origins = origins or {}
        self._link = Link(address)
        self._lexemes = Lexemes()
        self._forgotten: dict[str | None, ForgottenRows] = {}
        self._writing: Connection | None = None
        self._owner = ""
        self._shared = True
        super().__init__()

    def _reporting(self, action: str) -> AbstractContextManager[None]:
        return reporting(self.path)

    def _forgotten_of(self, folder: str = "") -> ForgottenRows:
        """The list of what was forgotten that holds for a session, which depends on whose it is."""
        owner = self._origins[folder].owner if folder in self._origins else None
        if owner not in self._forgotten:
            self._forgotten[owner] = ForgottenRows(self._link, owner)
        return self._forgotten[owner]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._link.using() as db:
            self._writing = db
            try:
                with db.transaction():
                    yield
            finally:
                self._writing = None

    def _is_due(self) -> bool:
        return False

    def close(self) -> None:
        """Close the connection."""
        self._link.close()
        self._lexemes.close()

    def _rows(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        """Run a statement; outside of a transaction once more if the connection was lost."""
        origin = self._origins.get(str(values.get("folder", "")))
        given = {"team": None if origin is None else origin.id} | values
        if self._writing is not None:
            return _rows(self._writing, name, given)
        return self._link.read(lambda db: _rows(db, name, given))

    def _session(self, folder: str, before: Cursor, *, is_new: bool) -> int:
        origin = self._origins.get(folder)
        team = None if origin is None else origin.id
        rows = self._rows("locked", folder=folder)
        if not rows and before == Cursor() and is_new:
            new = origin or Origin("")
            rows = self._rows("add_session", folder=folder, owner=new.owner, shared=new.shared)
            rows = rows or self._rows("locked", folder=folder)
            if not rows:
                raise _foreign(folder)
        if not rows and self._rows("knows", folder=folder):
            raise _foreign(folder)
        if not rows or Cursor(rows[0][2], rows[0][3]) != before:
            raise Overtaken
        number, name, _, _, self._owner, self._shared, known_team, attempt = rows[0]
        if origin is not None:
            if (attempt or 0) > origin.attempt:
                raise KnowledgeError(f"the session {origin.id} was taken over by another worker")
            self._share(number, origin)
        if len(rows) > 1 or name != folder or team not in (None, known_team):
            # It was on another machine, or was indexed here before it was known to be of the team.
            self._rows("drop_others", ids=[row[0] for row in rows[1:]])
            self._rows("name_session", folder=folder, session=number)
        return int(number)

    def _put_documents(self, session: int, documents: Sequence[Prepared]) -> list[int]:
        numbers = [number for (number,) in self._rows("new_numbers", count=len(documents))]
        rows = [
            msgspec.to_builtins(each.document)
            | {"id": number, "site": each.site, "hash": each.digest.hex(), "words": each.words}
            for number, each in zip(numbers, documents, strict=True)
        ]
        shown = {"owner": self._owner, "shared": self._shared}
        self._rows("put_documents", session=session, rows=Jsonb(rows), **shown)
        return numbers

    def _put_chunks(self, chunks: Sequence[tuple[int, Prepared, Chunk]]) -> None:
        fields = [(each.document.title, chunk.text, each.document.context) for _, each, chunk in chunks]
        vectors, lengths = zip(*self._lexemes.vectors(fields), strict=True)
        self._rows(
            "put_chunks",
            documents=[number for number, *_ in chunks],
            starts=[chunk.start for *_, chunk in chunks],
            ends=[chunk.end for *_, chunk in chunks],
            texts=[chunk.text for *_, chunk in chunks],
            vectors=[*vectors],
            lengths=[*lengths],
            shared=self._shared,
        )

    def _remove_some(self, documents: Sequence[int]) -> bool:
        self._rows("remove_documents", ids=[*documents])
        return False

    def _scrub(self) -> bool:
        """Have the server reuse the space of removed rows; only the owner of the tables may do that."""
        with suppress(psycopg.errors.InsufficientPrivilege), self._link.using() as db:
            if db.execute("SELECT is_worker()").fetchone() == (True,):
                db.execute(_VACUUM)
        return True

    def _share(self, number: int, origin: Origin) -> None:
        """Have the rows of a session of the team seen by those who may see the session now."""
        owner = origin.owner or self._owner
        if (owner, origin.shared) != (self._owner, self._shared):
            self._owner, self._shared = owner, origin.shared
            for name in ("share_session", "share_documents", "share_chunks"):
                self._rows(name, session=number, owner=owner, shared=origin.shared)


class ForgottenRows:
    """The tombstones that hold for what is a role's: those of what it forgot itself, and of what workers did.

    A worker, which sees what all forgot, must not apply that to what is another's: `owner` is the role whose documents
    it stores, by default its own.
    """

    def __init__(self, link: Link, owner: str | None = None) -> None:
        self.tombstones = Tombstones()
        self._link = link
        self._owner = owner
        self._last = 0

    def refresh(self) -> bool:
        """Read what was added; returns whether there was anything."""
        with self._link.using() as db:
            rows = _rows(db, "forgotten", {"last": self._last, "owner": self._owner})
        for number, entry, is_own in rows:
            self._last = number
            self.tombstones.add(entry.encode(), is_own=is_own)
        return bool(rows)

    def append(self, entry: ForgottenEntry) -> None:
        """Add an entry."""
        with self._link.using() as db:
            _rows(db, "forget", {"entry": msgspec.json.encode(entry).decode()})
        self.refresh()


def _foreign(folder: str) -> KnowledgeError:
    return KnowledgeError(
        f"the session {folder} is that of another role in the knowledge base: connect as that role"
    )


def _rows(db: Connection, name: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
    cursor = run(db, _STATEMENTS[name], values)
    return cursor.fetchall() if cursor.description else []
