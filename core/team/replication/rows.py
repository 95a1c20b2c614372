"""The statements that write a session to PostgreSQL; each checks that no other worker continues the session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.connection import CHANNEL
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replication.folder_copy import Piece, StoredPiece
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


async def write(db: Connection, identity: SessionId, row: StateRow, pieces: Sequence[Piece]) -> None:
    """Write pieces of files and the state, and announce them, in one round trip.

    Raises:
        Superseded: another worker continues the session.
    """
    new = {
        "paths": [each.path for each in pieces],
        "starts": [each.start for each in pieces],
        "data": [each.data for each in pieces],
    }
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


async def clear(db: Connection, identity: SessionId) -> None:
    """Remove the files of earlier attempts, as the session begins again.

    Raises:
        Superseded: another worker continues the session.
    """
    await _fetch_ours(db, _CLEAR, identity, {})


async def remove_pieces(db: Connection, identity: SessionId, starts: dict[str, int]) -> None:
    """Remove what is stored of these files from there on, which is copied anew.

    Raises:
        Superseded: another worker continues the session.
    """
    await _fetch_ours(db, _REMOVE, identity, {"paths": [*starts], "starts": [*starts.values()]})


async def last_pieces(db: Connection, session: str) -> list[StoredPiece]:
    """The last piece of each file that only grows."""
    found = await db.execute(
        "SELECT DISTINCT ON (path) path, start, start + octet_length(data), encode(sha256(data), 'hex')"
        " FROM piece WHERE session = %s ORDER BY path, start DESC",
        (session,),
    )
    return [StoredPiece(*row) for row in await found.fetchall()]


async def known_artifacts(db: Connection, session: str) -> dict[str, str]:
    """The files that are stored: their paths, each with its SHA-256."""
    found = await db.execute("SELECT path, sha256 FROM artifact WHERE session = %s", (session,))
    return dict(await found.fetchall())


async def _fetch_ours(db: Connection, statement: str, identity: SessionId, values: dict[str, Any]) -> None:
    """Run a statement that returns a row if the session is still that of this attempt."""
    given = msgspec.structs.asdict(identity) | {"channel": CHANNEL} | values
    done = await db.execute(statement.encode(), given)
    if await done.fetchone() is None:
        raise Superseded("another worker continues this session")


_CLEAR = """
    WITH mine AS (
        SELECT id FROM session WHERE id = %(id)s AND attempt = %(attempt)s FOR SHARE
    ), files AS (
        DELETE FROM artifact USING mine WHERE session = mine.id
    ), pieces AS (
        DELETE FROM piece USING mine WHERE session = mine.id
    )
    SELECT 1 FROM mine
"""
_REMOVE = """
    WITH mine AS (
        SELECT id FROM session WHERE id = %(id)s AND attempt = %(attempt)s FOR SHARE
    ), pieces AS (
        DELETE FROM piece p USING mine, unnest(%(paths)s::text[], %(starts)s::bigint[]) AS anew (path, start)
        WHERE p.session = mine.id AND p.path = anew.path AND p.start >= anew.start
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
        INSERT INTO piece (session, path, start, data) SELECT mine.id, p.path, p.start, p.data
        FROM mine, unnest(%(paths)s::text[], %(starts)s::bigint[], %(data)s::bytea[]) AS p (path, start, data)
        ON CONFLICT DO NOTHING
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
