"""The statements that write a session to PostgreSQL; each checks that no other worker continues the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.agent.conversation.store import encode_entry
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.connection import CHANNEL
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replication.live_state import StateRow
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.AsyncConnection[Any]


class Superseded(TeamError):
    """Another worker continues the session: whoever raised this may write no more of it."""


async def register(
    db: Connection, identity: SessionId, *, name: str, host: str, worker: str, claimed: bool
) -> None:
    """Make the session's row, or make it that of this attempt.

    A session that was `claimed`, as a job is, has its attempt from whoever gave the claim. Otherwise two programs may
    have resumed copies of one folder: the first one has the attempt.

    Raises:
        Superseded: another worker continues the session.
    """
    here = {"name": name, "host": host, "worker": worker, "claimed": claimed, "version": VERSION}
    await _fetch_ours(db, _REGISTER, identity, here)


async def write_lines(
    db: Connection, identity: SessionId, row: StateRow, lines: Sequence[tuple[int, str]]
) -> None:
    """Write lines of the journal and the state, and announce them, in one round trip.

    Raises:
        Superseded: another worker continues the session.
    """
    new = {"seqs": [seq for seq, _ in lines], "lines": [line for _, line in lines]}
    await _fetch_ours(db, _WRITE, identity, asdict(row) | new)


async def add_artifact(
    db: Connection,
    identity: SessionId,
    *,
    path: str,
    sha256: str,
    size: int,
    place: str | None,
    data: bytes | None,
) -> None:
    """Record a file of the session, with its content if it is small, and announce it.

    Raises:
        Superseded: another worker continues the session.
    """
    file = {"path": path, "sha256": sha256, "size": size, "place": place, "data": data}
    await _fetch_ours(db, _ARTIFACT, identity, file)


async def last_seq(db: Connection, session: str) -> int:
    """The highest `seq` of the journal's lines that are stored; 0 if there are none."""
    found = await db.execute("SELECT coalesce(max(seq), 0) FROM journal WHERE session = %s", (session,))
    row = await found.fetchone()
    return int(row[0]) if row is not None else 0


async def clear(db: Connection, identity: SessionId) -> None:
    """Remove the journal and the files of earlier attempts, as the session begins again.

    Raises:
        Superseded: another worker continues the session.
    """
    await _fetch_ours(db, _CLEAR, identity, {})


async def known_artifacts(db: Connection, session: str) -> dict[str, str]:
    """The files that are stored: their paths, each with its SHA-256."""
    found = await db.execute("SELECT path, sha256 FROM artifact WHERE session = %s", (session,))
    return dict(await found.fetchall())


async def transcript_end(
    db: Connection, identity: SessionId, key: dict[str, str]
) -> tuple[str | None, list[str]]:
    """The `uuid` of the last stored entry that has one, and the entries behind it."""
    names = (identity.id, key["session_id"], key.get("subpath", ""), identity.owner)
    found = await db.execute(_LAST_ENTRY.encode(), names)
    number, uuid = await found.fetchone() or (0, None)
    rest = await db.execute(_ENTRIES_BEHIND.encode(), (*names, number))
    return uuid, [entry for (entry,) in await rest.fetchall()]


async def append_entries(
    db: Connection, identity: SessionId, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]
) -> None:
    """Append entries to a transcript, in their order; one with a `uuid` is stored once.

    Raises:
        Superseded: another worker continues the session.
    """
    values = {
        "project": key["project_key"],
        "session": key["session_id"],
        "subpath": key.get("subpath") or "",
        "uuids": [uuid if isinstance(uuid := each.get("uuid"), str) else None for each in entries],
        "entries": [encode_entry(each) for each in entries],
    }
    await _fetch_ours(db, _APPEND, identity, values)


async def _fetch_ours(db: Connection, statement: str, identity: SessionId, values: dict[str, Any]) -> None:
    """Run a statement that returns a row if the session is still that of this attempt."""
    given = msgspec.structs.asdict(identity) | {"channel": CHANNEL} | values
    done = await db.execute(statement.encode(), given)
    if await done.fetchone() is None:
        raise Superseded("another worker continues this session")


# Anybody may add entries in their own name: they are no part of it.
_CLEAR = """
    WITH mine AS (
        SELECT id FROM session WHERE id = %(id)s AND attempt = %(attempt)s FOR SHARE
    ), files AS (
        DELETE FROM artifact USING mine WHERE session = mine.id
    ), lines AS (
        DELETE FROM journal USING mine WHERE session = mine.id
    )
    SELECT 1 FROM mine
"""
_LAST_ENTRY = """
    SELECT id, uuid FROM entry WHERE project = %s AND session = %s AND subpath = %s
    AND owner = coalesce(%s, current_user) AND uuid IS NOT NULL ORDER BY id DESC LIMIT 1
"""
_ENTRIES_BEHIND = """
    SELECT entry FROM entry WHERE project = %s AND session = %s AND subpath = %s
    AND owner = coalesce(%s, current_user) AND id > %s ORDER BY id
"""
_APPEND = """
    WITH mine AS (
        SELECT id FROM session WHERE id = %(id)s AND attempt = %(attempt)s FOR SHARE
    ), new AS (
        INSERT INTO entry (owner, shared, project, session, subpath, uuid, entry)
        SELECT coalesce(%(owner)s, current_user), %(shared)s, %(project)s, %(session)s, %(subpath)s, e.uuid, e.entry
        FROM mine, unnest(%(uuids)s::text[], %(entries)s::text[]) WITH ORDINALITY AS e(uuid, entry, number)
        ORDER BY e.number
        ON CONFLICT (project, session, subpath, uuid) WHERE uuid IS NOT NULL DO NOTHING
    )
    SELECT 1 FROM mine
"""
_REGISTER = """
    INSERT INTO session AS s (id, job, owner, shared, name, host, worker, attempt, version, state)
    VALUES (%(id)s, %(job)s, coalesce(%(owner)s, current_user), %(shared)s, %(name)s, %(host)s, %(worker)s,
        %(attempt)s, %(version)s, 'starting')
    ON CONFLICT (id) DO UPDATE SET
        name = EXCLUDED.name, host = EXCLUDED.host, attempt = EXCLUDED.attempt, version = EXCLUDED.version,
        worker = CASE WHEN %(claimed)s AND s.worker <> '' THEN s.worker ELSE EXCLUDED.worker END,
        state = CASE WHEN s.attempt = EXCLUDED.attempt THEN s.state ELSE 'starting' END,
        seen_at = now(), finished_at = NULL
    WHERE s.attempt < EXCLUDED.attempt
        OR (s.attempt = EXCLUDED.attempt AND (%(claimed)s OR s.worker = EXCLUDED.worker))
    RETURNING 1
"""
# The row is locked by its update: a takeover waits for that, or this statement finds the attempt of the takeover.
_WRITE = """
    WITH mine AS (
        UPDATE session SET state = %(state)s, activity = %(activity)s, calls = %(calls)s,
            title = CASE WHEN %(titled)s THEN %(title)s ELSE coalesce(nullif(title, ''), %(title)s) END,
            cost_usd = %(cost_usd)s, conversation = coalesce(%(conversation)s, conversation), seen_at = now(),
            finished_at = CASE WHEN %(state)s IN ('done', 'failed') THEN coalesce(finished_at, now()) END
        WHERE id = %(id)s AND attempt = %(attempt)s RETURNING id
    ), new AS (
        INSERT INTO journal (session, seq, line)
        SELECT mine.id, l.seq, l.line FROM mine, unnest(%(seqs)s::bigint[], %(lines)s::text[]) AS l(seq, line)
        ON CONFLICT (session, seq) DO NOTHING
    )
    SELECT pg_notify(%(channel)s, 'session ' || id) FROM mine
"""
_ARTIFACT = """
    WITH mine AS (
        SELECT id, owner FROM session WHERE id = %(id)s AND attempt = %(attempt)s FOR SHARE
    ), content AS (
        INSERT INTO blob (owner, sha256, data)
        SELECT owner, %(sha256)s, %(data)s::bytea FROM mine
        WHERE %(data)s::bytea IS NOT NULL
        ON CONFLICT (owner, sha256) DO NOTHING
    ), file AS (
        INSERT INTO artifact (session, path, sha256, size, place)
        SELECT id, %(path)s, %(sha256)s, %(size)s, %(place)s FROM mine
        ON CONFLICT (session, path) DO UPDATE SET sha256 = EXCLUDED.sha256, size = EXCLUDED.size,
            place = EXCLUDED.place, saved_at = now()
    )
    SELECT pg_notify(%(channel)s, 'session ' || id) FROM mine
"""
