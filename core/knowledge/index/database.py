"""Makes the tables of the file, and opens it: for one writer at a time, and any number of readers beside it.

`docs/knowledge.md` describes the tables for other programs.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex

from ua_tui.core.errors import KnowledgeEmptied, KnowledgeError
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.search.tokens import TOKENIZER, UNSPACED, indexed
from ua_tui.core.storage import sqlite
from ua_tui.core.storage.ownership import is_sealed, not_own, seal
from ua_tui.core.storage.sqlite import DAMAGED, file_advice, identity, opening, primary_code, transaction
from ua_tui.core.text import clean_line

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
_KIND = "knowledge"
"""The kind of file, for its seal."""
_MARK = "CREATE TABLE IF NOT EXISTS mark(id TEXT NOT NULL, seal TEXT NOT NULL)"
"""The table by which the file is recognised."""
OLDEST = (3, 37, 0)
"""The oldest version of SQLite that has what the tables need."""
_PAGE = 16384
"""Bytes of a page, in a file that is made: three or four passages fill a page of 4096 bytes badly."""
_LATER_NUMBERS = 1_000_000
"""The numbers of documents of a new file begin so far behind earlier ones: none means another document than before."""

_AGAIN = "run `ua-tui knowledge rebuild`"
_FILLED = "it is rebuilt when a session runs, or at once by `ua-tui knowledge update`"


@contextmanager
def reporting(path: Path, action: str) -> Iterator[None]:
    """Turn errors of SQLite and the system in the block into those for a person; `action` is as in "cannot be read"."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        advice = file_advice(error, again=_AGAIN, elsewhere=", or set `knowledge` to another path")
        problem = f"{_named(path)} cannot be {action}: {advice.problem}"
        raise KnowledgeError(advice._replace(problem=problem)) from error


def open_writer(path: Path, *, again: bool = False) -> sqlite3.Connection:
    """Open the file for writing, and make it if it is missing; close it with `sqlite.close`.

    The connection may be used in any one thread at a time; it has no open transaction.

    Raises:
        KnowledgeEmptied: the file was damaged, is of an earlier version, or is to be made `again`: it has no texts now.
        KnowledgeError: it cannot be opened for writing.
    """
    _check_sqlite()
    with reporting(path, "opened"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with opening(path):
            sqlite.make_private(path)
            _check_own(path)
            connection = connect(path, "rw")
            try:
                _check_writable(connection, path)
                version = version_in(connection)
                if version and (again or version < VERSION):
                    _make_again(connection, path)
                    raise KnowledgeEmptied(
                        f"{_named(path)} was made by an earlier version of ua-tui: {_FILLED}"
                    )
                _make_tables(connection, path)
            except sqlite3.DatabaseError as error:
                connection.close()
                if primary_code(error) not in DAMAGED or not _is_ours(path, error):
                    raise
                raise _damaged(path, error) from error
            except BaseException:
                connection.close()
                raise
    return connection


def adopt_knowledge(path: Path) -> None:
    """Make a file the user's own, as it is.

    Raises:
        KnowledgeError: it is no knowledge base, of a later version, or cannot be written.
    """
    with reporting(path, "adopted"), opening(path):
        sqlite.make_private(path)
        with closing(connect(path, "rw")) as connection:
            _check_writable(connection, path)
            with transaction(connection):
                _mark_own(connection, path)


def remove_damaged(
    path: Path, connection: sqlite3.Connection, opened: tuple[int, int] | None, error: sqlite3.Error
) -> KnowledgeError:
    """Close a connection that met damage and set its file aside, unless another program did; returns what to raise."""
    sqlite.close(path, connection)
    with reporting(path, "set aside"), opening(path):
        if opened is None or identity(path) != opened:
            return KnowledgeError(f"{_named(path)} was damaged, and is rebuilt")
        return _damaged(path, error)


def emptied(path: Path) -> None:
    """Replace the file by one without texts, to which other programs go over.

    Raises:
        KnowledgeError: it cannot be replaced.
    """
    with suppress(KnowledgeEmptied):
        sqlite.close(path, open_writer(path, again=True))


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the file for reading only; also one of a later version, whose tables may differ.

    A program that replaces it is waited for.

    Raises:
        KnowledgeError: it is missing, of an earlier version, or cannot be opened.
    """
    _check_sqlite()

    def check(connection: sqlite3.Connection) -> None:
        version = _checked_version(connection, path)
        if not version:
            raise KnowledgeError(f"{_named(path)} is empty: it is filled when a session runs")
        if version < VERSION:
            raise KnowledgeError(f"{_named(path)} was made by an earlier version of ua-tui: {_FILLED}")

    with reporting(path, "opened"), opening(path):
        if identity(path) is None:
            raise KnowledgeError(f"{_named(path)} does not exist: it is created when a session runs")
        return sqlite.connect_reader(path, check)


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a connection as it is, in a mode of SQLite: `rw` or `ro`."""
    connection = sqlite.connect(path, mode)
    connection.create_function("indexed", 1, indexed, deterministic=True)
    connection.create_function("of_hex", 1, bytes.fromhex, deterministic=True)
    return connection


def _make_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Prepare a connection that writes, and make the tables in an empty file, in one transaction."""
    connection.execute(f"PRAGMA page_size = {_PAGE}")
    sqlite.configure(connection, path)
    if version_in(connection):
        if connection.execute("SELECT 1 FROM chunk_fts_config WHERE k = 'automerge' AND v = 0").fetchone():
            # What made it again has ended, or was killed.
            with transaction(connection):
                connection.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('automerge', 4)")
        return
    with transaction(connection):
        # Another program may have done it meanwhile.
        if not version_in(connection):
            for statement in STATEMENTS:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            _mark_own(connection, path)


def _make_again(connection: sqlite3.Connection, path: Path) -> None:
    """Replace a file by a new one, in which documents have numbers far behind those of this one.

    The new file names those that do not lie beside it, which nobody would find again.
    """
    folders = connection.execute("SELECT folder FROM session").fetchall()
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'document'").fetchone()
    last = int(row[0]) if row else 0
    connection.close()
    for each in (path, *sqlite.sidecars(path)):
        each.unlink(missing_ok=True)
    sqlite.make_private(path)
    with closing(connect(path, "rw")) as new:
        _make_tables(new, path)
        elsewhere = [row for row in folders if os.path.isabs(row[0])]
        new.executemany("INSERT INTO session(folder) VALUES (?)", elsewhere)
        new.execute("INSERT INTO sqlite_sequence(name, seq) VALUES ('document', ?)", (last + _LATER_NUMBERS,))


def _mark_own(db: sqlite3.Connection, path: Path) -> None:
    """Make a file the user's own, within a transaction of the caller."""
    db.execute(_MARK)
    db.execute("DELETE FROM mark")
    number = token_hex(16)
    db.execute("INSERT INTO mark(id, seal) VALUES (?, ?)", (number, seal(_KIND, path.parent, number)))


def is_own(db: sqlite3.Connection, path: Path) -> bool:
    """Whether this user's program made, or adopted, a file."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'mark'").fetchone():
        return False
    marks = db.execute("SELECT id, seal FROM mark")
    return any(is_sealed(code, _KIND, path.parent, number) for number, code in marks)


@cache
def _objects() -> frozenset[tuple[str, str, str | None]]:
    """The kind, name and statement of everything that the program makes in a file."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in (*STATEMENTS, _MARK):
            db.execute(statement)
        return frozenset(map(tuple, db.execute("SELECT type, name, sql FROM sqlite_master")))


def _check_sqlite() -> None:
    if sqlite3.sqlite_version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise KnowledgeError(
            f"SQLite {sqlite3.sqlite_version} is too old for the knowledge base, which needs {needed}: use a Python "
            "with a newer SQLite, or set `knowledge = off`"
        )


def _checked_version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the tables of a file, which must be ours and have nothing of somebody else.

    The statements of somebody else would run with those of the program, and could change what it stores.
    """
    version, application = version_in(connection), connection.execute("PRAGMA application_id").fetchone()[0]
    found = {*connection.execute("SELECT type, name, sql FROM sqlite_master")}
    if application != APPLICATION and found:
        raise KnowledgeError(f"{_named(path)} belongs to another program: set `knowledge` to another path")
    # SQLite itself makes statistics, and the indexes of keys.
    others = [
        each for each in found - _objects()
        if each[0] not in ("table", "index") or not str(each[1]).startswith("sqlite_")
    ]  # fmt: skip
    if version in (0, VERSION) and others:
        raise KnowledgeError(
            f"{_named(path)} has triggers, views or tables that ua-tui did not make: remove it, "
            "and run `ua-tui knowledge rebuild`"
        )
    return version


def _check_writable(connection: sqlite3.Connection, path: Path) -> None:
    version = _checked_version(connection, path)
    if version > VERSION:
        raise KnowledgeError(
            f"{_named(path)} was made by a later version of ua-tui (table version {version}, not "
            f"{VERSION}): it can be searched but not changed; install that version, or set `knowledge` to another path"
        )


def _check_own(path: Path) -> None:
    """Check that a file is the user's own, or nobody's, before anything can be written to it."""
    try:
        with closing(connect(path, "ro")) as db:
            _check_writable(db, path)
            is_empty = db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
            if is_empty or is_own(db, path):
                return
    except sqlite3.DatabaseError as error:
        if primary_code(error) in DAMAGED:
            # It is set aside when it is opened.
            return
        # To finish what a killed program began would be to write.
        if primary_code(error) != sqlite3.SQLITE_READONLY:
            raise
    raise KnowledgeError(not_own(path, "it can be searched, but nothing is added to it"))


def version_in(connection: sqlite3.Connection) -> int:
    """The version of the tables in a file; 0 in an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_ours(path: Path, error: sqlite3.Error) -> bool:
    """Whether a damaged file may be renamed: the path that a person chose may be that of a file of another kind."""
    is_database = primary_code(error) != sqlite3.SQLITE_NOTADB
    return is_database or path.name == FILE or any(map(os.path.lexists, sqlite.sidecars(path)[:2]))


def _damaged(path: Path, error: sqlite3.Error) -> KnowledgeEmptied:
    aside = sqlite.set_aside(path)
    return KnowledgeEmptied(
        f"{_named(path)} was damaged ({error}): it was set aside as {aside.name}, and "
        f"{_FILLED}; what sessions in other folders found is added when a session runs there"
    )


def _named(path: Path) -> str:
    return f"the knowledge base {clean_line(str(path), 700)}"
