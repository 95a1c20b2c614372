"""`ua-tui worker` or `ua-tui batch FILE` over SQLite, whose jobs write to a file and end when another one exists.

`python -m tests.tui.team.local_child FOLDER [FILE]`
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.waiting import until
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.jobs.sqlite_jobs import SqliteJobs, jobs_path
from ua_tui.core.team.records import JobClaim, Outcome
from ua_tui.tui.cli.arguments import read_arguments
from ua_tui.tui.cli.table import COMMANDS
from ua_tui.tui.cli.team.batch import run_batch
from ua_tui.tui.team.worker import run_worker


async def main() -> int:
    folder = Path(sys.argv[1])
    log, end = folder / "log", folder / "end"
    store = SqliteJobs(jobs_path(folder))
    await store.open()

    async def run(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        await store.note(claim, "running", 0.1, f"folder of {claim.job.query}")
        with log.open("a") as out:
            out.write(f"{claim.job.query} {claim.session.attempt} {claim.folder}\n")
        await until(lambda: end.exists() or lost.is_set())
        if lost.is_set():
            raise RuntimeError("stopped")
        return Outcome(state="done", answer="it is over", cost_usd=0.2)

    settings = Settings(workspace_base=folder)
    if len(sys.argv) > 2:
        args = read_arguments("ua-tui batch", COMMANDS["batch"], [sys.argv[2]])
        return await run_batch(args, settings, None, job=run)
    return await run_worker(settings, None, parallel=2, run=run)


if __name__ == "__main__":
    code = asyncio.run(main())
    sys.stdout.flush()
    sys.exit(code)
