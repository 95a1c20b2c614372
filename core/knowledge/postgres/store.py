"""Writes to the knowledge base of a team, as `ua_tui.core.knowledge.index.store` writes to a file.

Several machines may index a session one after the other. Each applies what it has read from the journal only if the
session's cursor is still where it began to read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Self

import msgspec
import psycopg

from ua_tui.core.knowledge.index.batch import Overtaken
from ua_tui.core.knowledge.index.preparing import Prepared, prepared_groups
from ua_tui.core.knowledge.place import Origin
from ua_tui.core.knowledge.postgres.connection import Link, reporting
from ua_tui.core.knowledge.postgres.lexemes import Lexemes
from ua_tui.core.knowledge.postgres.rows import RowBatch, remove_documents
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall, KnowledgeDocument
from ua_tui.core.knowledge.removal.forgotten import ForgottenEntry, ForgottenList, traces_of
from ua_tui.core.postgres.address import Address

_DOCUMENTS = 500
_PATIENCE = 20.0
"""Seconds to wait while other programs add up the counts of words."""
_TABLES = ("k_document", "k_chunk", "k_call", "k_citation", "k_vector", "k_session", "k_term", "k_count")


class PostgresStore:
    """The one writer of a program; all methods block, so call them in a thread, one at a time.

    What is on the list of what was forgotten is not stored. Every method raises `KnowledgeError` if the database cannot
    be used; the next call connects again.

    Args:
        address: the database of the team.
        origins: the sessions of the team that are on this machine, by their names; others are not of the team.
    """

    follows_folders = False
    """A folder that is missing here says nothing: the session may have moved to another machine."""

    def __init__(self, address: Address, origins: Mapping[str, Origin] | None = None) -> None:
        self.path = address
        self._origins = origins or {}
        self._link = Link(address)
        self._lexemes = Lexemes()
        self._forgotten = ForgottenRows(self._link)
        self._forgotten_of: dict[str, ForgottenRows] = {}
        self._removed: set[str] = set()
        with reporting(address):
            self._forgotten.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._link.close()
        self._lexemes.close()

    def cursors(self) -> dict[str, Cursor]:
        """The sessions by their names, and how far the journal of each was read."""
        rows = self._link.read(lambda db: db.execute("SELECT name, seq, place FROM k_session").fetchall())
        return {name: Cursor(seq, place) for name, seq, place in rows}

    def cursor(self, folder: str) -> Cursor:
        """How far the journal of a session was read, here or on another machine."""
        row = self._link.read(
            lambda db: db.execute(
                "SELECT seq, place FROM k_session WHERE team = %s OR name = %s ORDER BY team NULLS LAST LIMIT 1",
                (self._team(folder), folder),
            ).fetchone()
        )
        return Cursor() if row is None else Cursor(*row)

    def passages_of(self, folder: str, tool_use_id: str) -> int:
        """The number of passages that a call of a session has brought."""
        row = self._link.read(
            lambda db: db.execute(
                "SELECT count(*) FROM k_session s JOIN k_call k ON k.session = s.id JOIN k_document d ON d.call = k.id"
                " JOIN k_chunk c ON c.document = d.id WHERE s.name = %s AND k.tool_use_id = %s",
                (folder, tool_use_id),
            ).fetchone()
        )
        return int(row[0]) if row else 0

    def apply(
        self,
        folder: str,
        before: Cursor,
        after: Cursor,
        *,
        facts: Facts | None = None,
        calls: Sequence[IndexedCall] = (),
        documents: Iterable[KnowledgeDocument] = (),
        groups: Iterable[Sequence[Prepared]] = (),
        replaced: Iterable[str] = (),
    ) -> bool:
        """Store what was read from a session's journal between two cursors; see `KnowledgeStore.apply`.

        Returns:
            Whether it was stored; False if another program moved the cursor.
        """
        with reporting(self.path):
            origin = self._origins.get(folder)
            forgotten = self._forgotten_for(origin)
            batch = RowBatch(self._link.db, self._lexemes, forgotten, folder, before, origin)
            prepared = chain(groups, prepared_groups(documents))
            group: Sequence[Prepared] | None = next(prepared, [])
            is_first = True
            try:
                while group is not None:
                    following = next(prepared, None)
                    rows = batch.rows_of(group)
                    with batch:
                        if is_first:
                            batch.start(facts, calls, replaced)
                        batch.put(rows)
                        if following is None:
                            batch.move_cursor(after)
                    group, is_first = following, False
            except Overtaken:
                return False
            if not is_first:
                self._link.db.execute("SELECT k_fold()")
        return True

    def remove_session(self, folder: str) -> None:
        """Remove everything of a session; a program that is killed meanwhile leaves it to be indexed again."""
        with reporting(self.path):
            db = self._link.db
            db.execute("UPDATE k_session SET seq = 0, place = 0 WHERE name = %s", (folder,))
            self._erase("session IN (SELECT id FROM k_session WHERE name = %s)", (folder,))
            db.execute("DELETE FROM k_session WHERE name = %s", (folder,))
            self._fold()

    def remove_deleted(self, folder: str) -> None:
        """Remove everything of a session whose folder was deleted; one of the team stays."""
        row = self._link.read(
            lambda db: db.execute("SELECT team FROM k_session WHERE name = %s", (folder,)).fetchone()
        )
        if row is not None and row[0] is None:
            self.remove_session(folder)

    def add_forgotten(self, entry: ForgottenEntry) -> None:
        """Put something on the list of what was forgotten; `finish_forgetting` removes it."""
        with reporting(self.path):
            self._forgotten.append(entry)

    def finish_forgetting(self) -> bool:
        """Remove what this role forgot since the last time; returns whether its space was given back to the server."""
        with reporting(self.path):
            self._forgotten.refresh()
            pending = self._forgotten.pending
            if not pending:
                return True
            self._remove_forgotten()
            is_clean = self._vacuum()
            for entry in pending:
                self._forgotten.append(ForgottenEntry(id=entry.id, done=True))
        return is_clean

    def remove_forgotten(self) -> None:
        """Remove everything on the list."""
        with reporting(self.path):
            self._forgotten.refresh()
            if self._remove_forgotten():
                self._vacuum()

    def remove_folder(self, folder: str) -> None:
        """Remove what was indexed of the files in a folder of all sessions; once, as it reads all documents."""
        if folder not in self._removed:
            with reporting(self.path):
                self._erase("starts_with(path, %s)", (f"{folder}/",))
            self._removed.add(folder)

    def _forgotten_for(self, origin: Origin | None) -> ForgottenRows:
        """What must not be stored of a session: it depends on whose it is."""
        if origin is None or origin.owner is None:
            return self._forgotten
        if origin.owner not in self._forgotten_of:
            self._forgotten_of[origin.owner] = ForgottenRows(self._link, origin.owner)
        return self._forgotten_of[origin.owner]

    def _team(self, folder: str) -> str | None:
        origin = self._origins.get(folder)
        return None if origin is None else origin.id

    def _erase(self, condition: str, values: Sequence[object]) -> int:
        """Remove the documents for which a condition holds and which this role may remove; returns how many."""
        count = 0
        db = self._link.db
        while True:
            with db.transaction():
                ids = [
                    number
                    for (number,) in db.execute(
                        f"SELECT id FROM k_document WHERE ({condition})"  # noqa: S608 -- made of constants
                        f" AND (owner = current_user OR is_worker()) LIMIT {_DOCUMENTS}".encode(),
                        values,
                    )
                ]
                remove_documents(db, ids)
            count += len(ids)
            if len(ids) < _DOCUMENTS:
                return count

    def _remove_forgotten(self) -> bool:
        """Remove everything on the list; returns whether there were documents of it."""
        if not len(self._forgotten):
            return False
        db = self._link.db
        rows = db.execute(
            "SELECT d.id, s.name, d.path, d.part, d.url, d.hash FROM k_document d JOIN k_session s ON s.id = d.session"
        )
        found = [
            number
            for number, name, path, part, url, digest in rows
            if self._forgotten.has(traces_of(name, path, part, url, bytes(digest)))
        ]
        count = sum(
            self._erase("id = ANY(%s)", (found[at : at + _DOCUMENTS],))
            for at in range(0, len(found), _DOCUMENTS)
        )
        self._remove_forgotten_names()
        self._fold()
        return bool(count)

    def _remove_forgotten_names(self) -> None:
        """Remove titles and calls of forgotten sessions, forgotten titles, and forgotten addresses in reports."""
        db = self._link.db
        sessions = db.execute("SELECT id, name, title FROM k_session").fetchall()
        titles = [number for number, _, title in sessions if title and self._forgotten.has_title(title)]
        gone = [number for number, name, _ in sessions if self._forgotten.has_session(name)]
        cited = db.execute("SELECT DISTINCT url FROM k_citation").fetchall()
        urls = [url for (url,) in cited if self._forgotten.has_source(url)]
        with db.transaction():
            db.execute("UPDATE k_session SET title = '' WHERE id = ANY(%s)", (titles,))
            db.execute("UPDATE k_session SET title = '', started = NULL WHERE id = ANY(%s)", (gone,))
            db.execute("DELETE FROM k_call WHERE session = ANY(%s)", (gone,))
            db.execute("DELETE FROM k_citation WHERE url = ANY(%s)", (urls,))

    def _fold(self) -> None:
        """Add up the counts of words, so that none is left that only removed chunks had."""
        until = time.monotonic() + _PATIENCE
        while True:
            row = self._link.db.execute("SELECT k_fold()").fetchone()
            if (row is not None and row[0]) or time.monotonic() > until:
                return
            time.sleep(0.02)

    def _vacuum(self) -> bool:
        """Have the server reuse the space of removed rows; only the owner of the tables may do that."""
        db = self._link.db
        row = db.execute("SELECT is_worker()").fetchone()
        if row is None or not row[0]:
            return False
        with suppress(psycopg.errors.InsufficientPrivilege):
            db.execute(f"VACUUM (ANALYZE) {', '.join(_TABLES)}".encode())
            return True
        return False


_NEW = (
    "SELECT id, entry, owner = current_user OR is_worker() FROM k_forgotten"
    " WHERE id > %s AND (everyone OR owner = coalesce(%s, current_user)) ORDER BY id"
)


class ForgottenRows(ForgottenList):
    """The hashes that hold for what is a role's: those of what it forgot itself, and of what workers did.

    A worker, which sees what all forgot, must not apply that to what is another's: `owner` is the role whose documents
    it stores, by default its own.
    """

    def __init__(self, link: Link, owner: str | None = None) -> None:
        super().__init__(Path("k_forgotten"))
        self._link = link
        self._owner = owner
        self._last = 0
        self._own: set[str] = set()

    @property
    def pending(self) -> list[ForgottenEntry]:
        """What this role may remove, and what may still be there."""
        return [entry for entry in super().pending if entry.id in self._own]

    def refresh(self) -> bool:
        """Read what was added; returns whether there was anything."""
        last, before = self._last, len(self)
        rows = self._link.db.execute(_NEW, (last, self._owner)).fetchall()
        for number, entry, is_own in rows:
            self._last = number
            self._add(entry.encode())
            if is_own:
                self._own.add(msgspec.json.decode(entry, type=ForgottenEntry).id)
        return self._last > last or len(self) > before

    def append(self, entry: ForgottenEntry) -> None:
        """Add an entry."""
        self._link.db.execute(
            "INSERT INTO k_forgotten (entry) VALUES (%s)", (msgspec.json.encode(entry).decode(),)
        )
        self.refresh()
