"""The tables of a team's database: which version they have, and the migrations that bring them to this one's."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import SCHEMA, connect
from ua_tui.core.postgres.problems import reporting
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    import psycopg

_LOCK = 0x75617475
"""The number of the lock that one migration at a time holds."""
VERSION_QUERY = "SELECT max(version) FROM migration"
"""The statement that reads the version of the tables."""


def migrations() -> list[tuple[int, str]]:
    """The migrations of this program, in their order: (version, SQL)."""
    folder = resources.files("ua_tui.core.postgres") / "migrations"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text()) for name in names]


LATEST = 3
"""The version of the tables that this program needs."""
_LAST_OTHER_KNOWLEDGE = 2
"""The version whose knowledge base is emptied by the migration."""


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
    if found < LATEST:
        raise TeamError(
            f"the team's database {address} has tables of version {found}, and this program needs version {LATEST}: "
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
        if problem := _may_not_migrate(db, address):
            raise problem
        db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        _become_owner(db)
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
        if found == _LAST_OTHER_KNOWLEDGE:
            done.append(
                "the knowledge base is empty: `ua-tui knowledge rebuild`, on each machine, fills it again"
            )
        if done:
            # New tables are nobody's but the owner's.
            with db.transaction():
                for user in _members(db):
                    _run_for(db, user, _GRANTS)
    return done


def _may_not_migrate(db: psycopg.Connection[Any], address: Address) -> TeamError | None:
    """The error if this role may neither make the schema nor is its owner, or a member of that role."""
    row = db.execute(
        "SELECT CASE WHEN n.oid IS NULL"
        " THEN has_database_privilege(current_database(), 'CREATE')"
        " ELSE pg_has_role(current_user, n.nspowner, 'MEMBER') END"
        " FROM (VALUES (1)) AS one LEFT JOIN pg_namespace n ON n.nspname = %s",
        (SCHEMA,),
    ).fetchone()
    if row and row[0]:
        return None
    return TeamError(
        f"the team's database {address}: the role {clean_line(db.info.user, 100)} may not make or change the tables: "
        "run `ua-tui team migrate` as the owner of the database"
    )


def _become_owner(db: psycopg.Connection[Any]) -> None:
    """Make new tables those of the owner of the schema, also where a member of that role migrates."""
    from psycopg import sql

    row = db.execute(
        "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = %s", (SCHEMA,)
    ).fetchone()
    if row is not None and row[0] != db.info.user:
        db.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(row[0])))


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
    """Let a role of the server take part: it sees shared work, submits its own, and answers questions.

    Raises:
        TeamError: there is no such role, or this one may not grant it.
    """
    _change_rights(address, user, _GRANTS)


def revoke(address: Address, user: str) -> None:
    """Take the rights of `grant` from a role; its rows stay.

    Raises:
        TeamError: there is no such role, or this one may not change its rights.
    """
    _change_rights(address, user, _REVOKES)


def _change_rights(address: Address, user: str, statements: Sequence[str]) -> None:
    with connect(address) as db, reporting(address), db.transaction():
        exists = db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (user,)).fetchone()
        if exists is None:
            raise TeamError(
                f"the team's database {address} has no role {clean_line(user, 100)!r}: create it with `createuser`"
            )
        row = db.execute(
            "SELECT pg_has_role(current_user, nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = %s",
            (SCHEMA,),
        ).fetchone()
        if row is None:
            check_version(None, address)
        elif not row[0]:
            # PostgreSQL would only warn that nothing was granted.
            raise TeamError(
                f"the team's database {address}: only the owner of the tables may change who takes part"
            )
        _run_for(db, user, statements)


def _run_for(db: psycopg.Connection[Any], user: str, statements: Sequence[str]) -> None:
    from psycopg import sql

    for line in statements:
        db.execute(sql.SQL(line).format(schema=sql.Identifier(SCHEMA), user=sql.Identifier(user)))


def _members(db: psycopg.Connection[Any]) -> list[str]:
    """The roles that were granted access."""
    rows = db.execute(
        "SELECT DISTINCT pg_get_userbyid(a.grantee) FROM pg_namespace n, aclexplode(n.nspacl) a"
        " WHERE n.nspname = %s AND a.grantee NOT IN (0, n.nspowner)",
        (SCHEMA,),
    )
    return [name for (name,) in rows]


_GRANTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {user}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {user}",
    # A worker believes the rest of a job, as only workers write it.
    "GRANT INSERT (id, batch, owner, shared, query, settings, format, limit_usd) ON {schema}.job TO {user}",
    "GRANT UPDATE (state, settings, limit_usd, limited, error, batch, finished_at) ON {schema}.job TO {user}",
    "GRANT INSERT (id, owner, shared, title, max_cost_usd) ON {schema}.batch TO {user}",
    "GRANT UPDATE (title, max_cost_usd) ON {schema}.batch TO {user}",
    "GRANT UPDATE (name, host, worker, attempt, version, conversation, state, title, activity, calls, cost_usd,"
    " seen_at, finished_at) ON {schema}.session TO {user}",
    "GRANT INSERT ON {schema}.batch_job, {schema}.session, {schema}.journal, {schema}.artifact, {schema}.blob,"
    " {schema}.entry, {schema}.summary, {schema}.command, {schema}.question TO {user}",
    "GRANT UPDATE ON {schema}.artifact, {schema}.summary TO {user}",
    "GRANT DELETE ON {schema}.entry, {schema}.summary TO {user}",
    "GRANT UPDATE (answer, answered_by, answered_at) ON {schema}.question TO {user}",
    "GRANT INSERT, UPDATE, DELETE ON {schema}.k_session, {schema}.k_call, {schema}.k_document, {schema}.k_chunk,"
    " {schema}.k_citation, {schema}.k_vector TO {user}",
    "GRANT INSERT ON {schema}.k_forgotten TO {user}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {user}",
)
_REVOKES = (
    "REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {user}",
    "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {user}",
    "REVOKE ALL ON SCHEMA {schema} FROM {user}",
)
