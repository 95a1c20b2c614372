"""The tables of a team's database: which version they have, and the migrations that bring them to this one's."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from core.errors import TeamError
from core.postgres.address import Address
from core.postgres.connection import SCHEMA, connect
from core.postgres.problems import reporting

if TYPE_CHECKING:
    import psycopg

__all__ = ["LATEST", "VERSION_QUERY", "check_version", "grant", "migrate", "migrations"]

_LOCK = 0x75617475
"""The number of the lock that one migration at a time holds."""
VERSION_QUERY = "SELECT max(version) FROM migration"
"""The statement that reads the version of the tables."""


def migrations() -> list[tuple[int, str]]:
    """The migrations of this program, in their order: (version, SQL)."""
    folder = resources.files("core.postgres") / "migrations"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text()) for name in names]


LATEST = 2
"""The version of the tables that this program needs."""


def check_version(found: int | None, address: Address) -> None:
    """Check that the tables have the version of this program.

    Raises:
        TeamError: they have not.
    """
    if found == LATEST:
        return
    if found is None or found < LATEST:
        state = "no tables of ua-tui" if found is None else f"tables of version {found}"
        raise TeamError(
            f"the team's database {address} has {state}, and this program needs version {LATEST}: "
            "run `ua-tui team migrate` as the owner of the database"
        )
    raise TeamError(
        f"the team's database {address} has tables of version {found}, and this program knows {LATEST}: update ua-tui"
    )


def migrate(address: Address) -> list[str]:
    """Make the tables, or bring them to the version of this program; returns what was done, one line for each step.

    Each step is one transaction, and only one program migrates at a time.

    Raises:
        TeamError: the database cannot be reached or changed, or its tables are of a later version.
    """
    done: list[str] = []
    with connect(address) as db, reporting(address):
        db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration"
            " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        db.execute(
            "CREATE TABLE IF NOT EXISTS queue_migration"
            " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        row = db.execute(VERSION_QUERY).fetchone()
        found = row[0] if row else None
        if found is not None and found > LATEST:
            check_version(found, address)
        done += _migrate_queue(db)
        for version, statements in migrations():
            if found is None or version > found:
                with db.transaction():
                    db.execute(statements.encode())
                    db.execute("INSERT INTO migration (version) VALUES (%s)", (version,))
                done.append(f"tables of version {version}")
    return done


def _migrate_queue(db: psycopg.Connection[Any]) -> list[str]:
    """Make the tables of procrastinate, or bring them to its installed version."""
    folder = resources.files("procrastinate") / "sql"
    names = sorted(each.name for each in (folder / "migrations").iterdir() if each.name.endswith(".sql"))
    known = {name for (name,) in db.execute("SELECT name FROM queue_migration")}
    new = [name for name in names if name not in known]
    if not new:
        return []
    with db.transaction():
        if known:
            for name in new:
                db.execute((folder / "migrations" / name).read_bytes())
        else:
            db.execute((folder / "schema.sql").read_bytes())
        with db.cursor() as cursor:
            cursor.executemany("INSERT INTO queue_migration (name) VALUES (%s)", [(name,) for name in new])
    return ["tables of the queue"]


def grant(address: Address, user: str) -> None:
    """Let a role of the server take part: it sees shared work, hands in its own, and answers questions.

    Raises:
        TeamError: there is no such role, or this one may not grant it.
    """
    from psycopg import sql

    with connect(address) as db, reporting(address), db.transaction():
        exists = db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (user,)).fetchone()
        if exists is None:
            raise TeamError(
                f"the team's database {address} has no role {user!r}: create it with `createuser`"
            )
        for line in _GRANTS:
            db.execute(sql.SQL(line).format(schema=sql.Identifier(SCHEMA), user=sql.Identifier(user)))


_GRANTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {user}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {user}",
    "GRANT INSERT ON {schema}.batch, {schema}.job, {schema}.batch_job, {schema}.session, {schema}.journal,"
    " {schema}.artifact, {schema}.blob, {schema}.entry, {schema}.command, {schema}.question TO {user}",
    "GRANT UPDATE ON {schema}.session, {schema}.artifact, {schema}.batch TO {user}",
    "GRANT UPDATE (answer, answered_by, answered_at) ON {schema}.question TO {user}",
    "GRANT UPDATE (state, settings, limit_usd, limited, charged_usd, error, batch, finished_at)"
    " ON {schema}.job TO {user}",
    "GRANT INSERT ON {schema}.procrastinate_jobs, {schema}.procrastinate_events TO {user}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {user}",
)
