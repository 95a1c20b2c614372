"""The tables of the file with the jobs of this machine, and what can be wrong with the file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from core.errors import Advice, TeamError
from core.knowledge.database import transaction
from core.text import clean_line

__all__ = ["VERSION", "explain", "update_tables"]

VERSION = 1
"""The version of the tables, which `PRAGMA user_version` has."""

_SCHEMA = """\
CREATE TABLE batch (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    max_cost_usd REAL,
    submitted_at REAL NOT NULL
);
CREATE TABLE job (
    id TEXT NOT NULL UNIQUE,
    batch TEXT NOT NULL REFERENCES batch,
    query TEXT NOT NULL,
    settings TEXT NOT NULL,
    format INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    attempt INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    pid INTEGER,
    limit_usd REAL,
    charged_usd REAL NOT NULL DEFAULT 0,
    cost_usd REAL,
    answer TEXT,
    error TEXT,
    limited INTEGER NOT NULL DEFAULT 0,
    session TEXT,
    folder TEXT NOT NULL DEFAULT '',
    started_at REAL,
    finished_at REAL
);
CREATE INDEX job_batch ON job (batch, state);
CREATE INDEX job_state ON job (state);
CREATE INDEX job_charged ON job (batch, charged_usd) WHERE charged_usd > 0;
CREATE TABLE batch_job (
    batch TEXT NOT NULL REFERENCES batch,
    number INTEGER NOT NULL,
    job TEXT NOT NULL REFERENCES job (id),
    PRIMARY KEY (batch, number)
) WITHOUT ROWID;
CREATE INDEX batch_job_job ON batch_job (job);
"""


def update_tables(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables in an empty file; other modules have tables of their own in it.

    Raises:
        TeamError: the file is of a later version.
    """
    if _is_ready(db, path):
        return
    with transaction(db):
        # Another program may have done it meanwhile.
        if not _is_ready(db, path):
            for statement in filter(str.strip, _SCHEMA.split(";\n")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")


def _is_ready(db: sqlite3.Connection, path: Path) -> bool:
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > VERSION:
        raise TeamError(
            f"{_shown(path)} is of a later version of ua-tui (its tables are {found}, not {VERSION}): "
            "install that version"
        )
    return bool(found == VERSION)


_BY_CODE = {
    sqlite3.SQLITE_FULL: Advice("the disk is full", "free some space"),
    sqlite3.SQLITE_IOERR: Advice("its disk cannot be read or written", "check the disk and its free space"),
    sqlite3.SQLITE_READONLY: Advice("it may not be written", "check its permissions"),
    sqlite3.SQLITE_CANTOPEN: Advice("it cannot be opened", "check its permissions"),
    sqlite3.SQLITE_BUSY: Advice("other programs have been writing to it for too long", "try again"),
    sqlite3.SQLITE_CORRUPT: Advice("it is damaged", "move it away; the sessions stay as they are"),
    sqlite3.SQLITE_NOTADB: Advice("it is not a database", "move it away"),
}


def explain(path: Path, error: OSError | sqlite3.Error) -> TeamError:
    """Return the error for a person."""
    if isinstance(error, OSError):
        advice = Advice(error.strerror or str(error), "check its folder")
    else:
        code = int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        advice = _BY_CODE.get(code) or Advice(clean_line(str(error), 200))
    return TeamError(f"the jobs of this folder, {_shown(path)}, cannot be used: {advice}")


def _shown(path: Path) -> str:
    return clean_line(str(path), 700)
