"""Searches the knowledge base: words and filters in, documents with their best passages out.

First all words must be in a passage. If too few passages have them, the two rarest words must, and then any of the four
rarest. The search is stopped when its time is used up, and answers with what it has until then.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.database import KIND, open_reader
from ua_tui.core.knowledge.index.schema import VERSION
from ua_tui.core.knowledge.problems import reporting
from ua_tui.core.knowledge.records import FoundDocument, FoundPage, Hit, Results
from ua_tui.core.knowledge.search.conditions import Scope, conditions_of
from ua_tui.core.knowledge.search.embeddings import Embedder
from ua_tui.core.knowledge.search.matching import HIT, Matching, Meaning, named
from ua_tui.core.knowledge.search.passages import cut_around
from ua_tui.core.knowledge.search.query import SearchQuery, parse_query
from ua_tui.core.knowledge.search.tokens import Tokenizer
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.storage.folders import REPORT_CHECKS
from ua_tui.core.storage.ownership import not_own
from ua_tui.core.storage.sqlite import identity, is_own
from ua_tui.core.text import without_surrogates

BUDGET = 0.03
"""Seconds after which a search answers with what it has; to make the answer takes about ten milliseconds."""

PATIENT = 1.0
"""The same where nobody types: a complete answer is worth more than a quick one."""
_CACHE_KIB = 32 << 10
_LARGEST = (1 << 63) - 1
"""The largest number of SQLite."""
_CITING = """
WHERE d.id IN (
    SELECT citation.document FROM citation JOIN source ON source.id = citation.source WHERE source.url = ?
) ORDER BY d.made_at DESC, d.id DESC LIMIT 200
"""
_MISSING = "There is no knowledge base yet: it is made when a session runs."
_OTHERS = "its texts are shown, but no address in them counts as known, and nothing is added to it"
_LATER = "The knowledge base is of a later version of ua-tui: some of it may not be found."

H = TypeVar("H", bound=Hit)


class KnowledgeSearch:
    """Reads the file of the knowledge base, which is opened when it is first needed and again when it was replaced.

    All methods block. They may be called in any thread; a call waits until the one before it has ended. Each raises
    `KnowledgeError` if there is a file that cannot be read; where there is no file, nothing is found.

    Args:
        path: the file.
        budget: the seconds after which a search answers with what it has.
        clock: gives the time in seconds, for the budget.
        embedder: makes the vector of a query, so that hits are also ordered by their meaning; None for no such search.
    """

    def __init__(
        self,
        path: Path,
        *,
        budget: float = BUDGET,
        clock: Callable[[], float] = time.monotonic,
        embedder: Embedder | None = None,
    ) -> None:
        self.path = path
        self._budget = budget
        self._clock = clock
        self._embedder = embedder
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._version: int | None = None
        self._is_own = False
        self._tokenizer: Tokenizer | None = None

    def search(  # noqa: PLR0913 -- all but one are optional filters
        self,
        text: str,
        *,
        limit: int = 20,
        demo: bool | None = None,
        kinds: Sequence[str] = (),
        sites: Sequence[str] = (),
        session: str = "",
        without_session: str = "",
        since: float | None = None,
        until: float | None = None,
        typing: bool = False,
        budget: float | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Results:
        """Find documents; any text is a query, and one without words finds the newest documents.

        Args:
            text: words, "phrases", -exclusions and filters, as in `ua_tui.core.knowledge.search.query`.
            limit: the most hits.
            demo: only what sessions of the demo found, or only what others found; None for everything.
            kinds: only these kinds.
            sites: only these sites.
            session: only the session with this folder.
            without_session: all sessions but the one with this folder.
            since: only what was found or made at this time or later, in seconds since the epoch.
            until: only what was found or made at this time or before.
            typing: whether the last word may be incomplete, if no space follows it.
            budget: the seconds for this search, if it has others.
            stopped: asked often meanwhile; once it returns True the search ends with an empty, partial answer.
        """
        began = time.perf_counter()
        query = parse_query(text, datetime.now().astimezone())
        scope = Scope(
            demo=demo,
            kinds=kinds,
            sites=sites,
            session=session,
            without_session=without_session,
            since=since,
            until=until,
        )
        meaning, problems = self._meaning(query)
        conditions = conditions_of(query, scope)
        # A file of an earlier version may have checks until the next session removes them.
        conditions.add("d.path NOT GLOB ?", f"{REPORT_CHECKS}/*")
        with self._reading() as db:
            if db is None:
                return Results(notices=(*query.notices, _MISSING))
            matching = Matching(
                db,
                self._words(),
                query,
                conditions,
                budget=self._budget if budget is None else budget,
                clock=self._clock,
                typing=typing,
                stopped=stopped,
                meaning=meaning,
            )
            results = matching.run(max(limit, 0))
            notices = (*query.notices, *problems, *results.notices, *([_LATER] if _is_later(db) else []))
            if not self._is_own:
                notices += (f"{not_own(self.path, _OTHERS)}.",)
            hits = tuple(map(self._judged, results.hits))
        return replace(results, hits=hits, notices=notices, ms=(time.perf_counter() - began) * 1_000)

    def _meaning(self, query: SearchQuery) -> tuple[Meaning | None, list[str]]:
        """The vector of the words of a query, and notices about why there is none."""
        text = " ".join(term.text for term in query.terms)
        if self._embedder is None or not text or identity(self.path) is None:
            return None, []
        try:
            return Meaning(self._embedder.model, self._embedder.embed_query(text)), []
        except KnowledgeError as error:
            return None, [f"Only the words were searched, not the meaning: {error}."]

    def document(self, number: int) -> FoundDocument | None:
        """Find a document by its number; None if there is none."""
        with self._reading() as db:
            found = _document(db, number) if db is not None and number <= _LARGEST else None
            return None if found is None else self._judged(found)

    def text(self, number: int, around: int | None = None, limit: int = 8_000) -> str:
        """Read at most `limit` characters of a document's text, from its beginning or around a place in it."""
        with self._reading() as db:
            if db is None or number > _LARGEST or limit <= 0:
                return ""
            return _text(db, number, min(around or 0, _LARGEST >> 1), min(limit, _LARGEST >> 1))

    def sources(self, url: str) -> list[FoundPage]:
        """List the copies of a page that sessions fetched, the newest first."""
        with self._reading() as db:
            if db is None:
                return []
            rows = db.execute(
                "SELECT d.id, s.url, d.title, d.date, d.made_at, lower(hex(b.hash)) AS hash, b.words, d.partial,"
                " session.folder AS session, session.demo, d.path, d.part"
                " FROM source s JOIN document d ON d.source = s.id JOIN body b ON b.id = d.body"
                " JOIN session ON session.id = d.session"
                " WHERE s.url = ? AND d.kind = 'article' ORDER BY d.made_at DESC, d.id DESC LIMIT 200",
                (canonical_url(without_surrogates(url)),),
            )
            return [FoundPage(**row) for row in named(rows)]

    def cited_by(self, url: str) -> list[Hit]:
        """List the reports that link to an address, the newest first, without passages."""
        with self._reading() as db:
            if db is None:
                return []
            rows = db.execute(
                HIT + _CITING,
                (canonical_url(without_surrogates(url)),),
            )
            return [self._judged(Hit(**row)) for row in named(rows)]

    def changed(self) -> bool:
        """Whether the file was changed or replaced since the last call; the first call returns False."""
        with self._lock, reporting(self.path, "read"):
            opened = self._identity
            db = self._connection()
            version = None if db is None else int(db.execute("PRAGMA data_version").fetchone()[0])
            before, self._version = self._version, version
            return (opened != self._identity and opened is not None) or (
                before is not None and before != version
            )

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._close()
            if self._tokenizer is not None:
                self._tokenizer.close()
                self._tokenizer = None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection in a transaction, so that all statements see the same rows; None if there is no file."""
        with self._lock, reporting(self.path, "read"):
            db = self._connection()
            if db is None:
                yield None
                return
            try:
                db.execute("BEGIN")
                yield db
            except sqlite3.OperationalError as error:
                if _is_later(db):
                    raise KnowledgeError(
                        f"the knowledge base {self.path} is of a later version and cannot be read ({error}): "
                        "install that version"
                    ) from error
                raise
            finally:
                db.set_progress_handler(None, 0)
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def _connection(self) -> sqlite3.Connection | None:
        found = identity(self.path)
        if self._db is not None and found != self._identity:
            self._close()
        if self._db is None and found is not None:
            self._db = open_reader(self.path)
            self._identity = found
            self._is_own = is_own(self._db, KIND, self.path)
            self._db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._db.execute(f"PRAGMA mmap_size = {1 << 30}")
        return self._db

    def _judged(self, found: H) -> H:
        """A document as it is, but what somebody else's file says about who wrote it does not count."""
        return found if self._is_own else msgspec.structs.replace(found, trust="unknown")

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = self._identity = None

    def _words(self) -> Tokenizer:
        if self._tokenizer is None:
            self._tokenizer = Tokenizer()
        return self._tokenizer


def _is_later(db: sqlite3.Connection) -> bool:
    return int(db.execute("PRAGMA user_version").fetchone()[0]) > VERSION


def _document(db: sqlite3.Connection, number: int) -> FoundDocument | None:
    found = next(named(db.execute(f"{HIT} WHERE d.id = ?", (number,))), None)
    if found is None:
        return None
    body, words, partial, context = db.execute(
        "SELECT d.body, b.words, d.partial, d.context FROM document d JOIN body b ON b.id = d.body WHERE d.id = ?",
        (number,),
    ).fetchone()
    (length,) = db.execute('SELECT max("end") FROM chunk WHERE document = ?', (number,)).fetchone()
    cites = db.execute(
        "SELECT source.url FROM citation JOIN source ON source.id = citation.source WHERE citation.document = ?"
        " ORDER BY source.id",
        (number,),
    )
    # Documents without a text have the same empty one.
    same = db.execute(
        "SELECT id FROM document WHERE body = ? AND id != ? AND ? ORDER BY made_at DESC, id DESC LIMIT 200",
        (body, number, words),
    )
    return FoundDocument(
        **found,
        length=length or 0,
        partial=bool(partial),
        context=context,
        cites=tuple(url for (url,) in cites),
        same=(ids := tuple(other for (other,) in same)),
        copies=len(ids),
    )


def _text(db: sqlite3.Connection, number: int, around: int, limit: int) -> str:
    """Put the text together from the chunks that are near; white space between chunks was not stored."""
    place = max(around, 0)
    first, last = max(place - limit, 0), place + limit
    parts: list[str] = []
    begin = at = -1
    for start, end, text in db.execute(
        'SELECT start, "end", text FROM chunk WHERE document = ? AND "end" >= ? AND start <= ? ORDER BY start, id',
        (number, first, last),
    ):
        if begin < 0:
            begin = at = start
        # Between two chunks is only white space.
        parts += ["\n" * min(start - at, limit), text]
        at = end
    return cut_around("".join(parts), place - max(begin, 0), limit)
