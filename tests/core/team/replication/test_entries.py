"""The entries of a transcript are stored once, in their order, and by nobody but the worker that continues."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.postgres_server import Database
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import connect_async
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replication.rows import Superseded, append_entries

KEY = {"project_key": "project", "session_id": "conversation"}
SESSION = SessionId(id="s", attempt=1)


def entry(number: int) -> dict[str, Any]:
    return {"type": "user", "uuid": f"u{number}"}


async def test_an_entry_is_stored_once_and_in_order_until_another_worker_continues(
    team_database: Database,
) -> None:
    team_database.execute("INSERT INTO session (id, name, attempt) VALUES ('s', 'session', 1)")
    marker = {"type": "mode", "value": "\ud800 \0"}
    async with await connect_async(Address.parse(team_database.url)) as db:
        await append_entries(db, SESSION, KEY, [entry(3), marker])
        await append_entries(db, SESSION, KEY, [entry(3), entry(1), entry(1), entry(2)])
        team_database.execute("UPDATE session SET attempt = 2")
        with pytest.raises(Superseded):
            await append_entries(db, SESSION, KEY, [entry(4)])
        cursor = await db.execute("SELECT entry FROM entry ORDER BY id")
        stored = [json.loads(each) for (each,) in await cursor.fetchall()]
    assert stored == [entry(3), marker, entry(1), entry(2)]
