"""A claimed job, and what a person reads about it."""

from __future__ import annotations

import pytest

from ua_tui.core.team.jobs.running import JobStop, run_to_end
from ua_tui.core.team.records import Job, JobClaim, JobLost, Outcome, SessionId

CLAIM = JobClaim(job=Job(id="a" * 32, query="q"), session=SessionId(id="s"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            JobLost("its actions could not be recorded:\nno space"),
            ": its actions could not be recorded: no space",
        ),
        (JobLost(""), ""),
        (RuntimeError("stopped"), ""),
    ],
)
async def test_a_job_that_is_handed_back_says_why(error: Exception, said: str) -> None:
    stop, lines = JobStop(), list[str]()

    async def run(_claim: JobClaim, _stop: JobStop) -> Outcome:
        stop.set()
        raise error

    assert await run_to_end(run, CLAIM, stop, lines.append) is None
    assert lines[1:] == [f"job aaaaaaaa is handed back{said}"]
