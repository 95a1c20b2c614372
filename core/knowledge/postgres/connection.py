"""A connection to the knowledge base of a team, which is made again when it was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from ua_tui.core.errors import KnowledgeError, TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import connect
from ua_tui.core.postgres.problems import describe, is_temporary
from ua_tui.core.postgres.schema import VERSION_QUERY, check_version

Connection = psycopg.Connection[TupleRow]
T = TypeVar("T")
_readers: WeakKeyDictionary[Connection, str] = WeakKeyDictionary()


class Link:
    """One connection, opened when it is first needed; use it in one thread at a time.

    If the program shares its connections, one of them is borrowed while something is read or written.
    Every method raises `KnowledgeError` if the database cannot be used.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._db: Connection | None = None

    @contextmanager
    def using(self) -> Iterator[Connection]:
        """The connection, in autocommit mode."""
        shared = self.address.connections
        if shared is None or self._db is not None:
            yield self._open()
            return
        with reporting(self.address), shared.threads.connection() as db:
            # Each use of a shared connection comes by here: it has the reader of the last one.
            if _readers.get(db) != self.address.reader:
                db.execute("SELECT set_config('ua_tui.reader', %s, false)", (self.address.reader,))
                _readers[db] = self.address.reader
            self._db = db
            try:
                yield db
            finally:
                self._db = None

    def _open(self) -> Connection:
        if self.db_is_lost:
            self.close()
        if self._db is None:
            with reporting(self.address):
                db = connect(self.address)
                try:
                    row = db.execute(VERSION_QUERY.encode()).fetchone()
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
                with self.using() as db:
                    return work(db)
            except psycopg.Error as error:
                if not was_open or not is_temporary(error) or not self.db_is_lost:
                    raise
            self.close()
            with self.using() as db:
                return work(db)

    @property
    def db_is_lost(self) -> bool:
        """Whether there is no connection that works."""
        return self._db is None or self._db.closed or self._db.broken

    def close(self) -> None:
        """Close a connection of its own; the next use opens it again."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(psycopg.Error):
                db.close()


def run(db: Connection, statement: str, values: Mapping[str, object]) -> psycopg.Cursor[TupleRow]:
    """Run a statement; a list of tuples is given as JSON."""
    given = {
        name: Jsonb(value) if isinstance(value, list) and value and isinstance(value[0], tuple) else value
        for name, value in values.items()
    }
    return db.execute(statement.encode(), given)


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
