from __future__ import annotations

import asyncio

import pytest

from tests.core.team.stores import SESSION, add_session
from tests.postgres_server import Database
from tests.waiting import run_ready
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.jobs.running import JobStop
from ua_tui.core.team.records import Job, JobClaim, Outcome
from ua_tui.tui.team import job_session
from ua_tui.tui.team.job_session import run_job


async def test_a_job_gives_its_place_back_when_the_actions_that_run_have_ended(
    team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_session(team_database)
    begun, free = asyncio.Event(), asyncio.Event()

    async def act(run: job_session._JobRun) -> Outcome:
        await run.ledger.begin({"key": "mcp__mail__send"}, "call", lambda: False)
        run.parked = "it has been running for 2h"
        run.parking.set()
        begun.set()
        await free.wait()
        await run.ledger.finish("call", ok=True, result="sent")
        return await asyncio.Future()

    async def note(*_given: object) -> bool:
        return True

    monkeypatch.setattr(job_session._JobRun, "run", act)
    claim = JobClaim(job=Job(id="j1", query="Send it."), session=SESSION)
    address = Address.parse(team_database.url)
    running = asyncio.create_task(run_job(claim, JobStop(), settings=Settings(), note=note, address=address))
    await begun.wait()
    await run_ready()
    assert not running.done()
    free.set()
    outcome = await running
    assert (outcome.state, outcome.error) == ("parked", "it has been running for 2h")
    assert team_database.execute("SELECT state, result FROM action") == [("done", "sent")]
