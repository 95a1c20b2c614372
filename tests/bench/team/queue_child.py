"""A worker process of the measurement of the queue: `queue_child.py ADDRESS PARALLEL`.

It runs jobs that end at once, and begins at a line on standard input.
"""

from __future__ import annotations

import asyncio
import sys

from ua_tui.core.postgres.address import Address
from ua_tui.core.team.jobs.queue import QueueWorker
from ua_tui.core.team.records import JobClaim, Outcome


async def _work(address: Address, parallel: int) -> None:
    async def run(_claim: JobClaim, _stop: asyncio.Event) -> Outcome:
        return Outcome(state="done", answer="a", cost_usd=0.0)

    worker = QueueWorker(address, run, parallel=parallel, report=lambda _line: None)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    await worker.work()


if __name__ == "__main__":
    url, sessions = sys.argv[1:]
    asyncio.run(_work(Address.parse(url), int(sessions)))
