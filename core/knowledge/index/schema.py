"""The tables of the knowledge base; `docs/knowledge.md` describes them for other programs."""

from __future__ import annotations

from ua_tui.core.knowledge.search.tokens import TOKENIZER, UNSPACED

APPLICATION = 0x75614B42
"""The `application_id` of the file, which tells it from databases of other programs: "uaKB"."""
VERSION = 5
"""The version of the tables, in `user_version`; a later one is opened read-only, an earlier one made again."""


def _indexed(column: str) -> str:
    # As many bytes as characters: it is ASCII, and need not be searched, which would take as long as to index it.
    is_ascii = f"length(CAST({column} AS BLOB)) = length({column})"
    has_unspaced = f"{column} GLOB '*[{UNSPACED}]*'"
    return f"iif({is_ascii}, {column}, iif({has_unspaced}, indexed({column}), {column}))"


_PASSAGE = f"""CREATE VIEW passage AS
    SELECT chunk.id AS id, {_indexed("document.title")} AS title, {_indexed("chunk.text")} AS text,
        {_indexed("document.context")} AS context
    FROM chunk JOIN document ON document.id = chunk.document"""  # noqa: S608 -- made of constants

# The full-text index reads its texts through a view, so that the title of a document is stored once. It has no index of
# prefixes, which would double its size and save little: most of such a query's time goes to ranking its many hits.
# The id of a document is not used a second time: a program that still adds chunks to a document that another program
# replaced gets an error.
# Only texts with characters that are words call the function: the others are indexed without Python.
_SCHEMA = f"""
CREATE TABLE session(
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL DEFAULT '',
    demo INTEGER NOT NULL DEFAULT 0,
    seq INTEGER NOT NULL DEFAULT 0,
    place INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE call(
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    tool_use_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    slug TEXT NOT NULL DEFAULT '',
    UNIQUE(session, tool_use_id)
) STRICT;

CREATE TABLE document(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    call INTEGER REFERENCES call ON DELETE SET NULL,
    url TEXT NOT NULL DEFAULT '',
    site TEXT NOT NULL DEFAULT '',
    hash BLOB NOT NULL,
    words INTEGER NOT NULL,
    path TEXT NOT NULL DEFAULT '',
    part INTEGER NOT NULL DEFAULT 0,
    title TEXT NOT NULL DEFAULT '',
    context TEXT NOT NULL DEFAULT '',
    author TEXT NOT NULL DEFAULT '',
    date TEXT NOT NULL DEFAULT '',
    made_at REAL NOT NULL,
    trust TEXT NOT NULL,
    partial INTEGER NOT NULL DEFAULT 0,
    UNIQUE(session, path, part)
) STRICT;
CREATE INDEX document_of_call ON document(call);
CREATE INDEX document_of_url ON document(url) WHERE kind = 'article';
CREATE INDEX document_made_at ON document(made_at);

CREATE TABLE chunk(
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES document ON DELETE CASCADE,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX chunk_of_document ON chunk(document);

CREATE TABLE vector(
    chunk INTEGER PRIMARY KEY REFERENCES chunk ON DELETE CASCADE,
    model TEXT NOT NULL,
    data BLOB NOT NULL
) STRICT;

{_PASSAGE};

CREATE VIRTUAL TABLE chunk_fts USING fts5(
    title, text, context, content='passage', content_rowid='id',
    tokenize='{TOKENIZER}'
);
CREATE VIRTUAL TABLE chunk_terms USING fts5vocab(chunk_fts, row);
"""
STATEMENTS = tuple(filter(str.strip, _SCHEMA.split(";\n")))
"""The statements that make the tables; there are no triggers, and only one view."""
