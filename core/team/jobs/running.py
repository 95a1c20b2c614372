"""Runs one claimed job, whichever store it is from, and says how it ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.team.records import JobClaim, Outcome
from ua_tui.core.text import clean_line

log = logging.getLogger(__name__)

RunJob = Callable[[JobClaim, asyncio.Event], Awaitable[Outcome]]
"""Runs a claimed job to its end. When the event is set it stops the session at once, and raises anything."""
Report = Callable[[str], None]
"""Gets one line for each thing that a person should know."""


async def run_to_end(run: RunJob, claim: JobClaim, lost: asyncio.Event, report: Report) -> Outcome | None:
    """Run a job; returns None if its session was stopped, so that the job is to be handed back."""
    job = f"job {claim.job.id[:8]}"
    again = f", attempt {claim.session.attempt}" if claim.session.attempt > 1 else ""
    report(f"{job} started{again}: {clean_line(claim.job.query, 80)}")
    try:
        outcome = await run(claim, lost)
    except asyncio.CancelledError:
        report(f"{job} is handed back")
        return None
    except Exception as error:
        if lost.is_set():
            report(f"{job} is handed back")
            return None
        log.exception("%s failed", job)
        reason = str(error) if isinstance(error, UniversalAgentError) else f"{type(error).__name__}: {error}"
        outcome = Outcome(state="failed", error=reason)
    cost = "" if outcome.cost_usd is None else f" (${outcome.cost_usd:.2f})"
    reason = f": {clean_line(outcome.error, 200)}" if outcome.error else ""
    report(f"{job} {outcome.state}{cost}{reason}")
    return outcome
