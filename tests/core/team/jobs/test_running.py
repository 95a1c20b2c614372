"""A claimed job, and what a person reads about it."""

from __future__ import annotations

import asyncio

import pytest

from ua_tui.core.team.jobs.running import JobStop, run_to_end
from ua_tui.core.team.records import Job, JobClaim, Outcome, SessionId

CLAIM = JobClaim(job=Job(id="a" * 32, query="q"), session=SessionId(id="s"))


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (
            Outcome(state="waiting", error="its actions could not be recorded:\nno space"),
            ": its actions could not be recorded: no space",
        ),
        (Outcome(state="waiting"), ""),
        (RuntimeError("stopped"), ""),
        (asyncio.CancelledError(), ""),
    ],
)
async def test_a_job_that_is_handed_back_says_why(end: Outcome | BaseException, said: str) -> None:
    stop, lines = JobStop(), list[str]()

    async def run(_claim: JobClaim, _stop: JobStop) -> Outcome:
        stop.set()
        if isinstance(end, BaseException):
            raise end
        return end

    assert (await run_to_end(run, CLAIM, stop, lines.append)).state == "waiting"
    assert lines[1:] == [f"job aaaaaaaa is handed back{said}"]
