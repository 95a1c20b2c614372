"""Recognises the SQLite files that this user's program made, and refuses those with statements of others in them."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from secrets import token_hex

from ua_tui.core.errors import Advice, advice_code, advise
from ua_tui.core.storage.ownership import is_sealed, seal
from ua_tui.core.text import clean_line

MARK = "CREATE TABLE IF NOT EXISTS mark(id TEXT NOT NULL, seal TEXT NOT NULL)"
"""The table by which the file is recognised; it is a part of the schema of each such file."""


def mark_own(db: sqlite3.Connection, kind: str, path: Path) -> None:
    """Make a file the user's own, within a transaction of the caller."""
    db.execute(MARK)
    db.execute("DELETE FROM mark")
    number = token_hex(16)
    db.execute("INSERT INTO mark(id, seal) VALUES (?, ?)", (number, seal(kind, path.parent, number)))


def is_own(db: sqlite3.Connection, kind: str, path: Path) -> bool:
    """Whether this user's program made, or adopted, a file."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'mark'").fetchone():
        return False
    return any(
        is_sealed(code, kind, path.parent, number) for number, code in db.execute("SELECT id, seal FROM mark")
    )


def foreign_objects(db: sqlite3.Connection, *statements: str) -> list[str]:
    """What these statements of the program do not make in a file: triggers, views and other tables or indexes.

    Somebody else's statements would run with those of the program, and could change what it stores.
    """
    made = _made_by((*statements, MARK))
    found = db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    return [
        str(name)
        for kind, name, sql in found
        # Those of SQLite itself: statistics, and the indexes of keys.
        if (kind, name, sql) not in made
        and not (kind in ("table", "index") and str(name).startswith("sqlite_"))
    ]


def is_own_file(path: Path, kind: str, check: Callable[[sqlite3.Connection], object]) -> bool:
    """Whether a file, which is only read, is the user's own, or nobody's; `check` looks at it first.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    if not path.exists():
        return True
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        try:
            check(db)
            is_empty = db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
            return is_empty or is_own(db, kind, path)
        except sqlite3.OperationalError as error:
            # To finish what a killed program began would be to write.
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
                return False
            raise


@cache
def _made_by(statements: tuple[str, ...]) -> frozenset[tuple[str, str, str | None]]:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in statements:
            db.execute(statement)
        return frozenset(map(tuple, db.execute("SELECT type, name, sql FROM sqlite_master")))


def file_advice(error: OSError | sqlite3.Error, *, again: str, elsewhere: str = "") -> Advice:
    """Return the advice for a file of SQLite; `again` says what to do about damage."""
    if isinstance(error, OSError):
        name = errno.errorcode.get(error.errno or 0, "")
        unknown = Advice(error.strerror or str(error), "check its folder")
    else:
        name = getattr(error, "sqlite_errorname", "")
        unknown = Advice(clean_line(str(error), 300), "`ua-tui doctor` checks the installation")
    code = advice_code("database", name)
    return advise(code, again=again, elsewhere=elsewhere) if code else unknown
