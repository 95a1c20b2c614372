"""The agent's transcripts in PostgreSQL: a `SessionStore` of the Claude Agent SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import answering_within, connect_async
from ua_tui.core.postgres.problems import reporting
from ua_tui.core.team.records import SessionId

if TYPE_CHECKING:
    import psycopg

_ANSWER_S = 15.0


class Superseded(TeamError):
    """Another worker continues the session: whoever raised this may write no more of it."""


class PostgresSessionStore:
    """Transcripts as rows of the table `entry`, each in the order of the calls of `append`.

    An entry with a `uuid` is stored once, however often it is appended. Only the owner's rows count: anybody may add
    rows in their own name.

    Args:
        address: the database.
        session: the session that writes; each write checks that no other worker continues it. None: nothing is checked.
        owner: whose rows these are; None for the role of the connection.
        shared: whether the team may see them.
    """

    def __init__(
        self,
        address: Address,
        *,
        session: SessionId | None = None,
        owner: str | None = None,
        shared: bool = True,
    ) -> None:
        self._address = address
        self._session = session
        self._owner = owner if session is None else session.owner
        self._shared = shared if session is None else session.shared
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._lock = asyncio.Lock()

    async def append(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        """Append entries to a transcript.

        Raises:
            Superseded: another worker continues the session.
            TeamError: the database cannot be used.
        """
        if not entries:
            return
        async with self._lock:
            with reporting(self._address):
                db = await self._connected()
                with answering_within(db, _ANSWER_S):
                    await append_entries(
                        db, key, entries, session=self._session, owner=self._owner, shared=self._shared
                    )

    async def load(self, key: Mapping[str, str]) -> list[Any] | None:
        """The entries of a transcript, in their order; None if there is none.

        Raises:
            TeamError: the database cannot be used.
        """
        rows = await self._rows(
            "SELECT entry FROM entry WHERE project = %s AND session = %s AND subpath = %s"
            " AND owner = coalesce(%s, current_user) ORDER BY id",
            *_names(key),
            self._owner,
        )
        return [json.loads(entry) for (entry,) in rows] or None

    async def list_sessions(self, project_key: str) -> list[Any]:
        """The conversations of a project, with the time of their last entry in milliseconds."""
        rows = await self._rows(
            "SELECT session, max(written_at) FROM entry WHERE project = %s AND subpath = ''"
            " AND owner = coalesce(%s, current_user) GROUP BY session",
            project_key,
            self._owner,
        )
        return [{"session_id": session, "mtime": _milliseconds(at)} for session, at in rows]

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """The summaries of the conversations of a project, as the SDK folds them."""
        rows = await self._rows(
            "SELECT session, written_at, data FROM summary"
            " WHERE project = %s AND owner = coalesce(%s, current_user)",
            project_key,
            self._owner,
        )
        return [
            {"session_id": session, "mtime": _milliseconds(at), "data": json.loads(data)}
            for session, at, data in rows
        ]

    async def delete(self, key: Mapping[str, str]) -> None:
        """Delete a transcript; that of the main agent with those of its sub-agents."""
        project, session, subpath = _names(key)
        async with self._lock:
            with reporting(self._address):
                db = await self._connected()
                async with db.transaction():
                    await db.execute(
                        "DELETE FROM entry WHERE project = %s AND session = %s AND %s IN ('', subpath)"
                        " AND owner = coalesce(%s, current_user)",
                        (project, session, subpath, self._owner),
                    )
                    if not subpath:
                        await db.execute(
                            "DELETE FROM summary WHERE project = %s AND session = %s"
                            " AND owner = coalesce(%s, current_user)",
                            (project, session, self._owner),
                        )

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """What identifies the transcripts of the sub-agents of a conversation."""
        rows = await self._rows(
            "SELECT DISTINCT subpath FROM entry WHERE project = %s AND session = %s AND subpath <> ''"
            " AND owner = coalesce(%s, current_user)",
            key["project_key"],
            key["session_id"],
            self._owner,
        )
        return [subpath for (subpath,) in rows]

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.close()

    async def _rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self._lock:
            with reporting(self._address):
                db = await self._connected()
                with answering_within(db, _ANSWER_S):
                    cursor = await db.execute(query.encode(), parameters)
                    return await cursor.fetchall()

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = await connect_async(self._address)
        return self._connection


async def append_entries(
    db: psycopg.AsyncConnection[Any],
    key: Mapping[str, str],
    entries: Sequence[Mapping[str, Any]],
    *,
    session: SessionId | None = None,
    owner: str | None = None,
    shared: bool = True,
) -> None:
    """Append entries to a transcript, in one transaction.

    Raises:
        Superseded: another worker continues the session.
    """
    project, conversation, subpath = _names(key)
    uuids = [uuid if isinstance(uuid := each.get("uuid"), str) else None for each in entries]
    values = {
        "owner": owner,
        "shared": shared,
        "project": project,
        "session": conversation,
        "subpath": subpath,
        "uuids": uuids,
        "entries": [encode_entry(each) for each in entries],
    }
    async with db.transaction():
        if session is not None:
            found = await db.execute(_STILL_OURS, (session.id, session.attempt))
            if await found.fetchone() is None:
                raise Superseded("another worker continues this session")
        if not subpath:
            # Appends to a conversation wait for each other: the summary is read, folded and written.
            await db.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"{project} {conversation}",)
            )
        added = await db.execute(_APPEND, values)
        new = {uuid for (uuid,) in await added.fetchall()}
        if not subpath:
            fresh = [each for each, uuid in zip(entries, uuids, strict=True) if uuid is None or uuid in new]
            await _fold_summary(db, key, fresh, values)


def load_sdk() -> None:
    """Import what folds summaries, which takes long: call it in a thread before `append_entries`."""
    from ua_tui.core.agent.sdk_import import import_sdk

    import_sdk()


async def _fold_summary(
    db: psycopg.AsyncConnection[Any],
    key: Mapping[str, str],
    entries: Sequence[Mapping[str, Any]],
    values: Mapping[str, Any],
) -> None:
    if not entries:
        return
    from claude_agent_sdk import fold_session_summary

    found = await db.execute(
        "SELECT data FROM summary WHERE project = %(project)s AND session = %(session)s"
        " AND owner = coalesce(%(owner)s, current_user)",
        values,
    )
    row = await found.fetchone()
    before: Any = None
    if row is not None:
        before = {"session_id": key["session_id"], "mtime": 0, "data": json.loads(row[0])}
    folded = fold_session_summary(before, dict(key), list(entries))  # type: ignore[arg-type]
    await db.execute(_SUMMARY, {**values, "data": json.dumps(folded["data"])})


def encode_entry(entry: Mapping[str, Any]) -> str:
    """The text by which an entry is stored."""
    try:
        return msgspec.json.encode(entry).decode()
    except (UnicodeEncodeError, RecursionError, TypeError):
        return json.dumps(entry)


def _names(key: Mapping[str, str]) -> tuple[str, str, str]:
    return key["project_key"], key["session_id"], key.get("subpath") or ""


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


_STILL_OURS = "SELECT 1 FROM session WHERE id = %s AND attempt = %s FOR SHARE"
_APPEND = """
    INSERT INTO entry (owner, shared, project, session, subpath, uuid, entry)
    SELECT coalesce(%(owner)s, current_user), %(shared)s, %(project)s, %(session)s, %(subpath)s, e.uuid, e.entry
    FROM unnest(%(uuids)s::text[], %(entries)s::text[]) WITH ORDINALITY AS e(uuid, entry, number) ORDER BY e.number
    ON CONFLICT (project, session, subpath, uuid) WHERE uuid IS NOT NULL DO NOTHING
    RETURNING uuid
"""
_SUMMARY = """
    INSERT INTO summary (project, session, owner, shared, data)
    VALUES (%(project)s, %(session)s, coalesce(%(owner)s, current_user), %(shared)s, %(data)s)
    ON CONFLICT (project, session, owner) DO UPDATE SET data = EXCLUDED.data, written_at = now()
"""
