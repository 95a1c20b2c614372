"""The statements that write a session to PostgreSQL; each checks that no other worker continues the session."""

from __future__ import annotations

from typing import Any

import msgspec

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.connection import CHANNEL, Connection, rows_of
from ua_tui.core.team.records import SessionId


class Superseded(TeamError):
    """Another worker continues the session: whoever raised this may write no more of it."""


async def change(db: Connection, statement: str, identity: SessionId, **values: Any) -> None:
    """Run one of the statements below, and announce what is new.

    Raises:
        Superseded: another worker continues the session.
    """
    given = msgspec.structs.asdict(identity) | {"channel": CHANNEL} | values
    if not await rows_of(db, statement, given):
        raise Superseded("another worker continues this session")


async def known_artifacts(db: Connection, session: str) -> dict[str, str]:
    """The files that are stored: their paths, each with its SHA-256."""
    return dict(await rows_of(db, "SELECT path, sha256 FROM artifact WHERE session = %s", (session,)))


LAST_PIECES = """
    SELECT DISTINCT ON (path) path, start, start + octet_length(data) AS end, encode(sha256(data), 'hex') AS sha256
    FROM piece WHERE session = %s ORDER BY path, start DESC
"""
"""The last piece of each file that only grows."""
CLEAR = """
    WITH mine AS (
        SELECT id FROM session WHERE id = %(id)s AND attempt = %(attempt)s FOR SHARE
    ), files AS (
        DELETE FROM artifact USING mine WHERE session = mine.id
    ), pieces AS (
        DELETE FROM piece USING mine WHERE session = mine.id
    )
    SELECT 1 FROM mine
"""
"""Removes the files of earlier attempts, as the session begins again."""
REMOVE = """
    WITH mine AS (
        SELECT id FROM session WHERE id = %(id)s AND attempt = %(attempt)s FOR SHARE
    ), pieces AS (
        DELETE FROM piece p USING mine, unnest(%(paths)s::text[], %(starts)s::bigint[]) AS anew (path, start)
        WHERE p.session = mine.id AND p.path = anew.path AND p.start >= anew.start
    )
    SELECT 1 FROM mine
"""
"""Removes what is stored of some files from there on, which is copied anew."""
REGISTER = """
    INSERT INTO session AS s (id, job, owner, shared, name, host, worker, attempt, state)
    VALUES (%(id)s, %(job)s, coalesce(%(owner)s, current_user), %(shared)s, %(name)s, %(host)s, %(worker)s,
        %(attempt)s, 'starting')
    ON CONFLICT (id) DO UPDATE SET
        name = EXCLUDED.name, host = EXCLUDED.host, attempt = EXCLUDED.attempt,
        worker = CASE WHEN %(claimed)s AND s.worker <> '' THEN s.worker ELSE EXCLUDED.worker END,
        state = CASE WHEN s.attempt = EXCLUDED.attempt THEN s.state ELSE 'starting' END,
        seen_at = now(), finished_at = NULL
    WHERE s.attempt < EXCLUDED.attempt
        OR (s.attempt = EXCLUDED.attempt AND (%(claimed)s OR s.worker = EXCLUDED.worker))
    RETURNING 1
"""
"""Makes the session's row, or makes it that of this attempt.

A session that was `claimed`, as a job is, has its attempt from whoever gave the claim. Otherwise two programs may have
resumed copies of one folder: the first one has the attempt.
"""
# The row is locked by its update: a takeover waits for that, or this statement finds the attempt of the takeover.
WRITE = """
    WITH mine AS (
        UPDATE session SET state = %(state)s, activity = %(activity)s,
            title = CASE WHEN %(titled)s THEN %(title)s ELSE coalesce(nullif(title, ''), %(title)s) END,
            cost_usd = %(cost_usd)s, seen_at = now(),
            finished_at = CASE WHEN %(state)s IN ('done', 'failed') THEN coalesce(finished_at, now()) END
        WHERE id = %(id)s AND attempt = %(attempt)s RETURNING id
    ), new AS (
        INSERT INTO piece (session, path, start, data) SELECT mine.id, p.path, p.start, p.data
        FROM mine, unnest(%(paths)s::text[], %(starts)s::bigint[], %(data)s::bytea[]) AS p (path, start, data)
        ON CONFLICT DO NOTHING
    )
    SELECT pg_notify(%(channel)s, 'session ' || id) FROM mine
"""
"""Writes pieces of files and the state, in one round trip."""
ARTIFACT = """
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
"""Records a file of the session, with its content if it is small."""
