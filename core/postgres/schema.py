"""The tables of a team's database: their version, and the migrations that bring them to the version of this program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import resources
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import (
    CHANNEL,
    SCHEMA,
    Connection,
    Connections,
    connect,
    connect_async,
    rows_of,
)
from ua_tui.core.postgres.problems import reporting
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    import psycopg


def migrations() -> list[tuple[int, str]]:
    """The migrations of this program, in their order: (version, SQL)."""
    folder = resources.files("ua_tui.core.postgres") / "migrations"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text()) for name in names]


LATEST = 9
"""The version of the tables that this program needs."""
OLDEST_VERSION = 9
"""The oldest version whose tables can be brought to `LATEST`."""
_SERVES = 8
"""The oldest version of the program that can use tables of version `LATEST`."""
VERSION_QUERY = (
    f"SELECT CASE WHEN serves <= {LATEST} THEN least(version, {LATEST}) ELSE version END"  # noqa: S608 -- numbers
    " FROM (SELECT version, (to_jsonb(m)->>'serves')::int AS serves FROM migration m"
    " ORDER BY version DESC LIMIT 1) AS newest"
)
"""The statement that reads the version of the tables; later ones that serve this program count as its own."""


def check_version(found: int | None, address: Address) -> None:
    """Check that the tables have the version of this program.

    Raises:
        TeamError: they have not.
    """
    if found == LATEST:
        return
    if found is None:
        raise TeamError(
            f"the team's database {address} has no tables that this user may use: as its owner run "
            "`ua-tui team migrate`, or have the owner run `ua-tui team grant USER`"
        )
    if found < OLDEST_VERSION:
        raise TeamError(
            f"the team's database {address} has tables of version {found}, which is too old. Use another database, "
            "or run DROP SCHEMA ua_tui CASCADE as the owner, which removes everything in them"
        )
    if found < LATEST:
        raise TeamError(
            f"the team's database {address} has tables of version {found}, and this program needs version {LATEST}: "
            "run `ua-tui team migrate` as the owner of the database"
        )
    raise TeamError(
        f"the team's database {address} has tables of version {found}, and this program knows {LATEST}: update ua-tui"
    )


async def check_tables(db: Connection, address: Address) -> None:
    """Check that the tables have the version of this program.

    Raises:
        TeamError: they have not.
    """
    rows = await rows_of(db, VERSION_QUERY)
    check_version(rows[0][0] if rows else None, address)


@asynccontextmanager
async def sharing(address: Address, largest: int, within: float | None = None) -> AsyncIterator[Address]:
    """The address with at most so many connections for everything in the block; one that has some stays as it is.

    A request waits for one of them `within` so many seconds, if not for those of `Connections`.

    Raises:
        TeamError: the database cannot be reached, or its tables are of another version.
    """
    if address.connections is not None:
        yield address
        return
    connections = Connections(address, largest=largest, within=within)
    # A pool tries again for a while, and does not say why it fails.
    async with await connect_async(address) as db:
        with reporting(address):
            await check_tables(db, address)
    await connections.open()
    try:
        yield replace(address, connections=connections)
    finally:
        await connections.close()


def migrate(address: Address) -> list[str]:
    """Make the tables, or bring them to the version of this program; returns what was done, one line for each step.

    All steps are one transaction, and only one program migrates at a time.

    Raises:
        TeamError: the database cannot be reached or changed, or its tables are of a later version.
    """
    done: list[str] = []
    with connect(address) as db, reporting(address):
        ((owner, may_migrate),) = db.execute(_OWNER, (SCHEMA,)).fetchall()
        if not may_migrate:
            raise TeamError(
                f"the role {clean_line(db.info.user, 100)} may not create or change the tables in the team's database "
                f"{address}: run `ua-tui team migrate` as the owner of the database"
            )
        if owner not in (None, db.info.user):
            # New tables are the owner's, also where a member of that role migrates.
            _run_for(db, owner, ["SET ROLE {user}"])
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration"
            " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now(), serves integer)"
        )
        with db.transaction():
            # One program at a time; whoever waited finds what the other one did.
            db.execute("LOCK TABLE migration IN SHARE ROW EXCLUSIVE MODE")
            found = next((version for (version,) in db.execute(VERSION_QUERY.encode())), None)
            if found is not None and not OLDEST_VERSION <= found <= LATEST:
                check_version(found, address)
            for version, statements in migrations():
                if version > (found or 0):
                    db.execute(statements.encode())
                    db.execute("INSERT INTO migration (version) VALUES (%s)", (version,))
                    done.append(f"tables of version {version}")
            if done:
                db.execute("UPDATE migration SET serves = %s WHERE version = %s", (_SERVES, LATEST))
            _let_in_members_only(db)
    return done


def grant(address: Address, user: str) -> None:
    """Let a role of the server take part: it sees shared work, submits its own, and answers questions.

    Raises:
        TeamError: there is no such role, or this one may not grant it.
    """
    with _changing_rights(address, user) as db:
        _run_for(db, user, _GRANTS)
        db.execute("UPDATE member SET revoked = false WHERE owner = %s", (user,))


def revoke(address: Address, user: str) -> tuple[int, int]:
    """Take the rights of `grant` from a role, cancel its jobs and end its connections; its rows stay.

    Returns how many jobs were cancelled, and how many run and are being stopped.

    Raises:
        TeamError: there is no such role, or this one may not change its rights.
    """
    from psycopg.errors import InsufficientPrivilege

    with _changing_rights(address, user) as db:
        _run_for(db, user, _REVOKES)
        _let_in_members_only(db)
        cancelled = db.execute(
            "UPDATE job SET state = 'cancelled', error = 'access to the team was revoked'"
            " WHERE owner = %s AND (state IN ('waiting', 'held') OR state = 'needs_you' AND worker_id IS NULL)",
            (user,),
        )
        stopped = db.execute(
            "WITH sent AS (INSERT INTO command (session, kind) SELECT session, 'interrupt' FROM job WHERE owner = %s"
            " AND worker_id IS NOT NULL AND state IN ('running', 'needs_you') RETURNING session)"
            " SELECT pg_notify(%s, 'command ' || session) FROM sent",
            (user, CHANNEL),
        )
        # Last, as whoever claims locks a job before its person.
        db.execute(
            "INSERT INTO member (owner, revoked) VALUES (%s, true) ON CONFLICT (owner) DO UPDATE SET revoked = true",
            (user,),
        )
        # Not allowed to every owner of tables: then its connections find nothing that they may use.
        with suppress(InsufficientPrivilege), db.transaction():
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE usename = %s AND datname = current_database()",
                (user,),
            )
        return cancelled.rowcount, stopped.rowcount


def limit(
    address: Address,
    user: str,
    *,
    cost_per_day: float | None = None,
    jobs: int | None = None,
    tools: list[str] | None = None,
    lift: bool = False,
) -> tuple[float | None, int | None, list[str] | None]:
    """Set what jobs of a role may cost in 24 hours, how many may wait and run, and what they may allow.

    What is None stays, or with `lift` is not limited any more. Returns all three.

    Raises:
        TeamError: there is no such role, or this one may not limit it.
    """
    with _changing_rights(address, user) as db:
        given = {"user": user, "cost": cost_per_day, "jobs": jobs, "tools": tools, "lift": lift}
        ((cost_per_day, jobs, tools),) = db.execute(_LIMIT, given).fetchall()
    return cost_per_day, jobs, tools


@contextmanager
def _changing_rights(address: Address, user: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(address) as db, reporting(address), db.transaction():
        exists = db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (user,)).fetchone()
        if exists is None:
            raise TeamError(
                f"the team's database {address} has no role {clean_line(user, 100)!r}: create it with `createuser`"
            )
        ((owner, may_change),) = db.execute(_OWNER, (SCHEMA,)).fetchall()
        if owner is None:
            check_version(None, address)
        elif not may_change:
            # PostgreSQL would only warn that nothing was granted.
            raise TeamError(
                f"only the owner of the tables in the team's database {address} may change members and their limits"
            )
        yield db


def _run_for(db: psycopg.Connection[Any], user: str, statements: Sequence[str]) -> None:
    from psycopg import sql

    names = {"schema": SCHEMA, "database": db.info.dbname, "user": user}
    for line in statements:
        db.execute(
            sql.SQL(line).format(**{name: sql.Identifier(value or " ") for name, value in names.items()})
        )


def _let_in_members_only(db: psycopg.Connection[Any]) -> None:
    """Close the database to others: new tables are the owner's alone, and whoever restores a dump opens it to all."""
    db.execute("LOCK TABLE migration IN SHARE ROW EXCLUSIVE MODE")
    # Whoever may connect could announce anything to the workers. It does nothing unless this role owns the database.
    _run_for(db, "", ["REVOKE CONNECT ON DATABASE {database} FROM PUBLIC"])
    members = db.execute(
        "SELECT DISTINCT pg_get_userbyid(a.grantee) FROM pg_namespace n, aclexplode(n.nspacl) a"
        " WHERE n.nspname = %s AND a.grantee NOT IN (0, n.nspowner)",
        (SCHEMA,),
    )
    for (user,) in members.fetchall():
        _run_for(db, user, _GRANTS)


# The owner of the tables, and whether this role may change them, or make them where there are none.
_OWNER = """\
SELECT pg_get_userbyid(n.nspowner), coalesce(
    pg_has_role(current_user, n.nspowner, 'MEMBER'), has_database_privilege(current_database(), 'CREATE'))
FROM (VALUES (1)) AS one LEFT JOIN pg_namespace n ON n.nspname = %s
"""
_GRANTS = (
    "GRANT CONNECT ON DATABASE {database} TO {user}",
    "GRANT USAGE ON SCHEMA {schema} TO {user}",
    # What an earlier version granted and this one does not.
    "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {user}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {user}",
    # A worker believes the rest of a job, as only workers write it.
    "GRANT INSERT (id, batch, owner, shared, query, settings, format, limit_usd, position)"
    " ON {schema}.job TO {user}",
    # What follows from its state is written by a trigger, which refuses some of its changes.
    "GRANT UPDATE (state, settings, limit_usd, batch) ON {schema}.job TO {user}",
    "GRANT INSERT (id, owner, shared, title, max_cost_usd, name, run) ON {schema}.batch TO {user}",
    "GRANT UPDATE (title, max_cost_usd, paused) ON {schema}.batch TO {user}",
    "GRANT INSERT (owner, name, shared, every, zone, jobs, max_cost_usd, next_at) ON {schema}.schedule TO {user}",
    "GRANT UPDATE (shared, every, zone, jobs, max_cost_usd, next_at, missed_at) ON {schema}.schedule TO {user}",
    "GRANT DELETE ON {schema}.schedule TO {user}",
    "GRANT UPDATE (name, host, worker, attempt, version, conversation, state, title, activity, calls, cost_usd,"
    " seen_at, finished_at) ON {schema}.session TO {user}",
    "GRANT INSERT ON {schema}.batch_job, {schema}.session, {schema}.piece, {schema}.artifact, {schema}.blob,"
    " {schema}.command TO {user}",
    "GRANT INSERT (session, request, attempt, event) ON {schema}.question TO {user}",
    # Whoever may change or remove whole rows of a table may lock it.
    "GRANT UPDATE (sha256, size, place, saved_at) ON {schema}.artifact TO {user}",
    "GRANT DELETE ON {schema}.piece TO {user}",
    "GRANT UPDATE (checked_by) ON {schema}.action TO {user}",
    "GRANT UPDATE (answer, answered_by, answered_at) ON {schema}.question TO {user}",
    "GRANT INSERT, UPDATE, DELETE ON {schema}.k_session, {schema}.k_call, {schema}.k_document, {schema}.k_chunk,"
    " {schema}.k_vector TO {user}",
    "GRANT INSERT ON {schema}.k_forgotten TO {user}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {user}",
)
_LIMIT = """\
INSERT INTO member AS m (owner, max_cost_day, max_jobs, tools) VALUES (%(user)s, %(cost)s, %(jobs)s, %(tools)s)
ON CONFLICT (owner) DO UPDATE SET
    max_cost_day = coalesce(EXCLUDED.max_cost_day, CASE WHEN NOT %(lift)s THEN m.max_cost_day END),
    max_jobs = coalesce(EXCLUDED.max_jobs, CASE WHEN NOT %(lift)s THEN m.max_jobs END),
    tools = coalesce(EXCLUDED.tools, CASE WHEN NOT %(lift)s THEN m.tools END)
RETURNING max_cost_day, max_jobs, tools
"""
_REVOKES = (
    "REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {user}",
    "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {user}",
    "REVOKE ALL ON SCHEMA {schema} FROM {user}",
    "REVOKE ALL ON DATABASE {database} FROM {user}",
)
