"""Writes to the knowledge base, in short transactions that other programs can come between.

Several programs may index the same session. Each applies what it has read from the journal only if the session's cursor
is still where it began to read; otherwise another program was faster, and it reads again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Self

import msgspec

from ua_tui.core.knowledge.access import open_tables
from ua_tui.core.knowledge.index.preparing import Prepared, prepared_groups, storable
from ua_tui.core.knowledge.index.tables import Forgotten, Overtaken, Passage
from ua_tui.core.knowledge.place import KnowledgePlace, Origin
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall, KnowledgeDocument
from ua_tui.core.knowledge.removal.forgotten import ForgottenEntry

PAUSE_SECONDS = 0.01
"""How long to leave between two transactions, so that other programs can write."""
_ROWS = 200
"""Chunks that are stored by one statement, during which other threads run."""
_DOCUMENTS = 200
"""Documents that are removed at once."""


class KnowledgeStore:
    """The one writer of a program; all methods block, so call them in a thread, one at a time.

    What is on the list of what was forgotten is not stored.

    Every method raises `KnowledgeError` if the knowledge base cannot be read or written. If it is `KnowledgeEmptied`,
    the file was set aside: close the store, and open it again, which makes a new file.

    Args:
        place: where the knowledge base is.
        origins: the sessions of a team that are on this machine, by their names.
        file: a new file which is to replace the content of that at `place`.
    """

    def __init__(
        self, place: KnowledgePlace, origins: Mapping[str, Origin] | None = None, *, file: Path | None = None
    ) -> None:
        self.path = place
        self._tables = open_tables(place, origins, file)
        self._forgotten = self._tables.forgotten()
        self.identity = self._tables.identity
        self.follows_folders = self._tables.follows_folders
        try:
            with self._tables.reporting("read"):
                self._forgotten.refresh()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        self._tables.close()

    def cursors(self) -> dict[str, Cursor]:
        """The sessions by their folders, and how far the journal of each was read."""
        with self._tables.reporting("read"):
            rows = self._tables.rows("cursors")
        return {folder: Cursor(seq, place) for folder, seq, place in rows}

    def cursor(self, folder: str) -> Cursor:
        """How far the journal of a session was read."""
        with self._tables.reporting("read"):
            rows = self._tables.rows("cursor", folder=folder)
        return Cursor(*rows[0]) if rows else Cursor()

    def passages_of(self, folder: str, tool_use_id: str) -> int:
        """The number of passages that a call of a session has brought."""
        with self._tables.reporting("read"):
            return int(self._tables.rows("passages_of", folder=folder, tool_use_id=tool_use_id)[0][0])

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
        with self._tables.reporting("written"):
            batch = _Batch(folder, before, self._tables.forgotten(folder))
            prepared = chain(groups, prepared_groups(documents))
            work = self._started(batch, facts, calls, [storable(path) for path in replaced])
            group: Sequence[Prepared] | None = next(prepared, ())
            try:
                while group is not None:
                    following = next(prepared, None)
                    self._run(
                        chain(work, self._stored(batch, group, after if following is None else None)), batch
                    )
                    work, group = iter(()), following
            except Overtaken:
                return False
        return True

    def remove_session(self, folder: str) -> None:
        """Remove everything of a session; a program that is killed meanwhile leaves it to be indexed again."""
        with self._tables.reporting("written"):
            self._run(self._session_removed(folder))

    def remove_deleted(self, folder: str) -> bool:
        """Remove everything of a session whose folder was deleted; returns False for one of a team, which stays."""
        with self._tables.reporting("written"):
            if self._tables.rows("is_shared", folder=folder):
                return False
            self._run(self._session_removed(folder))
        return True

    def add_forgotten(self, entry: ForgottenEntry) -> None:
        """Put something on the list of what was forgotten; `finish_forgetting` removes it."""
        with self._tables.reporting("written"):
            self._forgotten.append(entry)

    def finish_forgetting(self) -> bool:
        """Remove what was put on the list since the last time; returns whether no byte of it is left in the file."""
        with self._tables.reporting("written"):
            self._forgotten.refresh()
            pending = self._forgotten.tombstones.pending
            if pending:
                self._remove_forgotten()
                if not self._tables.scrub():
                    return False
            for entry in pending:
                self._forgotten.append(ForgottenEntry(id=entry.id, done=True))
        return True

    def remove_forgotten(self) -> None:
        """Remove everything on the list."""
        with self._tables.reporting("written"):
            self._forgotten.refresh()
            if self._remove_forgotten():
                self._tables.scrub()

    # -- vectors

    def last_passage(self) -> int:
        """The number of the newest passage; 0 if there is none."""
        with self._tables.reporting("read"):
            return int(self._tables.rows("last_passage")[0][0])

    def passages_without(self, model: str, *, above: int, up_to: int, limit: int) -> list[Passage]:
        """Find passages without a vector of the model, what was found last first, with numbers in this range."""
        with self._tables.reporting("read"):
            rows = self._tables.rows("passages_without", model=model, above=above, up_to=up_to, limit=limit)
        return [Passage(*row) for row in rows]

    def put_vectors(self, model: str, passages: Sequence[Passage], vectors: Sequence[bytes]) -> None:
        """Store the vectors of passages; those that were removed or replaced meanwhile are left out."""
        with self._tables.reporting("written"), self._tables.transaction():
            for each, vector in zip(passages, vectors, strict=True):
                self._tables.rows("put_vector", model=model, vector=vector, chunk=each.chunk, text=each.text)

    # -- what is done in transactions: each of these may be ended after a `yield`

    def _run(self, work: Iterator[None], batch: _Batch | None = None) -> None:
        """Do work in one transaction, or in several ones between which other programs can write."""
        is_left = True
        while is_left:
            with self._tables.transaction():
                if batch is not None:
                    # Whoever forgets something adds it to the list first, and removes it in a transaction.
                    batch.forgotten.refresh()
                    batch.number = self._tables.session(batch.folder, batch.before, is_new=not batch.number)
                is_left = any(self._tables.is_due() for _ in work)
            if is_left:
                time.sleep(PAUSE_SECONDS)

    def _started(
        self, batch: _Batch, facts: Facts | None, calls: Sequence[IndexedCall], replaced: Sequence[str]
    ) -> Iterator[None]:
        """Store what is known of the session and of calls, and remove the documents of files."""
        known = batch.forgotten.tombstones
        if known.has_session(batch.folder):
            return
        if facts is not None:
            title = storable(facts.title)
            title = "" if known.has_title(batch.folder, title) else title
            self._tables.rows(
                "put_facts", session=batch.number, **msgspec.structs.asdict(facts) | {"title": title}
            )
        for call in calls:
            self._tables.rows("put_call", session=batch.number, **msgspec.structs.asdict(call))
        if replaced:
            yield from self._removed("documents_in", session=batch.number, paths=replaced)

    def _stored(self, batch: _Batch, group: Sequence[Prepared], after: Cursor | None) -> Iterator[None]:
        """Store documents, but no forgotten ones; those in their places are removed."""
        # Of two documents in the same place the last one stays.
        documents = [*{each.place: each for each in group if not batch.has_forgotten(each)}.values()]
        if documents:
            places = [each.place for each in documents]
            yield from self._removed("documents_at", session=batch.number, places=places)
            numbers = self._tables.put_documents(batch.number, [*map(batch.without_forgotten, documents)])
            chunks = (
                (number, each, chunk)
                for number, each in zip(numbers, documents, strict=True)
                for chunk in each.chunks
            )
            rows = [*islice(chunks, _ROWS)]
            while rows:
                self._tables.put_chunks(rows)
                rows = [*islice(chunks, _ROWS)]
                if rows:
                    yield
        if after is not None:
            self._tables.rows("put_cursor", session=batch.number, seq=after.seq, place=after.place)

    def _session_removed(self, folder: str) -> Iterator[None]:
        self._tables.rows("restart", folder=folder)
        yield from self._removed("documents_of", folder=folder)
        self._tables.rows("drop_session", folder=folder)

    def _removed(self, query: str, **values: object) -> Iterator[None]:
        """Remove the documents that a query finds, until it finds none; another program may add some meanwhile."""
        while found := self._tables.rows(query, **values):
            documents = [number for (number,) in found]
            while self._tables.remove_some(documents):
                yield

    def _remove_forgotten(self) -> bool:
        """Remove everything on the list; returns whether there were documents of it."""
        known = self._forgotten.tombstones
        if not len(known):
            return False
        found = [
            number for number, *place in self._tables.rows("all_documents") if known.has_document(*place)
        ]
        for at in range(0, len(found), _DOCUMENTS):
            self._run(self._removed("documents_among", ids=found[at : at + _DOCUMENTS]))
        gone = [folder for folder in self.cursors() if known.has_session(folder)]
        titles = self._tables.rows("titles")
        untitled = [folder for folder, title in titles if known.has_title(folder, title)]
        sources = [source for source, url in self._tables.rows("sources") if known.has_source(url)]
        with self._tables.transaction():
            self._tables.rows("remove_titles", folders=[*untitled, *gone])
            for name in ("remove_times", "remove_calls"):
                self._tables.rows(name, folders=gone)
            for name in ("remove_links", "remove_sources"):
                self._tables.rows(name, sources=sources)
        return bool(found)


class _Batch:
    """What one `apply` stores: the session, and the list of what must not be stored of it."""

    def __init__(self, folder: str, before: Cursor, forgotten: Forgotten) -> None:
        self.folder = folder
        self.before = before
        self.forgotten = forgotten
        self.number = 0

    def has_forgotten(self, each: Prepared) -> bool:
        """Whether a document is on the list."""
        url = each.document.url
        return self.forgotten.tombstones.has_document(self.folder, *each.place, url, each.digest)

    def without_forgotten(self, each: Prepared) -> Prepared:
        """The document without links to forgotten addresses."""
        known = self.forgotten.tombstones
        cites = tuple(url for url in each.document.cites if not known.has_source(url))
        if cites == each.document.cites:
            return each
        return msgspec.structs.replace(each, document=msgspec.structs.replace(each.document, cites=cites))
