"""Writes to the knowledge base, in short transactions that other programs can come between.

Several programs may index the same session. Each applies what it has read from the journal only if the session's cursor
is still where it began to read; otherwise another program was faster, and it reads again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Self

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.batch import BatchPace, Index, IndexBatch, Overtaken, as_json
from ua_tui.core.knowledge.index.database import close_writer, open_writer, remove_damaged, set_bulk
from ua_tui.core.knowledge.index.preparing import Prepared, prepared_groups
from ua_tui.core.knowledge.problems import explain
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall, KnowledgeDocument
from ua_tui.core.knowledge.removal.erasing import erase, remove_some, scrub
from ua_tui.core.knowledge.removal.forgotten import ForgottenEntry, ForgottenList, traces_of
from ua_tui.core.storage.sqlite import DAMAGED, identity, primary_code, transaction

_BULK_SECONDS = 1.0
"""How long a transaction lasts in a file that nobody else uses: each adds a part to the index, to be merged later."""


class KnowledgeStore:
    """The one writer of a program; all methods block, so call them in a thread, one at a time.

    What is on the list of what was forgotten is not stored.

    Every method raises `KnowledgeError` if the file cannot be read or written. If it is `KnowledgeDamaged`, the file
    was set aside: close the store, and open it again, which makes a new file.
    """

    follows_folders = True
    """A session whose folder is gone is removed."""

    def __init__(self, path: Path, *, file: Path | None = None) -> None:
        """Open the file of the knowledge base at `path`, or `file`, which is to replace its content."""
        self.path = path
        self._file = path if file is None else file
        self._forgotten = ForgottenList(path)
        self._db = open_writer(self._file)
        self._identity = identity(self._file)
        self._pace = BatchPace(least=0.0 if file is None else _BULK_SECONDS)
        self._index = Index(self._db, is_late=file is not None)
        try:
            if file is not None:
                set_bulk(self._db)
            self._forgotten.refresh()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._end_transaction()
        self._index.close()
        close_writer(self._file, self._db, self._identity)

    def cursors(self) -> dict[str, Cursor]:
        """The sessions by their folders, and how far the journal of each was read."""
        with self._reporting("read"):
            rows = self._db.execute("SELECT folder, seq, place FROM session").fetchall()
        return {folder: Cursor(seq, place) for folder, seq, place in rows}

    def cursor(self, folder: str) -> Cursor:
        """How far the journal of a session was read."""
        with self._reporting("read"):
            row = self._db.execute("SELECT seq, place FROM session WHERE folder = ?", (folder,)).fetchone()
        return Cursor() if row is None else Cursor(*row)

    def passages_of(self, folder: str, tool_use_id: str) -> int:
        """The number of passages that a call of a session has brought."""
        with self._reporting("read"):
            (count,) = self._db.execute(
                "SELECT count(*) FROM session JOIN call ON call.session = session.id"
                " JOIN document ON document.call = call.id JOIN chunk ON chunk.document = document.id"
                " WHERE session.folder = ? AND call.tool_use_id = ?",
                (folder, tool_use_id),
            ).fetchone()
        return int(count)

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
        """Store what was read from a session's journal between two cursors.

        It may take several transactions; the cursor moves with the last one, and what a killed program stored before
        is replaced by the next try. Documents are asked for outside of transactions. Of a forgotten session only the
        cursor is stored.

        Args:
            folder: the session's folder, relative to that of the sessions or absolute.
            before: the cursor at which the reading began.
            after: the cursor at which it ended.
            facts: what is known of the session now; None leaves it as it is.
            calls: calls that began or ended.
            documents: new documents; one with the path and the part of an earlier one replaces it.
            groups: the same, prepared already.
            replaced: files that were read again: all of their earlier documents are removed.

        Returns:
            Whether it was stored; False if another program moved the cursor.
        """
        with self._reporting("written"):
            self._index.start()
            batch = IndexBatch(
                self._db, self._index, self._forgotten, self._check_file, self._pace, folder, before
            )
            prepared = chain(groups, prepared_groups(documents))
            group: Sequence[Prepared] | None = next(prepared, [])
            is_first = True
            try:
                while group is not None:
                    following = next(prepared, None)
                    self._index.finish()
                    with batch:
                        if is_first:
                            batch.start(facts, calls, replaced)
                        batch.put(group)
                        if following is None:
                            batch.move_cursor(after)
                    if following is not None:
                        self._index.start()
                    group, is_first = following, False
            except Overtaken:
                return False
        return True

    def remove_session(self, folder: str) -> None:
        """Remove everything of a session; a program that is killed meanwhile leaves it to be indexed again."""
        condition = "session IN (SELECT id FROM session WHERE folder = ?)"
        with self._reporting("written"):
            self._end_transaction()
            self._check_file()
            with transaction(self._db):
                self._db.execute("UPDATE session SET seq = 0, place = 0 WHERE folder = ?", (folder,))
            is_left = True
            while is_left:
                erase(self._db, condition, (folder,))
                with transaction(self._db):
                    # Another program may have added something meanwhile.
                    is_left = remove_some(self._db, condition, (folder,))
                    if not is_left:
                        self._db.execute("DELETE FROM session WHERE folder = ?", (folder,))

    def add_forgotten(self, entry: ForgottenEntry) -> None:
        """Put something on the list of what was forgotten; `finish_forgetting` removes it."""
        self._forgotten.append(entry)

    def finish_forgetting(self) -> bool:
        """Remove what was put on the list since the last time; returns whether no byte of it is left in the file."""
        self._forgotten.refresh()
        pending = self._forgotten.pending
        if not pending:
            return True
        with self._reporting("written"):
            self._remove_forgotten()
            if not scrub(self._db):
                return False
        for entry in pending:
            self._forgotten.append(ForgottenEntry(id=entry.id, done=True))
        return True

    def remove_forgotten(self) -> None:
        """Remove everything on the list from the file."""
        self._forgotten.refresh()
        with self._reporting("written"):
            if self._remove_forgotten():
                scrub(self._db)

    def remove_folder(self, folder: str) -> None:
        """Remove what was indexed of the files in a folder of all sessions."""
        with self._reporting("written"):
            self._end_transaction()
            self._check_file()
            erase(self._db, "path GLOB ?", (f"{folder}/*",))

    def number_from(self, number: int) -> None:
        """Give documents numbers from this one on, in a file that has none yet."""
        with self._reporting("written"), transaction(self._db):
            self._db.execute("INSERT INTO sqlite_sequence(name, seq) VALUES ('document', ?)", (number,))

    def _remove_forgotten(self) -> bool:
        """Remove everything on the list; returns whether there were documents of it."""
        self._end_transaction()
        if not len(self._forgotten):
            return False
        self._check_file()
        found = self._forgotten_documents()
        for at in range(0, len(found), 500):
            ids = as_json(found[at : at + 500])
            erase(self._db, "id IN (SELECT value FROM json_each(?))", (ids,))
        self._remove_forgotten_names()
        return bool(found)

    def _forgotten_documents(self) -> list[int]:
        rows = self._db.execute(
            "SELECT document.id, session.folder, document.path, document.part, coalesce(source.url, ''), body.hash"
            " FROM document JOIN session ON session.id = document.session JOIN body ON body.id = document.body"
            " LEFT JOIN source ON source.id = document.source"
        )
        return [
            number
            for number, folder, path, part, url, digest in rows
            if self._forgotten.has(traces_of(folder, path, part, url, digest))
        ]

    def _remove_forgotten_names(self) -> None:
        """Remove titles and calls of forgotten sessions, forgotten titles, and forgotten addresses in reports."""
        sessions = [
            number
            for number, folder in self._db.execute("SELECT id, folder FROM session").fetchall()
            if self._forgotten.has_session(folder)
        ]
        sources = [
            number
            for number, url in self._db.execute("SELECT id, url FROM source").fetchall()
            if self._forgotten.has_source(url)
        ]
        titles = [
            number
            for number, title in self._db.execute("SELECT id, title FROM session").fetchall()
            if self._forgotten.has_title(title)
        ]
        with transaction(self._db):
            self._db.execute(
                "UPDATE session SET title = '' WHERE id IN (SELECT value FROM json_each(?))",
                (as_json(titles),),
            )
            self._db.execute(
                "UPDATE session SET title = '', started = NULL WHERE id IN (SELECT value FROM json_each(?))",
                (as_json(sessions),),
            )
            for statement, ids in (
                ("DELETE FROM call WHERE session IN (SELECT value FROM json_each(?))", sessions),
                ("DELETE FROM citation WHERE source IN (SELECT value FROM json_each(?))", sources),
                ("DELETE FROM source WHERE id IN (SELECT value FROM json_each(?))", sources),
            ):
                self._db.execute(statement, (as_json(ids),))

    def _end_transaction(self) -> None:
        """End the transaction that was left open for further documents."""
        self._index.start()
        self._index.finish()
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def _check_file(self) -> None:
        """Check that the open file is still the one of its name, within a transaction or before."""
        if identity(self._file) != self._identity:
            raise KnowledgeError(f"the knowledge base {self.path} was replaced by another program")

    @contextmanager
    def _reporting(self, action: str) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) and primary_code(error) in DAMAGED:
                raise remove_damaged(self._file, self._db, self._identity, error) from error
            raise explain(self.path, action, error) from error
