"""A connection to the knowledge base of a team, which is made again when it was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import psycopg
from psycopg.rows import TupleRow

from ua_tui.core.errors import KnowledgeError, TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import connect
from ua_tui.core.postgres.problems import describe, is_temporary
from ua_tui.core.postgres.schema import VERSION_QUERY, check_version

Connection = psycopg.Connection[TupleRow]
T = TypeVar("T")


class Link:
    """One connection, opened when it is first needed; use it in one thread at a time.

    Every method raises `KnowledgeError` if the database cannot be used.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._db: Connection | None = None

    @property
    def db(self) -> Connection:
        """The open connection, in autocommit mode."""
        if self._db is not None and (self._db.closed or self._db.broken):
            self.close()
        if self._db is None:
            with reporting(self.address):
                db = connect(self.address)
                try:
                    row = db.execute(VERSION_QUERY).fetchone()
                    check_version(None if row is None else row[0], self.address)
                except BaseException:
                    db.close()
                    raise
            self._db = db
        return self._db

    def read(self, work: Callable[[Connection], T]) -> T:
        """Read something; once more over a new connection if the old one was lost, as by a restart of the server."""
        was_open = self._db is not None
        with reporting(self.address):
            try:
                return work(self.db)
            except psycopg.Error as error:
                if not was_open or not is_temporary(error) or not self.db_is_lost:
                    raise
            self.close()
            return work(self.db)

    @property
    def db_is_lost(self) -> bool:
        """Whether there is no connection that works."""
        return self._db is None or self._db.closed or self._db.broken

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(psycopg.Error):
                db.close()


@contextmanager
def cancelled_when(stopped: Callable[[], bool], db: Connection, every: float = 0.02) -> Iterator[None]:
    """Cancel the statement that runs in the block once `stopped` returns True."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(every):
            if stopped():
                with suppress(psycopg.Error):
                    db.cancel_safe(timeout=1.0)
                return

    watcher = threading.Thread(target=watch, name="knowledge-cancel", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


@contextmanager
def reporting(address: Address) -> Iterator[None]:
    """Raise a `KnowledgeError` for every error of the database in the block."""
    try:
        yield
    except psycopg.Error as error:
        raise KnowledgeError(f"the knowledge base {address}: {describe(error)}") from error
    except TeamError as error:
        raise KnowledgeError(f"the knowledge base cannot be used: {error}") from error
