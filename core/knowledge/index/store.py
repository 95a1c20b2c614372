"""Reads the knowledge base for the search, and writes to it in short transactions that other programs can come between.

Several programs may index the same session. Each applies what it has read from the journal, in one transaction, only if
the session's cursor is still where it began to read; otherwise another program was faster, and it reads again.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.json_values import table_of
from ua_tui.core.knowledge.forgotten import ForgottenEntry, Tombstones, session_tombstone, title_tombstone
from ua_tui.core.knowledge.index.chunks import Chunk, body_hash, split_chunks, storable
from ua_tui.core.knowledge.place import KnowledgePlace
from ua_tui.core.knowledge.records import Batch, Cursor, KnowledgeDocument
from ua_tui.core.knowledge.search.candidates import MOST_CANDIDATES, Ask, Deadline, Filters, Found, Term
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.storage.sqlite import PAUSE_SECONDS

_DOCUMENTS = 40
"""Documents that are removed in one transaction, for which other programs wait."""

_AMONG = re.compile(r"IN \(:(\w+)\)")
_PARAMETER = re.compile(r"(?<![\w:]):(\w+)")

Prepared = tuple[dict[str, Any], list[Chunk]]
"""The row of a document, with its number once it has one, and its chunks, of which there is at least one."""


class KnowledgeStore(ABC):
    """A knowledge base that is read and written; all methods block, so call them in a thread, one at a time.

    What is on the list of what was forgotten is not stored. One that is `read_only` is opened when it is first read.
    What the search asks is asked within `reading`. Other statements of one row or another are run with `rows`.

    Every method raises `KnowledgeError` if the knowledge base cannot be read or written. If it is `KnowledgeEmptied`,
    the file was set aside: close the store, and open it again, which makes a new file.

    Attributes:
        statements: the SQL of this database by names.
        path: where the knowledge base is.
        is_own: whether the user's own program made it; what another one says about who wrote a text does not count.
        follows_folders: whether a session is removed when its folder is gone. In the database of a team it may have
            moved to another machine.
    """

    statements: Mapping[str, Any]
    path: KnowledgePlace
    is_own = True
    follows_folders: bool

    def __init__(self, *, read_only: bool) -> None:
        """Read the list of what was forgotten, without which nothing may be stored; called when all else is set."""
        if read_only:
            return
        try:
            self.forgotten_of().refresh()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- what differs between databases, for the search

    @abstractmethod
    def reading(self) -> AbstractContextManager[Sequence[str] | None]:
        """Have all calls in the block see the same rows, where that is possible.

        Gives notices about the knowledge base, such as that it is somebody else's; None if there is none yet.
        """

    @abstractmethod
    def execute(
        self, statement: str, values: Mapping[str, object]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement; gives the names of the columns, and the rows."""

    @abstractmethod
    def expression(self, term: Term) -> str:
        """A term in the language of this database's full-text index."""

    @abstractmethod
    def counts(self, words: Collection[tuple[str, bool]]) -> tuple[int, Mapping[tuple[str, bool], int]]:
        """Count all passages, and those that have each word, or one that begins so."""

    @abstractmethod
    def candidates(self, ask: Ask, deadline: Deadline) -> tuple[list[Found], bool]:
        """Find the best passages by the database's own relevance, at most `MOST_CANDIDATES`, in any order.

        Without `any_of` and `all_of` they are the first passages of the newest documents.

        Returns:
            The passages, and whether it was stopped before it had seen all: then they are those that it has.
        """

    @abstractmethod
    def close(self) -> None:
        """Close it; the next call opens it again."""

    # -- and to write

    @abstractmethod
    def forgotten_of(self, folder: str = "") -> Tombstones:
        """The list of what was forgotten that holds for a session, or for everything that is removed here."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """Run the block in one transaction that may write; an exception undoes it."""

    @abstractmethod
    def _session(self, folder: str, before: Cursor) -> int | None:
        """Find the number of a session, and keep others from changing it in the transaction.

        It is made if there is none and its journal is read from the beginning. None if its cursor is not `before`.
        """

    @abstractmethod
    def _put_chunks(self, chunks: Sequence[tuple[dict[str, Any], Chunk]]) -> None:
        """Add chunks of documents that were put."""

    @abstractmethod
    def scrub(self) -> bool:
        """Remove what is left of removed texts, and free space, for which other programs wait.

        Returns:
            Whether nothing is left; False if another program still reads what was removed: try again later.
        """

    # -- what the search asks

    def counted(self, terms: Sequence[Term]) -> tuple[int, list[Term]]:
        """How many passages there are, and the terms with the passages that have the rarest word of each choice."""
        words = {word for term in terms for choice in term.words() for word in choice}
        total, of = self.counts(words)
        return total, [
            msgspec.structs.replace(
                term, passages=sum(min(map(of.__getitem__, each)) for each in term.words())
            )
            for term in terms
        ]

    def passages(self, chunks: Sequence[int]) -> list[Found]:
        """The passages with these numbers, in any order; a number that is not there is left out."""
        return [Found(**row) for row in self.records("passages", ids=[*chunks])]

    def rows(self, name: str, where: Filters = (), **values: object) -> list[Any]:
        """Run one of the statements, with conditions."""
        return self.execute(*self.statement(name, where, values))[1]

    def statement(
        self, name: str, where: Filters, values: Mapping[str, object], **parts: str
    ) -> tuple[str, dict[str, object]]:
        """The text of a statement with conditions and other parts, and all its values."""
        given = {**values}
        clauses = []
        for condition, choices in where:
            around, each = self.statements["where"][condition]
            written = []
            for choice in choices:
                key = f"v{len(given)}"
                given[key] = self.expression(choice) if isinstance(choice, Term) else choice
                written.append(each.format(self.statements["parameter"].format(key)))
            clauses.append(around.format(" OR ".join(written)))
        text = self.statements[name]
        for part, replacement in parts.items():
            text = text.replace(f"{{{part}}}", replacement)
        return text.replace("{where}", "".join(f" AND ({clause})" for clause in clauses)), given

    def records(self, name: str, where: Filters = (), **values: object) -> Iterator[dict[str, Any]]:
        """Run one of the statements, with conditions; gives its rows as keyword arguments of a record."""
        return self.as_records(*self.execute(*self.statement(name, where, values)))

    def as_records(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
        """Give rows as keyword arguments of a record."""
        for row in rows:
            found = dict(zip(columns, row, strict=True))
            found |= {key: bool(found[key]) for key in ("demo", "partial") if key in found}
            found |= {"hash": found["hash"].hex()} if "hash" in found else {}
            yield found if self.is_own or "trust" not in found else found | {"trust": "unknown"}

    # -- reading and writing

    def cursors(self) -> dict[str, Cursor]:
        """The sessions by their folders, and how far the journal of each was read."""
        return {folder: Cursor(seq, place) for folder, seq, place in self.rows("cursors")}

    def cursor(self, folder: str) -> Cursor:
        """How far the journal of a session was read."""
        rows = self.rows("cursor", folder=folder)
        return Cursor(*rows[0]) if rows else Cursor()

    def apply(self, folder: str, before: Cursor, batch: Batch) -> bool:
        """Store what was read from a session's journal from the cursor `before` on, with the new cursor.

        Documents are asked for before the transaction. Of a forgotten session only the cursor is stored.

        Returns:
            Whether it was stored; False if another program moved the cursor.
        """
        # Of two documents in the same place the last one stays.
        given = {(each[0]["path"], each[0]["part"]): each for each in map(_prepared, batch.documents)}
        known = self.forgotten_of(folder)
        with self._transaction():
            # Whoever forgets something adds it to the list first, and removes it in a transaction.
            known.refresh()
            session = self._session(folder, before)
            if session is None:
                return False
            if session_tombstone(folder) not in known:
                self._put(session, folder, batch, given, known)
            self.rows("put_cursor", session=session, seq=batch.after.seq, place=batch.after.place)
        return True

    def remove_session(self, folder: str) -> None:
        """Remove everything of a session; a program that is killed meanwhile leaves it to be indexed again."""
        is_left = True
        while is_left:
            with self._transaction():
                self.rows("restart", folder=folder)
                is_left = self._remove("documents_of", folder=folder)
                if not is_left:
                    self.rows("drop_session", folder=folder)
            time.sleep(PAUSE_SECONDS)

    def finish_forgetting(self) -> bool:
        """Remove what was put on the list since the last time; returns whether no byte of it is left in the file."""
        known = self.forgotten_of()
        known.refresh()
        pending = known.pending
        if pending:
            self._remove_forgotten(known)
            if not self.scrub():
                return False
        for entry in pending:
            known.append(ForgottenEntry(id=entry.id, done=True))
        return True

    # -- vectors

    def put_vectors(
        self, model: str, passages: Sequence[tuple[int, str, str]], vectors: Sequence[bytes]
    ) -> None:
        """Store the vectors of passages; those that were removed or replaced meanwhile are left out."""
        with self._transaction():
            for (chunk, _, text), vector in zip(passages, vectors, strict=True):
                self.rows("put_vector", model=model, vector=vector, chunk=chunk, text=text)

    # -- what is done in transactions

    def _put(
        self,
        session: int,
        folder: str,
        batch: Batch,
        given: Mapping[tuple[str, int], Prepared],
        known: Tombstones,
    ) -> None:
        """Store what is not forgotten; documents in the same places, and of files that were read again, are removed."""
        if batch.title is not None:
            title = storable(batch.title)
            title = "" if title_tombstone(folder) in known else title
            self.rows("put_facts", session=session, title=title, demo=batch.demo)
        for call in batch.calls:
            self.rows("put_call", session=session, **msgspec.structs.asdict(call))
        if batch.replaced:
            self._remove("documents_in", session=session, paths=[storable(path) for path in batch.replaced])
        new = {
            place: each
            for place, each in given.items()
            if not known.has_document(folder, *place, each[0]["url"])
        }
        if not new:
            return
        self._remove("documents_at", session=session, places=[*new])
        for (row, _), (number,) in zip(new.values(), self.rows("new_numbers", count=len(new)), strict=True):
            row["id"] = number
        self.rows("put_documents", session=session, rows=[row for row, _ in new.values()])
        self._put_chunks([(row, chunk) for row, chunks in new.values() for chunk in chunks])

    def _remove(self, query: str, **values: Any) -> bool:
        """Remove the documents that a query finds; returns whether it found any."""
        documents = [number for (number,) in self.rows(query, **values)]
        if documents:
            self.rows("unindex", ids=documents)
            self.rows("remove_documents", ids=documents)
        return bool(documents)

    def _remove_forgotten(self, known: Tombstones) -> None:
        """Remove everything on the list."""
        found = [number for number, *place in self.rows("all_documents") if known.has_document(*place)]
        for at in range(0, len(found), _DOCUMENTS):
            with self._transaction():
                self._remove("documents_among", ids=found[at : at + _DOCUMENTS])
            time.sleep(PAUSE_SECONDS)
        gone = [folder for folder in self.cursors() if session_tombstone(folder) in known]
        untitled = [folder for folder, _ in self.rows("titles") if title_tombstone(folder) in known]
        with self._transaction():
            self.rows("remove_titles", folders=[*untitled, *gone])
            self.rows("remove_calls", folders=gone)


def _prepared(document: KnowledgeDocument) -> Prepared:
    digest, words = body_hash(document.text)
    row = msgspec.structs.asdict(document)
    del row["text"]
    url, site = _address(document.url)
    row |= {"url": url, "site": site, "hash": digest, "words": words}
    for name in ("path", "title", "context", "author", "date"):
        row[name] = storable(row[name])
    row["tool_use_id"] = document.tool_use_id and storable(document.tool_use_id)
    # A document without a text is found by its title.
    chunks = split_chunks(document.text) if document.text.strip() else [Chunk(0, 0, "")]
    return row, [chunk._replace(text=storable(chunk.text)) for chunk in chunks]


@lru_cache(maxsize=1_000)
def _address(url: str) -> tuple[str, str]:
    """An address as it is stored, and its host; a session names most of its addresses several times."""
    if not url:
        return "", ""
    key = storable(canonical_url(url))
    try:
        return key, urlsplit(key).hostname or ""
    except ValueError:
        return key, ""


def read_statements(module: str, name: str) -> Mapping[str, Any]:
    """The statements of every database, with those of a file beside a module and in its words.

    Of a parameter `:name` and of `IN (:name)`, for a list, the file says how they are written.
    """
    own = table_of(module, name)
    every = table_of(__file__, "statements.toml")
    parts = every.pop("parts") | own.pop("parts") | {"most": str(MOST_CANDIDATES)}
    where = every.pop("where") | own.pop("where")
    every |= own

    def written(text: str) -> str:
        for part, replacement in parts.items():
            text = text.replace(f"{{{part}}}", replacement)
        text = _AMONG.sub(lambda found: parts["among"].format(found[1]), text)
        return _PARAMETER.sub(lambda found: parts["parameter"].format(found[1]), text)

    written_where = {name: [*map(written, texts)] for name, texts in where.items()}
    return {**parts, **{name: written(text) for name, text in every.items()}, "where": written_where}
