"""The transactions in which the documents of a session are stored in the database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.batch import Overtaken, stored_address
from ua_tui.core.knowledge.index.preparing import Prepared, storable
from ua_tui.core.knowledge.place import Origin
from ua_tui.core.knowledge.postgres.connection import Connection
from ua_tui.core.knowledge.postgres.lexemes import Lexemes, Vector, count_words
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall, KnowledgeDocument
from ua_tui.core.knowledge.removal.forgotten import ForgottenList, traces_of

_DOCUMENTS = """
INSERT INTO k_document (id, session, call, owner, shared, kind, path, part, url, site, hash, words, title, context,
    author, date, made_at, trust, partial) OVERRIDING SYSTEM VALUE
SELECT t.id, %(session)s, k.id, %(owner)s::name, %(shared)s::boolean, t.kind, t.path, t.part, t.url, t.site,
    decode(t.hash, 'hex'), t.words, t.title, t.context, t.author, t.date, t.made_at, t.trust, t.partial
FROM jsonb_to_recordset(%(rows)s) AS t (id bigint, tool_use_id text, kind text, path text, part bigint, url text,
    site text, hash text, words integer, title text, context text, author text, date text, made_at double precision,
    trust text, partial boolean)
LEFT JOIN k_call k ON k.session = %(session)s AND k.tool_use_id = t.tool_use_id
"""
_CHUNKS = """
INSERT INTO k_chunk (document, "start", "end", simhash, text, vector, length, shared)
SELECT t.document, t.start, t.stop, t.simhash, t.text, t.vector::tsvector, t.length, %s
FROM unnest(%s::bigint[], %s::integer[], %s::integer[], %s::bigint[], %s::text[], %s::text[], %s::integer[])
    AS t (document, start, stop, simhash, text, vector, length)
"""
_CALL = """
INSERT INTO k_call (session, tool_use_id, parent, tool, slug, started, ms, status)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (session, tool_use_id) DO UPDATE SET ms = excluded.ms, status = excluded.status
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A document with the vectors of its chunks."""

    prepared: Prepared
    vectors: Sequence[Vector]


class RowBatch:
    """Everything of one `apply`; each `with` is one transaction, which holds the lock of the session's row."""

    def __init__(
        self,
        db: Connection,
        lexemes: Lexemes,
        forgotten: ForgottenList,
        folder: str,
        before: Cursor,
        origin: Origin | None,
    ) -> None:
        self._db = db
        self._lexemes = lexemes
        self._forgotten = forgotten
        self._folder = folder
        self._before = before
        self._origin = origin
        self._session = 0
        self._owner = ""
        self._shared = True
        self._is_forgotten = False
        self._open = ExitStack()

    def __enter__(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(self._db.transaction())
            # Whoever forgets something adds it to the list first, and removes it in a later transaction.
            self._forgotten.refresh()
            self._is_forgotten = self._forgotten.has_session(self._folder)
            self._check_attempt()
            self._find_session()
            self._open = stack.pop_all()

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._open.__exit__(kind, *error)  # type: ignore[arg-type]

    def rows_of(self, group: Sequence[Prepared]) -> list[Row]:
        """Split the texts of documents into words, which needs no transaction."""
        # Of two documents in the same place the last one stays.
        chosen = [*{_place(each.document): each for each in group}.values()]
        self._lexemes.learn(
            text
            for each in chosen
            for text in (
                storable(each.document.title),
                storable(each.document.context),
                *(text for _, _, _, text in each.chunks),
            )
        )
        return [Row(each, self._vectors(each)) for each in chosen]

    def start(self, facts: Facts | None, calls: Sequence[IndexedCall], replaced: Iterable[str]) -> None:
        """Store what is known of the session and of calls, and remove the documents of files."""
        if self._is_forgotten:
            return
        if facts is not None:
            title = storable(facts.title)
            self._db.execute(
                "UPDATE k_session SET started = %s, title = %s, state = %s, demo = %s WHERE id = %s",
                (
                    facts.started,
                    "" if self._forgotten.has_title(title) else title,
                    facts.state,
                    facts.demo,
                    self._session,
                ),
            )
        if calls:
            with self._db.cursor() as cursor:
                cursor.executemany(
                    _CALL,
                    [
                        (self._session, call.tool_use_id, call.parent, call.tool, call.slug, call.started,
                         call.ms, call.status)
                        for call in calls
                    ],
                )  # fmt: skip
        paths = [storable(path) for path in replaced]
        if paths:
            self._remove("d.path = ANY(%s)", (paths,))

    def put(self, rows: Sequence[Row]) -> None:
        """Store documents; those that are there already are replaced, and forgotten ones skipped."""
        rows = [row for row in rows if not self._is_forgotten and not self._has_forgotten(row.prepared)]
        if not rows:
            return
        places = [_place(row.prepared.document) for row in rows]
        self._remove(
            "(left(d.path, 200), d.part) IN (SELECT left(p, 200), n FROM unnest(%s::text[], %s::bigint[]) t (p, n))"
            " AND (d.path, d.part) IN (SELECT p, n FROM unnest(%s::text[], %s::bigint[]) t (p, n))",
            ([path for path, _ in places], [part for _, part in places]) * 2,
        )
        ids = [
            number
            for (number,) in self._db.execute(
                "SELECT nextval(pg_get_serial_sequence('k_document', 'id')) FROM generate_series(1, %s)",
                (len(rows),),
            )
        ]
        self._db.execute(
            _DOCUMENTS,
            {
                "session": self._session,
                "owner": self._owner,
                "shared": self._shared,
                "rows": Jsonb(
                    [self._fields(number, row.prepared) for number, row in zip(ids, rows, strict=True)]
                ),
            },
        )
        self._put_chunks(ids, rows)
        cited = [
            (number, storable(stored_address(url)[0]))
            for number, row in zip(ids, rows, strict=True)
            for url in dict.fromkeys(row.prepared.document.cites)
            if url and not self._forgotten.has_source(url)
        ]
        if cited:
            self._db.execute(
                "INSERT INTO k_citation (document, url)"
                " SELECT DISTINCT n, u FROM unnest(%s::bigint[], %s::text[]) t (n, u)",
                ([number for number, _ in cited], [url for _, url in cited]),
            )

    def move_cursor(self, after: Cursor) -> None:
        """Store how far the journal was read."""
        self._db.execute(
            "UPDATE k_session SET seq = %s, place = %s WHERE id = %s", (after.seq, after.place, self._session)
        )

    def _put_chunks(self, ids: Sequence[int], rows: Sequence[Row]) -> None:
        numbers: list[int] = []
        chunks: list[tuple[int, int, int, str]] = []
        vectors: list[Vector] = []
        for number, row in zip(ids, rows, strict=True):
            numbers += [number] * len(row.vectors)
            chunks += row.prepared.chunks
            vectors += row.vectors
        starts, ends, hashes, texts = zip(*chunks, strict=True)
        self._db.execute(
            _CHUNKS,
            (self._shared, numbers, [*starts], [*ends], [*hashes], [*texts], [each.text for each in vectors],
             [each.length for each in vectors]),
        )  # fmt: skip
        self._db.execute("SELECT k_count_words(%s, %s)", count_words(vectors))

    def _fields(self, number: int, prepared: Prepared) -> dict[str, object]:
        document = prepared.document
        url, site = ("", "")
        if document.url and not self._forgotten.has_source(document.url):
            url, site = stored_address(document.url)
        return {
            "id": number,
            "tool_use_id": document.tool_use_id and storable(document.tool_use_id),
            "kind": document.kind,
            "path": storable(document.path),
            "part": document.part,
            "url": url,
            "site": site,
            "hash": prepared.digest.hex(),
            "words": prepared.words,
            "title": storable(document.title),
            "context": storable(document.context),
            "author": storable(document.author),
            "date": storable(document.date),
            "made_at": document.made_at,
            "trust": document.trust,
            "partial": document.partial,
        }

    def _vectors(self, prepared: Prepared) -> list[Vector]:
        words = self._lexemes.words
        title, context = words(storable(prepared.document.title)), words(storable(prepared.document.context))
        return [self._lexemes.vector(title, words(text), context) for _, _, _, text in prepared.chunks]

    def _has_forgotten(self, prepared: Prepared) -> bool:
        document = prepared.document
        return len(self._forgotten) > 0 and self._forgotten.has(
            traces_of(self._folder, document.path, document.part, document.url, prepared.digest)
        )

    def _check_attempt(self) -> None:
        """Check that no other worker has taken the session over."""
        if self._origin is None:
            return
        row = self._db.execute("SELECT attempt FROM session WHERE id = %s", (self._origin.id,)).fetchone()
        if row is not None and row[0] > self._origin.attempt:
            raise KnowledgeError(f"the session {self._origin.id} was taken over by another worker")

    def _find_session(self) -> None:
        """Lock the row of the session, and make it if there is none."""
        team = None if self._origin is None else self._origin.id
        rows = self._locked_rows(team)
        if not rows and self._before == Cursor() and not self._session:
            rows = self._add_session() or self._locked_rows(team)
            if not rows:
                raise self._foreign()
        if not rows:
            known = self._db.execute("SELECT 1 FROM k_session WHERE name = %s", (self._folder,)).fetchone()
            if known is not None:
                raise self._foreign()
        if not rows or Cursor(rows[0][2], rows[0][3]) != self._before:
            raise Overtaken
        self._session, name, _, _, self._owner, self._shared = rows[0]
        self._share()
        if len(rows) > 1 or name != self._folder or team is not None:
            # It was on another machine, or was indexed here before it was known to be of the team.
            others = [row[0] for row in rows[1:]]
            if others:
                remove_documents(
                    self._db,
                    [
                        number
                        for (number,) in self._db.execute(
                            "SELECT id FROM k_document WHERE session = ANY(%s)", (others,)
                        )
                    ],
                )
                self._db.execute("DELETE FROM k_session WHERE id = ANY(%s)", (others,))
            self._db.execute(
                "UPDATE k_session SET name = %s, team = coalesce(%s, team) WHERE id = %s"
                " AND (name, team) IS DISTINCT FROM (%s, coalesce(%s, team))",
                (self._folder, team, self._session, self._folder, team),
            )

    def _locked_rows(self, team: str | None) -> list[tuple[Any, ...]]:
        return self._db.execute(
            "SELECT id, name, seq, place, owner, shared FROM k_session WHERE name = %s OR team = %s"
            " ORDER BY team NULLS LAST FOR UPDATE",
            (self._folder, team),
        ).fetchall()

    def _foreign(self) -> KnowledgeError:
        return KnowledgeError(
            f"the session {self._folder} is that of another role in the knowledge base: connect as that role"
        )

    def _share(self) -> None:
        """Have the rows of a session of the team seen by those who may see the session now."""
        origin = self._origin
        owner = self._owner if origin is None or origin.owner is None else origin.owner
        if origin is None or (owner, origin.shared) == (self._owner, self._shared):
            return
        self._owner, self._shared = owner, origin.shared
        values = (self._owner, self._shared, self._session)
        self._db.execute("UPDATE k_session SET owner = %s, shared = %s WHERE id = %s", values)
        self._db.execute("UPDATE k_document SET owner = %s, shared = %s WHERE session = %s", values)
        self._db.execute(
            "UPDATE k_chunk SET shared = %s WHERE document IN (SELECT id FROM k_document WHERE session = %s)",
            values[1:],
        )

    def _add_session(self) -> list[tuple[Any, ...]]:
        origin = self._origin or Origin("")
        return self._db.execute(
            "INSERT INTO k_session (name, team, owner, shared) VALUES (%s, %s, coalesce(%s, current_user), %s)"
            " ON CONFLICT DO NOTHING RETURNING id, name, seq, place, owner, shared",
            (self._folder, origin.id or None, origin.owner, origin.shared),
        ).fetchall()

    def _remove(self, condition: str, values: Sequence[object]) -> None:
        found = self._db.execute(
            f"SELECT d.id FROM k_document d WHERE d.session = %s AND {condition}".encode(),  # noqa: S608 -- constants
            (self._session, *values),
        )
        remove_documents(self._db, [number for (number,) in found])


def remove_documents(db: Connection, ids: Sequence[int]) -> None:
    """Remove documents with their chunks, whose words are discounted, within a transaction."""
    if ids:
        db.execute("SELECT k_discount(ARRAY(SELECT id FROM k_chunk WHERE document = ANY(%s)))", ([*ids],))
        db.execute("DELETE FROM k_document WHERE id = ANY(%s)", ([*ids],))


def _place(document: KnowledgeDocument) -> tuple[str, int]:
    return storable(document.path), document.part
