from __future__ import annotations

from pathlib import Path

from tests.bench.driven import Driven
from tests.bench.goals import Goal
from tests.bench.processes import resident_mb
from tests.bench.stall_child import QUERY
from tests.bench.table import Section
from tests.e2e.running import environment, program
from tests.waiting import wait_until

SECONDS = 180.0
AFTERWARDS = 3.0


def on_screen(base: Path, _runs: int) -> Section:
    """The memory that the demo's research session takes on the screen."""
    command = [program(), "--demo", QUERY]
    with Driven(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as driven:

        def has_finished() -> bool:
            driven.watch(0.1)
            journals = base.glob("AGENT_RUN_WORKSPACES/*/journal.jsonl")
            return any(b'"query_finished"' in journal.read_bytes() for journal in journals)

        wait_until(has_finished, SECONDS)
        driven.watch(AFTERWARDS)
        return Section([Goal.MEMORY.row(resident_mb(driven.pid), "resident, this process alone")])
