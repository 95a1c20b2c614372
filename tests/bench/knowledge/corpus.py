"""One hundred thousand seeded passages in a real file, by a path that is quicker than the store's."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tests.bench.knowledge.prose import Prose
from ua_tui.core.knowledge.index.chunks import body_hash, split_chunks
from ua_tui.core.knowledge.index.database import open_writer
from ua_tui.core.storage.sqlite import transaction

CHUNKS = 100_000
TOPICS = 200
SITES = 300
SEED = 17
PER_SESSION = 500
"""Chunks of one session."""
ARTICLE_WORDS = (150, 1_600)
ROW_WORDS = (25, 60)
ROWS_PER_ARTICLE = 5
NOW = 1_790_000_000.0
DAY = 86_400.0

_SESSION = "INSERT INTO session(id, folder, title) VALUES (?, ?, ?)"
_CALL = "INSERT INTO call(id, session, tool_use_id, tool) VALUES (?, ?, ?, ?)"
_DOCUMENT = (
    "INSERT INTO document(id, kind, session, call, url, site, hash, words, path, part, title, context, made_at,"
    " trust) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'web')"
)
_CHUNK = 'INSERT INTO chunk(id, document, start, "end", text) VALUES (?, ?, ?, ?, ?)'


def corpus_prose() -> Prose:
    """The writer of the texts; its words and topics are those that queries can be made of."""
    return Prose(SEED, TOPICS)


def build_corpus(path: Path, chunks: int = CHUNKS) -> int:
    """Write a file with at least this many chunks, and index them at once; gives the bytes of the texts in it."""
    db = open_writer(path)
    corpus = _Corpus(db)
    with transaction(db):
        while corpus.chunks < chunks:
            corpus.add_session()
        db.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('rebuild')")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return corpus.text_bytes


class _Corpus:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._prose = corpus_prose()
        self._random = random.Random(SEED)
        self._documents = 0
        self._sessions = 0
        self._source = "", ""
        self.chunks = 0
        self.text_bytes = 0

    def add_session(self) -> None:
        """Add a session on one topic: searches, and articles that they found."""
        self._sessions += 1
        number, topic = self._sessions, self._random.randrange(TOPICS)
        made = NOW - self._random.random() * 700 * DAY
        query = self._prose.title(topic, 5)
        self._db.execute(_SESSION, (number, f"session_{number:06}", query))
        self._db.execute(_CALL, (number, number, f"toolu_{number}", "mcp__composio__COMPOSIO_SEARCH_WEB"))
        until = self.chunks + PER_SESSION
        while self.chunks < until:
            kind = "article" if self._documents % (ROWS_PER_ARTICLE + 1) == ROWS_PER_ARTICLE else "search_row"
            words = self._random.randint(*(ARTICLE_WORDS if kind == "article" else ROW_WORDS))
            self._add_document(kind, topic, self._prose.text(topic, words), query, made)

    def _add_document(self, kind: str, topic: int, text: str, query: str, made: float) -> None:
        self._documents += 1
        number, title = self._documents, self._prose.title(topic, 7)
        site = f"site-{self._random.randrange(SITES)}.example"
        url = f"https://{site}/{topic}/{title[:30].replace(' ', '-')}-{number}"
        path = f"search_results/found_{number // 20}.json"
        if kind == "article":
            # A row that was found before led to it.
            path, (url, site) = f"extracted_articles/page_{number}.json", self._source
        self._source = url, site
        self._db.execute(
            _DOCUMENT,
            (number, kind, self._sessions, self._sessions, url, site, bytes.fromhex(body_hash(text)[0]),
             len(text.split()), path, number, title, query, made),
        )  # fmt: skip
        self._db.executemany(_CHUNK, self._chunks(number, text))
        self.text_bytes += sum(len(part.encode()) for part in (text, title, query))

    def _chunks(self, document: int, text: str) -> Iterator[tuple[int, int, int, int, str]]:
        for chunk in split_chunks(text):
            self.chunks += 1
            yield self.chunks, document, chunk.start, chunk.end, chunk.text
