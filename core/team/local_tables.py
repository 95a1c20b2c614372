"""Tables of this machine's jobs.db besides the jobs: recorded actions, questions with their answers, and commands."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import TeamError
from core.knowledge.database import BUSY_SECONDS, transaction
from core.team.records import SessionId
from core.text import clean_line

__all__ = ["is_current", "local_tables"]

# The same columns as in PostgreSQL; times in seconds since the epoch.
_TABLES = (
    """CREATE TABLE IF NOT EXISTS action (
        session TEXT NOT NULL, key TEXT NOT NULL, attempt INTEGER NOT NULL, tool TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'running', result TEXT,
        started_at REAL NOT NULL, finished_at REAL,
        PRIMARY KEY (session, key, attempt)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS question (
        session TEXT NOT NULL, request TEXT NOT NULL, attempt INTEGER NOT NULL, event TEXT NOT NULL,
        asked_at REAL NOT NULL, answer TEXT, answered_by TEXT, answered_at REAL,
        PRIMARY KEY (session, request))""",
    """CREATE TABLE IF NOT EXISTS command (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, kind TEXT NOT NULL,
        body TEXT NOT NULL DEFAULT '', sent_by TEXT NOT NULL, sent_at REAL NOT NULL, taken_at REAL)""",
    "CREATE INDEX IF NOT EXISTS command_session ON command (session, id)",
)


@contextmanager
def local_tables(path: Path, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
    """Open the file for one transaction, which makes the tables if it `writes`; call it in a thread.

    Raises:
        TeamError: the file cannot be opened, read or written.
    """
    try:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            # An answer may have a secret for the form of a server.
            connection.execute("PRAGMA secure_delete = ON")
            if not writes:
                yield connection
                return
            with transaction(connection):
                for statement in _TABLES:
                    connection.execute(statement)
                yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise TeamError(
            f"the file of the jobs {clean_line(str(path), 300)} cannot be used: {error}; "
            "check the space on its disk and its permissions"
        ) from error


def is_current(connection: sqlite3.Connection, session: SessionId) -> bool:
    """Whether nobody took the session over; one that works on no job belongs to whoever has its folder."""
    if session.job is None:
        return True
    row = connection.execute("SELECT attempt FROM job WHERE id = ?", (session.job,)).fetchone()
    return row is not None and row[0] == session.attempt
