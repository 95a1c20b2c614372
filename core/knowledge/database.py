"""Opens the file of the knowledge base: for one writer at a time, and for any number of readers beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import KnowledgeError
from core.knowledge.schema import SCHEMA, VERSION
from core.knowledge.segments import indexed
from core.settings.model import Settings
from core.storage.workspace import WORKSPACES

__all__ = ["FILE", "database_path", "open_reader", "open_writer", "transaction"]

FILE = "knowledge.db"
BUSY_SECONDS = 5.0
"""How long a statement waits for another program."""


def database_path(settings: Settings) -> Path | None:
    """Where the knowledge base of a session is; None if the settings turn it off."""
    match settings.knowledge:
        case "off":
            return None
        case "on":
            return settings.workspace_base / WORKSPACES / FILE
        case path:
            return path


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the file for writing, and make it if it is missing.

    The connection may be used in any one thread at a time; it has no open transaction.

    Raises:
        KnowledgeError: it cannot be opened.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o600))
        connection = _connect(path, "rw")
        # Three or four passages fill a page of 4096 bytes badly; this has an effect on a file that is made.
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        _make_tables(connection)
    except (OSError, sqlite3.Error) as error:
        raise KnowledgeError(f"the knowledge base {path} cannot be opened: {error}") from error
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the file for reading only.

    Raises:
        KnowledgeError: it is missing or cannot be opened.
    """
    try:
        connection = _connect(path, "ro")
        connection.execute("SELECT 1 FROM session LIMIT 1")
    except sqlite3.Error as error:
        raise KnowledgeError(f"the knowledge base {path} cannot be opened: {error}") from error
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one transaction that may write; an exception undoes it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.create_function("indexed", 1, indexed, deterministic=True)
    return connection


def _make_tables(connection: sqlite3.Connection) -> None:
    def version() -> int:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])

    if version():
        return
    with transaction(connection):
        # Another program may have made them meanwhile.
        if not version():
            for statement in filter(str.strip, SCHEMA.split(";\n")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
