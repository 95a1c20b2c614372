"""Runs one claimed job, whichever store it is from, and says how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ua_tui.core.log import log
from ua_tui.core.team.records import JobClaim, Outcome
from ua_tui.core.text import clean_line

PUT_OFF_SECONDS = 60.0
"""How long no job is begun after the provider has refused too many requests."""


class JobStop(asyncio.Event):
    """Tells the session of a job to end: set, it ends at once; `soon` is set, it ends when no tool call runs."""

    def __init__(self) -> None:
        super().__init__()
        self.soon = asyncio.Event()


RunJob = Callable[[JobClaim, JobStop], Awaitable[Outcome]]
"""Runs a claimed job to its end. When it is to stop it stops the session, and is `waiting` or raises anything."""
Report = Callable[[str], None]
"""Gets one line for each thing that a person should know."""


async def run_to_end(run: RunJob, claim: JobClaim, stop: JobStop, report: Report) -> Outcome:
    """Run a job; one whose session was stopped is `waiting`, so that it is to be handed back."""
    job = f"job {claim.job.id[:8]}"
    again = f", attempt {claim.session.attempt}" if claim.session.attempt > 1 else ""
    report(f"{job} started{again}: {clean_line(claim.job.query, 80)}")
    try:
        outcome = await run(claim, stop)
    except asyncio.CancelledError:
        outcome = Outcome(state="waiting")
    except Exception as error:
        if stop.is_set() or stop.soon.is_set():
            outcome = Outcome(state="waiting")
        else:
            log.exception("%s failed", job)
            outcome = Outcome(state="failed", error=f"{type(error).__name__}: {error}")
    ended = "is handed back" if outcome.state == "waiting" else outcome.state.replace("_", " ")
    cost = "" if outcome.cost_usd is None else f" (${outcome.cost_usd:.2f})"
    reason = f": {clean_line(outcome.error, 300)}" if outcome.error else ""
    report(f"{job} {ended}{cost}{reason}")
    return outcome
