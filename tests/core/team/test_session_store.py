"""The SDK's session store on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from claude_agent_sdk.testing import run_session_store_conformance

from tests.postgres_server import Database
from ua_tui.core.postgres.address import Address
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.session_store import PostgresSessionStore, Superseded

KEY = {"project_key": "project", "session_id": "conversation"}


@pytest.fixture
async def store(team_database: Database) -> AsyncIterator[PostgresSessionStore]:
    store = PostgresSessionStore(Address.parse(team_database.url))
    yield store
    await store.close()


def entry(number: int) -> dict[str, Any]:
    return {"type": "user", "uuid": f"u{number}"}


async def test_it_keeps_contracts_of_the_sdk(store: PostgresSessionStore, team_database: Database) -> None:
    def emptied() -> Any:
        team_database.execute("TRUNCATE entry, summary")
        return store

    await run_session_store_conformance(emptied)


async def test_an_entry_is_stored_once_and_in_the_order_of_the_calls(store: PostgresSessionStore) -> None:
    marker = {"type": "mode", "value": "\ud800 \0"}
    await store.append(KEY, [entry(3), marker])
    await store.append(KEY, [entry(3), entry(1), entry(1), entry(2)])
    await store.append(KEY, [entry(2), entry(0)])
    assert await store.load(KEY) == [entry(3), marker, entry(1), entry(2), entry(0)]


async def test_concurrent_appends_lose_nothing(team_database: Database) -> None:
    stores = [PostgresSessionStore(Address.parse(team_database.url)) for _ in range(4)]
    await asyncio.gather(
        *(each.append(KEY, [entry(100 * at + n) for n in range(20)]) for at, each in enumerate(stores))
    )
    found = await stores[0].load(KEY)
    assert found is not None
    numbers = [int(each["uuid"][1:]) for each in found]
    for at in range(4):
        assert [each for each in numbers if each // 100 == at] == [100 * at + n for n in range(20)]
    assert len(numbers) == 80
    assert len(await stores[0].list_session_summaries("project")) == 1
    for each in stores:
        await each.close()


async def test_a_superseded_session_appends_nothing(team_database: Database) -> None:
    team_database.execute("INSERT INTO session (id, name, attempt) VALUES ('s', 'session', 1)")
    first = PostgresSessionStore(Address.parse(team_database.url), session=SessionId(id="s", attempt=1))
    await first.append(KEY, [entry(1)])
    team_database.execute("UPDATE session SET attempt = 2")
    with pytest.raises(Superseded):
        await first.append(KEY, [entry(2)])
    assert await first.load(KEY) == [entry(1)]
    await first.close()
