"""Workers of the simulation: `simulated_workers.py ADDRESS WORKERS SLOTS SECONDS EVENTS FOLDER`.

Their sessions have no agent and no model. What they write goes through the real queue, ledger of actions, journal and
copy to the database, with the connections that a worker has.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.core.team.copied_session import CopiedSession
from ua_tui.core.events.types import QueryFinished, QueryReceived, ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import Observation
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import sharing
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.tasks import until
from ua_tui.core.team.actions import SessionActions
from ua_tui.core.team.jobs.queue import QueueWorker
from ua_tui.core.team.jobs.running import JobStop
from ua_tui.core.team.records import JobClaim, Outcome

ACTIONS = 3
RESULT = "What a tool found. " * 100
ENTRY = b'{"type": "assistant", "uuid": "%s", "text": "' + b"x" * 1_000 + b'"}\n'


async def _session(claim: JobClaim, address: Address, folder: Path, seconds: float, events: int) -> Outcome:
    """A session that calls tools, each with a start and an end, and does some actions."""
    workspace = await asyncio.to_thread(Workspace.create, folder, datetime.now(UTC))
    session = CopiedSession(workspace, address, claim.session)
    ledger = SessionActions(address, claim.session)
    try:
        session.begin()
        session.publish(QueryReceived(query_id="q1", text=claim.job.query))
        acting = set(random.Random(claim.job.id).sample(range(events // 2), ACTIONS))
        for number in range(events // 2):
            name, call = "mcp__outbox__send_message", f"t{number}"
            if number in acting:
                await ledger.begin({call: name}, call, lambda: False)
            session.publish(ToolCallStarted(query_id="q1", tool_use_id=call, name=name, input={"text": call}))
            # The time of a call and that of the model: real time, as the server of the database sees it.
            await asyncio.sleep(2 * seconds / events)
            if number in acting:
                await ledger.finish(call, ok=True, result="sent")
            found = Observation(tool_name=name, tool_use_id=call, output=RESULT)
            session.publish(ToolCallFinished(tool_use_id=call, status="success", observation=found))
            session.append_entry(ENTRY % call.encode())
        session.publish(QueryFinished(query_id="q1", status="success", text="done", cost_usd=0.01))
        return Outcome(state="done", answer="done", cost_usd=0.01)
    finally:
        await session.replica.flush(10.0)
        session.journal.close()
        await session.replica.drain(10.0)
        await asyncio.to_thread(workspace.close)


async def _work(address: Address, number: int, slots: int, folder: Path, seconds: float, events: int) -> None:
    async with sharing(address, 2 + slots // 4) as shared:

        async def run(claim: JobClaim, stop: JobStop) -> Outcome:
            outcome = await until(_session(claim, shared, folder, seconds, events), stop.wait())
            return outcome or Outcome(state="waiting")

        worker = QueueWorker(
            shared, run, parallel=slots, grace=0.0, report=lambda _line: None, name=f"simulated-{number}"
        )
        await worker.work()


async def _all(address: Address, workers: int, slots: int, seconds: float, events: int, folder: Path) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            group.create_task(_work(address, number, slots, folder, seconds, events))
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    url, count, places, lasting, each, where = sys.argv[1:]
    asyncio.run(_all(Address.parse(url), int(count), int(places), float(lasting), int(each), Path(where)))
