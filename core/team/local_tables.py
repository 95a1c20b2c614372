"""Tables of this machine's jobs.db besides the jobs: recorded actions, questions with their answers, and commands."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ua_tui.core.errors import TeamError
from ua_tui.core.storage.sqlite import connect, transaction
from ua_tui.core.team.jobs.sqlite_tables import check_own, update_tables
from ua_tui.core.team.records import SessionId
from ua_tui.core.text import clean_line


@contextmanager
def local_tables(path: Path, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
    """Open the file for one transaction, which makes the tables if it `writes`; call it in a thread.

    Raises:
        TeamError: the file is not the user's own, or cannot be opened, read or written.
    """
    try:
        check_own(path)
        connection = connect(path, "rwc")
        try:
            # An answer may have a secret for the form of a server.
            connection.execute("PRAGMA secure_delete = ON")
            if not writes:
                yield connection
                return
            update_tables(connection, path)
            with transaction(connection):
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
