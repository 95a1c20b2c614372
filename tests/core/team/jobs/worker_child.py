"""A worker as a process of its own, whose jobs write to a file when they begin and end.

`python -m tests.core.team.jobs.worker_child ADDRESS FILE SECONDS [NAME]`
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from core.postgres.address import Address
from core.team.jobs.queue import QueueWorker
from core.team.records import Claim, Outcome
from tests.core.team.jobs.batches import QUICK


async def main() -> None:
    address, file, seconds, name = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4]

    def write(what: str, claim: Claim) -> None:
        with file.open("a") as out:
            out.write(f"{what} {claim.job.id} {claim.session.attempt} {name} {os.getpid()}\n")

    async def run(claim: Claim, lost: asyncio.Event) -> Outcome:
        write("begins", claim)
        try:
            await asyncio.wait_for(lost.wait(), seconds)
        except TimeoutError:
            write("ends", claim)
            return Outcome(state="done", answer=name, cost_usd=0.1)
        write("stops", claim)
        raise RuntimeError("stopped")

    worker = QueueWorker(
        Address.parse(address),
        run,
        parallel=2,
        report=lambda text: print(text, flush=True),
        timing=QUICK,
        name=name,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.work()


if __name__ == "__main__":
    asyncio.run(main())
