"""The database of a team as a `KnowledgeStore`: what differs from a file.

Several machines may index a session one after the other; its row is locked while something of it is stored. Row-level
security decides what a role reads. It does not apply to a worker, who may read for another role: every statement of the
search has the condition `readable`, too. PostgreSQL is given the words that the index of the file has: its own parser
and dictionaries are never used, so that both find the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from ua_tui.core.errors import KnowledgeError, TeamError
from ua_tui.core.knowledge.forgotten import ForgottenEntry, Tombstones
from ua_tui.core.knowledge.index.chunks import Chunk
from ua_tui.core.knowledge.index.store import KnowledgeStore, read_statements
from ua_tui.core.knowledge.place import Origin
from ua_tui.core.knowledge.records import Cursor
from ua_tui.core.knowledge.search.candidates import Ask, Deadline, Filters, Found, Term
from ua_tui.core.knowledge.search.tokens import Tokenizer
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import connect
from ua_tui.core.postgres.problems import describe
from ua_tui.core.postgres.schema import VERSION_QUERY, check_version

Connection = psycopg.Connection[TupleRow]
_readers: WeakKeyDictionary[Connection, str] = WeakKeyDictionary()
"""For whom the shared connections read."""
_GRACE_SECONDS = 0.02
"""The time for passages with the rarest word, if the best were not found before the deadline."""
_MOST_MATCHES = 8_000
"""Passages with the words by which they are found, taken together; more frequent words only count for the order."""
_LOOKED_AT = 5_000
"""Of these, passages that are compared with filters and phrases."""
_COMMON = 10_000
"""Passages with a word, from which on only the newest are found: they differ little."""
_LONGEST_WORD = 500
"""Characters: a word of PostgreSQL has at most 2 KiB."""
_GAP = 10
"""Places between title, text and context, which no phrase crosses."""
_VACUUM = b"VACUUM (ANALYZE) k_document, k_chunk, k_call, k_vector, k_session"


class PostgresStore(KnowledgeStore):
    """A `KnowledgeStore` of a database; the next call connects again if the connection was lost.

    If the program shares its connections, one of them is borrowed while something is read or written.
    """

    statements = read_statements(__file__, "postgres.toml")
    path: Address
    follows_folders = False

    def __init__(
        self, address: Address, origins: Mapping[str, Origin] | None = None, *, read_only: bool = False
    ) -> None:
        self.path = address
        self._origins = origins or {}
        self._db: Connection | None = None
        self._used: Connection | None = None
        self._tokenizer = Tokenizer()
        self._forgotten: dict[str | None, ForgottenRows] = {}
        self._owner = ""
        self._shared = True
        super().__init__(read_only=read_only)

    def execute(
        self, statement: str, values: Mapping[str, object]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement."""
        with self.using() as db:
            cursor = _run(db, statement, values)
            columns = [column.name for column in cursor.description or ()]
            return columns, cursor.fetchall() if columns else []

    def rows(self, name: str, where: Filters = (), **values: object) -> list[Any]:
        """Run one of the statements; `team` is the session of the team that has the folder."""
        origin = self._origins.get(str(values.get("folder", "")))
        of_session = {"team": origin and origin.id, "owner": self._owner, "shared": self._shared}
        return super().rows(name, where, **(of_session | values))

    def close(self) -> None:
        """Close the connection."""
        self._disconnect()
        self._tokenizer.close()

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with suppress(psycopg.Error):
                db.close()

    @contextmanager
    def using(self) -> Iterator[Connection]:
        """A connection, in autocommit mode, which is that of all calls in the block."""
        if self._used is not None:
            yield self._used
            return
        shared = self.path.connections
        try:
            with nullcontext(self._connected()) if shared is None else shared.threads.connection() as db:
                # Each use of a shared connection comes by here: it has the reader of the last one.
                if shared is not None and _readers.get(db) != self.path.reader:
                    db.execute("SELECT set_config('ua_tui.reader', %s, false)", (self.path.reader,))
                    _readers[db] = self.path.reader
                self._used = db
                yield db
        except psycopg.Error as error:
            raise KnowledgeError(
                f"the knowledge base {self.path} cannot be used, because {describe(error)}"
            ) from error
        except TeamError as error:
            raise KnowledgeError(f"the knowledge base is not available: {error}") from error
        finally:
            self._used = None

    def _connected(self) -> Connection:
        """The connection of this store, which is made when it is first needed, or again when it was lost."""
        if self._db is not None:
            try:
                self._db.execute("")
                return self._db
            except psycopg.Error:
                self._disconnect()
        self._db = connect(self.path)
        try:
            row = self._db.execute(VERSION_QUERY.encode()).fetchone()
            check_version(None if row is None else row[0], self.path)
        except BaseException:
            self._disconnect()
            raise
        return self._db

    # -- reading

    @contextmanager
    def reading(self) -> Iterator[Sequence[str]]:
        """Have the calls in the block use one connection."""
        with self.using():
            yield ()

    def expression(self, term: Term) -> str:
        """A term as the text of a `tsquery`: one of its choices."""
        return " | ".join(map(_phrase, term.words()))

    def counts(self, words: Collection[tuple[str, bool]]) -> tuple[int, Mapping[tuple[str, bool], int]]:
        """Count the passages with words; the numbers of frequent ones are estimates."""
        ((total, counts),) = self.rows("counts", words=[_phrase([each]) for each in words])
        return total, dict(zip(words, counts, strict=True))

    def candidates(self, ask: Ask, deadline: Deadline) -> tuple[list[Found], bool]:
        """Find the best passages by their words, or the newest documents."""
        if not ask.any_of and not ask.all_of:
            found = self._until(deadline, *self.statement("newest", ask.filters, {}))
            return found or [], found is None
        words = sorted(ask.any_of, key=lambda term: term.passages)
        if words[0].passages >= _COMMON and not (ask.all_of or ask.filters):
            every = " | ".join(map(self.expression, words))
            return self._until(deadline, *self.statement("newest_passages", (), {"words": every})) or [], True
        found = self._until(deadline, *self._best(ask, words))
        if found is None and not deadline.stop.is_set():
            late = Deadline(deadline.clock() + _GRACE_SECONDS, deadline.clock)
            return self._until(late, *self._best(ask, words[:1])) or [], True
        return found or [], found is None or min(each.passages for each in ask.all_of or words) > _LOOKED_AT

    def _best(self, ask: Ask, words: Sequence[Term]) -> tuple[str, dict[str, object]]:
        """The query for the passages with words that are rare, often there, in a title, and in a short text."""
        every = {self.expression(term): math.log1p(ask.total / (term.passages + 0.5)) for term in words}
        few = sum(total <= _MOST_MATCHES for total in accumulate(term.passages for term in words))
        # A phrase is looked for in passages that have its words, as that takes longer.
        all_words = [
            f"({' | '.join(' & '.join(_phrase([word]) for word in each) for each in term.words())})"
            for term in ask.all_of
        ]
        required = " & ".join(all_words)
        chosen = {
            (f"({query}) & {required}" if required else query): rarity
            for (query, rarity), term in zip([*every.items()][: few or 1], words, strict=False)
            if term not in ask.all_of
        }
        if ask.all_of:
            chosen[required] = 1.0
        where = ask.required()
        checked = self.statements["checked"] if where else ""
        of_chunk = self.statements["of_chunk"] if ask.all_of else ""
        values = {
            "words": [*chosen], "weights": [*chosen.values()], "ranked": [*every], "rarities": [*every.values()],
        }  # fmt: skip
        return self.statement("best", where, values, checked=checked, of_chunk=of_chunk)

    def _until(self, deadline: Deadline, statement: str, values: Mapping[str, object]) -> list[Found] | None:
        """The passages with the numbers that a query gives; None if it was not answered before the deadline."""
        passages = self.statements["passages"].replace("ANY(%(ids)s)", f"ANY(ARRAY({statement}))")
        milliseconds = str(max(round(deadline.seconds * 1_000), 1))
        with self.using() as db:
            try:
                with db.transaction(), db.pipeline():
                    db.execute("SELECT set_config('statement_timeout', %s, true)", (milliseconds,))
                    cursor = _run(db, passages, values)
                columns = [column.name for column in cursor.description or ()]
                return [Found(**row) for row in self.as_records(columns, cursor.fetchall())]
            except psycopg.errors.QueryCanceled:
                return None
            finally:
                if db.info.transaction_status is TransactionStatus.INERROR:
                    # What was cancelled was the end of the transaction.
                    db.rollback()

    # -- writing

    def forgotten_of(self, folder: str = "") -> ForgottenRows:
        """The list of what was forgotten that holds for a session, which depends on whose it is."""
        owner = self._origins[folder].owner if folder in self._origins else None
        if owner not in self._forgotten:
            self._forgotten[owner] = ForgottenRows(self, owner)
        return self._forgotten[owner]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self.using() as db, db.transaction():
            yield

    def _session(self, folder: str, before: Cursor) -> int | None:
        origin = self._origins.get(folder)
        if before == Cursor():
            new = origin or Origin("")
            self.rows("add_session", folder=folder, owner=new.owner, shared=new.shared)
        rows = self.rows("locked", folder=folder)
        if origin is not None and self.rows("drop_foreign", folder=folder, owner=origin.owner):
            return None
        if not rows and (before == Cursor() or self.rows("knows", folder=folder)):
            raise KnowledgeError(
                f"the session {folder} belongs to another role in the knowledge base: connect as that role"
            )
        if not rows or Cursor(rows[0][2], rows[0][3]) != before:
            return None
        number, name, _, _, self._owner, self._shared, known_team, attempt = rows[0]
        if origin is not None:
            if (attempt or 0) > origin.attempt:
                raise KnowledgeError(f"the session {origin.id} was taken over by another worker")
            self._share(number, origin)
        if len(rows) > 1 or name != folder or (origin and origin.id) not in (None, known_team):
            # It was on another machine, or was indexed here before it was known to be of the team.
            self.rows("drop_others", ids=[row[0] for row in rows[1:]])
            self.rows("name_session", folder=folder, session=number)
        return int(number)

    def _put_chunks(self, chunks: Sequence[tuple[dict[str, Any], Chunk]]) -> None:
        texts = [text for row, chunk in chunks for text in (row["title"], chunk.text, row["context"])]
        words = iter(self._tokenizer.words(texts))
        rows = [
            {
                "document": row["id"],
                **chunk._asdict(),
                "vector": _vector(found),
                "length": sum(map(len, found)),
            }
            for (row, chunk), *found in zip(chunks, words, words, words, strict=True)
        ]
        self.rows("put_chunks", rows=rows)

    def scrub(self) -> bool:
        """Have the server reuse the space of removed rows; only the owner of the tables may do that."""
        with self.using() as db, suppress(psycopg.errors.InsufficientPrivilege):
            if db.execute("SELECT is_worker()").fetchone() == (True,):
                db.execute(_VACUUM)
        return True

    def _share(self, number: int, origin: Origin) -> None:
        """Have the rows of a session of the team seen by those who may see the session now."""
        owner = origin.owner or self._owner
        if (owner, origin.shared) != (self._owner, self._shared):
            self._owner, self._shared = owner, origin.shared
            for name in ("share_session", "share_documents", "share_chunks"):
                self.rows(name, session=number)


class ForgottenRows(Tombstones):
    """The tombstones that hold for what is a role's: those of what it forgot itself, and of what workers did.

    A worker, which sees what all forgot, must not apply that to what is another's: `owner` is the role whose documents
    it stores, by default its own.
    """

    def __init__(self, store: PostgresStore, owner: str | None) -> None:
        super().__init__()
        self._store = store
        self._owner = owner
        self._last = 0

    def refresh(self) -> None:
        """Read what was added."""
        rows = self._store.rows("forgotten", last=self._last, owner=self._owner)
        for number, entry, is_own in rows:
            self._last = number
            self.add(entry.encode(), is_own=is_own)

    def append(self, entry: ForgottenEntry) -> None:
        """Add an entry."""
        self._store.rows("forget", entry=msgspec.json.encode(entry).decode())
        self.refresh()


def _phrase(words: Iterable[tuple[str, bool]]) -> str:
    """Words that must follow each other, and may be only beginnings of words, as the text of a `tsquery`."""
    found = (f"'{word[:_LONGEST_WORD]}'{':*' * is_beginning}" for word, is_beginning in words)
    return f"({' <-> '.join(found)})"


def _vector(fields: Iterable[Sequence[str]]) -> str:
    """The `tsvector` of the words of a title, a text and a context, as a text."""
    places: dict[str, list[str]] = {}
    at = 0
    for words, weight in zip(fields, ("A", "", "B"), strict=True):
        for word in words:
            at += 1
            places.setdefault(word[:_LONGEST_WORD], []).append(f"{min(at, 16_383)}{weight}")
        at += _GAP
    return " ".join([f"'{word}':{','.join(found)}" for word, found in places.items()])


def _run(db: Connection, statement: str, values: Mapping[str, object]) -> psycopg.Cursor[TupleRow]:
    """Run a statement; a list of tuples or of objects is given as JSON."""
    given = {
        name: Jsonb(value)
        if isinstance(value, list) and value and isinstance(value[0], (tuple, dict))
        else value
        for name, value in values.items()
    }
    return db.execute(statement.encode(), given)
