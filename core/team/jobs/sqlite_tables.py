"""The tables of the file with the jobs of this machine, by which it is recognised, and what can be wrong with it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

from ua_tui.core.errors import TeamError
from ua_tui.core.storage.ownership import not_own, sealer
from ua_tui.core.storage.sqlite import (
    connect,
    file_advice,
    foreign_objects,
    is_own_file,
    mark_own,
    transaction,
)
from ua_tui.core.text import clean_line

VERSION = 2
"""The version of the tables, which `PRAGMA user_version` has."""

_SCHEMA = """\
CREATE TABLE IF NOT EXISTS batch (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    max_cost_usd REAL,
    submitted_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS job (
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
CREATE INDEX IF NOT EXISTS job_batch ON job (batch, state);
CREATE INDEX IF NOT EXISTS job_state ON job (state);
CREATE INDEX IF NOT EXISTS job_charged ON job (batch, charged_usd) WHERE charged_usd > 0;
CREATE TABLE IF NOT EXISTS batch_job (
    batch TEXT NOT NULL REFERENCES batch,
    number INTEGER NOT NULL,
    job TEXT NOT NULL REFERENCES job (id),
    PRIMARY KEY (batch, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS batch_job_job ON batch_job (job);
CREATE TABLE IF NOT EXISTS seal (
    job TEXT PRIMARY KEY,
    code TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS action (
        session TEXT NOT NULL, key TEXT NOT NULL, attempt INTEGER NOT NULL, tool TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'running', result TEXT,
        started_at REAL NOT NULL, finished_at REAL,
        PRIMARY KEY (session, key, attempt)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS question (
        session TEXT NOT NULL, request TEXT NOT NULL, attempt INTEGER NOT NULL, event TEXT NOT NULL,
        asked_at REAL NOT NULL, answer TEXT, answered_by TEXT, answered_at REAL,
        PRIMARY KEY (session, request));
CREATE TABLE IF NOT EXISTS command (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, kind TEXT NOT NULL,
        body TEXT NOT NULL DEFAULT '', sent_by TEXT NOT NULL, sent_at REAL NOT NULL, taken_at REAL);
CREATE INDEX IF NOT EXISTS command_session ON command (session, id);
"""
_STATEMENTS = tuple(filter(str.strip, _SCHEMA.split(";\n")))
_KIND = "jobs"
# What a job runs, with which rights and at which price, how it ended, and where its session is.
_COLUMNS = (
    "id", "batch", "query", "settings", "format", "limit_usd", "state", "answer", "error", "session", "folder",
)  # fmt: skip


def _code(row: str) -> str:
    return f"seal_of({', '.join(f'{row}.{column}' for column in _COLUMNS)})"


SEALED = f"coalesce((SELECT code FROM seal WHERE job = job.id) = {_code('job')}, 0)"  # noqa: S608
"""Whether a row of `job` is as this user's program stored it, in a statement of a connection with `keep_seals`."""
_STORE = f"INSERT OR REPLACE INTO seal (job, code) SELECT id, {_code('job')} FROM job"  # noqa: S608
# They are in the connection, not in the file. A row that somebody else changed stays so.
_KEEP = (
    f"CREATE TEMP TRIGGER sealed AFTER INSERT ON main.job BEGIN {_STORE} WHERE id = new.id; END",
    "CREATE TEMP TRIGGER sealed_again AFTER UPDATE ON main.job WHEN"  # noqa: S608
    f" (SELECT code FROM seal WHERE job = old.id) = {_code('old')} BEGIN {_STORE} WHERE id = new.id; END",
)


def keep_seals(db: sqlite3.Connection, path: Path) -> None:
    """Have a connection seal each job that it stores or changes."""
    db.create_function("seal_of", len(_COLUMNS), sealer("job", path.parent), deterministic=True)
    for statement in _KEEP:
        db.execute(statement)


def check_own(path: Path) -> None:
    """Refuse a file that this user's program did not make, or that has more in it than the program's own tables.

    Raises:
        TeamError: it is such a file, or one of a later version.
        sqlite3.Error: it cannot be read.
    """
    if not is_own_file(path, _KIND, partial(_check_objects, path)):
        raise TeamError(not_own(path, "its jobs are not run"))


def adopt_jobs(path: Path) -> None:
    """Make a file the user's own, as it is: every query, rule and answer in it counts.

    Raises:
        TeamError: it is of a later version, or has more in it than the program's own tables.
        sqlite3.Error: it cannot be written.
    """
    is_own_file(path, _KIND, partial(_check_objects, path))
    with closing(connect(path, "rwc")) as db, transaction(db):
        _make_tables(db, path)
        keep_seals(db, path)
        db.execute("DELETE FROM seal")
        db.execute(_STORE)


def _check_objects(path: Path, db: sqlite3.Connection) -> None:
    _is_ready(db, path)
    if found := foreign_objects(db, *_STATEMENTS):
        raise TeamError(
            f"{_shown(path)} has triggers, views or tables that ua-tui did not make "
            f"({clean_line(', '.join(found), 100)}), so its jobs are not run: move it away"
        )


def update_tables(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables in an empty file, which is the user's own then.

    Raises:
        TeamError: the file is of a later version.
    """
    if _is_ready(db, path):
        return
    with transaction(db):
        # Another program may have done it meanwhile.
        if not _is_ready(db, path):
            _make_tables(db, path)


def _make_tables(db: sqlite3.Connection, path: Path) -> None:
    for statement in _STATEMENTS:
        db.execute(statement)
    mark_own(db, _KIND, path)
    db.execute(f"PRAGMA user_version = {VERSION}")


def _is_ready(db: sqlite3.Connection, path: Path) -> bool:
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > VERSION:
        raise TeamError(
            f"{_shown(path)} is of a later version of ua-tui (its tables are {found}, not {VERSION}): "
            "install that version"
        )
    return bool(found == VERSION)


def explain(path: Path, error: OSError | sqlite3.Error) -> TeamError:
    """Return the error for a person."""
    advice = file_advice(error, again="move it away; the sessions stay as they are")
    problem = f"the jobs of this folder, {_shown(path)}, cannot be used: {advice.problem}"
    return TeamError(advice._replace(problem=problem))


def _shown(path: Path) -> str:
    return clean_line(str(path), 700)
