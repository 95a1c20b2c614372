"""A worker as a process of its own, whose jobs write to a file when they begin and end: they end if FILE.end exists.

`python -m tests.core.team.jobs.worker_child ADDRESS FILE NAME`
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.core.team.jobs.batches import QUICK
from tests.waiting import until
from ua_tui.core.postgres.address import Address
from ua_tui.core.team.jobs.queue import QueueWorker
from ua_tui.core.team.records import JobClaim, Outcome


async def main() -> None:
    address, file, name = sys.argv[1], Path(sys.argv[2]), sys.argv[3]

    def write(what: str, claim: JobClaim) -> None:
        with file.open("a") as out:
            out.write(f"{what} {claim.job.id} {claim.session.attempt} {name} {os.getpid()}\n")

    async def run(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        write("begins", claim)
        await until(lambda: lost.is_set() or file.with_suffix(".end").exists())
        write("stops" if lost.is_set() else "ends", claim)
        if lost.is_set():
            raise RuntimeError("stopped")
        return Outcome(state="done", answer=name, cost_usd=0.1)

    worker = QueueWorker(
        Address.parse(address), run, parallel=2, report=print, beat=QUICK, name=name, grace=0
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.work()


if __name__ == "__main__":
    asyncio.run(main())
