"""Opens the file of the knowledge base: for one writer at a time, and for any number of readers beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.database_file import FILE
from ua_tui.core.knowledge.index.schema import APPLICATION, MIGRATIONS, STATEMENTS, VERSION
from ua_tui.core.knowledge.index.segments import indexed
from ua_tui.core.knowledge.problems import KnowledgeDamaged, KnowledgeForeign, reporting
from ua_tui.core.storage import sqlite
from ua_tui.core.storage.ownership import not_own
from ua_tui.core.storage.sqlite import (
    CACHE_KIB,
    DAMAGED,
    check_regular,
    configure,
    foreign_objects,
    identity,
    is_own_file,
    make_private,
    mark_own,
    opening,
    primary_code,
    protected_log,
    set_aside,
    sidecars,
    transaction,
)
from ua_tui.core.text import clean_line

KIND = "knowledge"
"""The kind of file, for its seal."""
OLDEST = (3, 37, 0)
"""The oldest version of SQLite that has what the tables need."""
_PAGE = 8192
"""Bytes of a page, in a file that is made: three or four passages fill a page of 4096 bytes badly."""


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the file for writing, and make it if it is missing; close it with `close_writer`.

    The connection may be used in any one thread at a time; it has no open transaction.

    Raises:
        KnowledgeDamaged: the file was damaged, and was set aside; the next call makes a new one.
        KnowledgeError: it cannot be opened for writing.
    """
    _check_sqlite()
    with reporting(path, "opened"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with opening(path):
            make_private(path)
            _check_own(path)
            connection = connect(path, "rw")
            try:
                _check_version(connection, path, VERSION)
                connection.execute(f"PRAGMA page_size = {_PAGE}")
                configure(connection, path)
                update_tables(connection, path)
            except sqlite3.DatabaseError as error:
                connection.close()
                if primary_code(error) not in DAMAGED or not _is_ours(path, error):
                    raise
                raise _damaged(path, set_aside(path), error) from error
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
        make_private(path)
        with closing(connect(path, "rw")) as connection:
            _check_version(connection, path, VERSION)
            with transaction(connection):
                mark_own(connection, KIND, path)


def close_writer(path: Path, connection: sqlite3.Connection, opened: tuple[int, int] | None) -> None:
    """Close a connection of `open_writer`; `opened` is the identity of the file that it opened."""
    with suppress(OSError, sqlite3.Error), opening(path):
        if identity(path) == opened:
            connection.close()
        else:
            with protected_log(path):
                connection.close()
    connection.close()


def set_bulk(connection: sqlite3.Connection) -> None:
    """Have a file filled fast that nobody else uses, and that is made again if this program is killed."""
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"PRAGMA cache_size = -{4 * CACHE_KIB}")
    # Words of the index are kept in memory up to so many bytes before they are written.
    connection.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('hashsize', ?)", (CACHE_KIB << 10,))


def remove_damaged(
    path: Path, connection: sqlite3.Connection, opened: tuple[int, int] | None, error: sqlite3.Error
) -> KnowledgeError:
    """Close a connection that met damage and set its file aside, unless another program did; returns what to raise."""
    close_writer(path, connection, opened)
    with reporting(path, "set aside"), opening(path):
        if opened is None or identity(path) != opened:
            return KnowledgeError(f"the knowledge base {_shown(path)} was damaged, and is made again")
        return _damaged(path, set_aside(path), error)


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the file for reading only; also one of a later version, whose tables may differ.

    Raises:
        KnowledgeError: it is missing or cannot be opened.
    """
    _check_sqlite()
    if identity(path) is None:
        raise KnowledgeError(f"there is no knowledge base {_shown(path)}: it is made when a session runs")
    with reporting(path, "opened"):
        # A pipe would be waited for.
        check_regular(path)
        try:
            connection = connect(path, "ro")
            _check_tables(connection, path)
        except sqlite3.OperationalError:
            # Without a file for shared memory, which cannot be made here, only a file without a log can be read.
            if os.access(path.parent, os.W_OK) or not _is_complete(path):
                raise
            connection = connect(path, "ro&immutable=1")
            _check_tables(connection, path)
    return connection


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a connection as it is, in a mode of SQLite: `rw` or `ro`."""
    connection = sqlite.connect(path, mode)
    connection.create_function("indexed", 1, indexed, deterministic=True)
    return connection


def update_tables(
    connection: sqlite3.Connection,
    path: Path,
    version: int = VERSION,
    migrations: Mapping[int, Sequence[str]] = MIGRATIONS,
) -> None:
    """Make the tables in an empty file, or bring those of an earlier version up to date, in one transaction.

    Raises:
        KnowledgeError: the file is not one of ours, of a later version, or of one that must be made again.
        sqlite3.Error: the file cannot be read or written.
    """
    if _version(connection) == version and _application(connection) == APPLICATION:
        return
    with transaction(connection):
        # Another program may have done it meanwhile.
        found = _version(connection)
        _check_version(connection, path, version)
        if not found:
            for statement in STATEMENTS:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            mark_own(connection, KIND, path)
            found = version
        while found < version:
            if found not in migrations:
                raise KnowledgeError(
                    f"the knowledge base {_shown(path)} is of an earlier version: run `ua-tui knowledge rebuild`"
                )
            for statement in migrations[found]:
                connection.execute(statement)
            found += 1
        connection.execute(f"PRAGMA user_version = {version}")


def _check_sqlite() -> None:
    if sqlite3.sqlite_version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise KnowledgeError(
            f"SQLite {sqlite3.sqlite_version} is too old for the knowledge base, which needs {needed}: use a Python "
            "with a later one, or set `knowledge = off`"
        )


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    try:
        _check_version(connection, path, None)
        if not _version(connection):
            raise KnowledgeError(
                f"the knowledge base {_shown(path)} is empty: it is filled when a session runs"
            )
    except BaseException:
        connection.close()
        raise


def _check_version(connection: sqlite3.Connection, path: Path, newest: int | None) -> None:
    version, application = _version(connection), _application(connection)
    is_empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION and not is_empty:
        raise KnowledgeError(
            f"{_shown(path)} is a database of another program: set `knowledge` to another path"
        )
    if version <= VERSION and foreign_objects(connection, *STATEMENTS):
        raise KnowledgeError(
            f"the knowledge base {_shown(path)} has triggers, views or tables that ua-tui did not make: remove it, "
            "and run `ua-tui knowledge rebuild`"
        )
    if newest is not None and version > newest:
        raise KnowledgeError(
            f"the knowledge base {_shown(path)} is of a later version of ua-tui (its tables are {version}, not "
            f"{newest}): it can be searched but not changed; install that version, or set `knowledge` to another path"
        )


def _check_own(path: Path) -> None:
    def check(connection: sqlite3.Connection) -> None:
        _check_version(connection, path, VERSION)

    try:
        own = is_own_file(path, KIND, check)
    except sqlite3.DatabaseError as error:
        if primary_code(error) not in DAMAGED:
            raise
        # It is set aside when it is opened.
        return
    if not own:
        raise KnowledgeForeign(not_own(path, "it can be searched, but nothing is added to it"))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _application(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def _is_ours(path: Path, error: sqlite3.Error) -> bool:
    """Whether a damaged file may be renamed: the path that a person chose may be that of a file of another kind."""
    is_database = primary_code(error) != sqlite3.SQLITE_NOTADB
    return is_database or path.name == FILE or any(map(os.path.lexists, sidecars(path)[:2]))


def _is_complete(path: Path) -> bool:
    """Whether there is no log with changes that are not in the file."""
    for log in (sidecars(path)[0], sidecars(path)[2]):
        with suppress(FileNotFoundError):
            if os.lstat(log).st_size:
                return False
    return True


def _damaged(path: Path, aside: Path, error: sqlite3.Error) -> KnowledgeDamaged:
    return KnowledgeDamaged(
        f"the knowledge base {_shown(path)} was damaged ({error}): it was set aside as {aside.name}, and is made again "
        "from the sessions",
        aside,
    )


def _shown(path: Path) -> str:
    return clean_line(str(path), 700)
