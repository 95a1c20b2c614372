"""The statements of a worker of a team, on a real database."""

from __future__ import annotations

from typing import Any

import pytest

from tests.postgres_server import Database
from ua_tui.core.postgres.address import Address
from ua_tui.core.team.jobs.delivery import Delivery, make_queue_pool


async def test_a_worker_suspended_while_it_looks_for_lost_jobs_does_not_keep_the_lock(
    team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = []
    async with make_queue_pool(Address.parse(team_database.url), 1) as pool:
        async with pool.connection() as only:
            pass

        async def look(**_: Any) -> list[Any]:
            cursor = await only.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            )
            assert await cursor.fetchone() == (1,)
            bounds.append(await (await only.execute("SHOW idle_in_transaction_session_timeout")).fetchone())
            return []

        delivery = Delivery(pool, "w", 60.0)
        monkeypatch.setattr(delivery, "get_stalled_jobs", look)
        assert await delivery.take_over(forgotten=False) == 0
    # The server ends a connection that is silent for that long in its transaction.
    assert bounds == [("10s",)]
