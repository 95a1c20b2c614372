"""Runs jobs as a worker does, with the real agent: in the process of the test, or in one that can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from tests.e2e.running import model_settings
from tests.paths import PROJECT
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.jobs.running import JobStop
from ua_tui.core.team.records import Job, JobClaim, Outcome, SessionId
from ua_tui.tui.team.job_session import JobRun

SEND, ALLOWED = "mcp__outbox__send_message", "send_message(to=ann@example.com)"


class NoteStore:
    """Notes what a session reports of its job; `is_mine` says whether the job still is its worker's.

    With `holds_costs` a cost is noted only once that is decided, as it is not noted again before it changes.
    """

    def __init__(self, *, holds_costs: bool = False) -> None:
        self.decided = asyncio.Event()
        if not holds_costs:
            self.decided.set()
        self.states: list[str] = []
        self.costs: list[float | None] = []
        self.folders: list[str] = []
        self.is_mine = True

    async def note(
        self,
        _session: SessionId,
        state: Literal["running", "needs_you"],
        cost_usd: float | None,
        folder: str = "",
    ) -> bool:
        if state not in self.states[-1:]:
            self.states.append(state)
        self.costs.append(cost_usd)
        self.folders.append(folder)
        if cost_usd is not None:
            await self.decided.wait()
        return self.is_mine


def add_outbox(home: Path, gate: Path | None = None) -> Path:
    """Configure the server that sends messages, for whoever has this home; returns the file of what was sent.

    With a `gate` they are sent when that file exists.
    """
    outbox = home / "outbox.txt"
    server = Path(__file__).with_name("outbox_server.py")
    config = home / ".config" / "ua-tui" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f"[mcp_servers.outbox]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(server))}]\n"
        f"[mcp_servers.outbox.env]\nOUTBOX = {json.dumps(str(outbox))}\nPYTHONPATH = {json.dumps(str(PROJECT))}\n"
        + (f"GATE = {json.dumps(str(gate))}\n" if gate is not None else "")
    )
    return outbox


def claim_of(
    query: str, *, attempt: int = 1, folder: str | None = None, id_: str = "1", **settings: Any
) -> JobClaim:
    """The right to run a query."""
    session = SessionId(id=f"s{id_}", job=f"j{id_}", attempt=attempt)
    job = Job(id=f"j{id_}", query=query, settings=settings)
    return JobClaim(job=job, session=session, limit_usd=5.0, folder=folder)


async def run(
    claim: JobClaim,
    settings: Settings,
    *,
    store: NoteStore | None = None,
    address: Address | None = None,
    stop: JobStop | None = None,
) -> Outcome:
    """Run a job."""
    return await JobRun(
        claim,
        stop or JobStop(),
        settings=settings,
        note=(store or NoteStore()).note,
        address=address,
    ).work()


def tool_results(body: Mapping[str, Any]) -> list[str]:
    """What the model was sent as results of its calls."""
    return [
        json.dumps(block.get("content"), ensure_ascii=False)
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == "tool_result"
    ]


def main() -> None:
    """Run the first attempt at a query, for a test that kills this program: URL, QUERY, address of the team or -."""
    url, query, team = sys.argv[1:]
    base = Path.cwd()
    claim = claim_of(query)
    settings = model_settings(base, url, allow=(ALLOWED,))
    address = Address.parse(team) if team != "-" else None
    outcome = asyncio.run(run(claim, settings, address=address))
    sys.stdout.write(f"{outcome}\n")


if __name__ == "__main__":
    started = time.monotonic()
    main()
    sys.stderr.write(f"{os.getpid()}: {time.monotonic() - started:.1f} s\n")
