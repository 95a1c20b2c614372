"""A worker process of the measurement of the queue: `queue_child.py alone|ours ADDRESS PARALLEL`.

`alone` runs an empty task of procrastinate, `ours` a job of a batch that ends at once. It begins at a line on standard
input.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import parameters_of
from ua_tui.core.team.jobs.queue import QueueWorker
from ua_tui.core.team.records import JobClaim, Outcome

QUEUE = "alone"


def empty_task(address: Address, parallel: int) -> tuple[Any, Any]:
    """The application of procrastinate, and its task."""
    import logging

    import procrastinate

    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    connector = procrastinate.PsycopgConnector(
        kwargs=parameters_of(address), min_size=1, max_size=parallel + 1
    )
    app = procrastinate.App(connector=connector)

    @app.task(name="empty", queue=QUEUE)
    async def empty(job_id: str) -> None:
        """Do nothing."""

    return app, empty


async def _alone(address: Address, parallel: int) -> None:
    app, _ = empty_task(address, parallel)
    async with app.open_async():
        _wait_for_start()
        await app.run_worker_async(queues=[QUEUE], concurrency=parallel, install_signal_handlers=False)


async def _ours(address: Address, parallel: int) -> None:
    async def run(_claim: JobClaim, _lost: asyncio.Event) -> Outcome:
        return Outcome(state="done", answer="a", cost_usd=0.0)

    worker = QueueWorker(address, run, parallel=parallel, report=lambda _line: None)
    _wait_for_start()
    await worker.work()


def _wait_for_start() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    kind, url, sessions = sys.argv[1:]
    asyncio.run((_alone if kind == "alone" else _ours)(Address.parse(url), int(sessions)))
