"""How a past session of 10,000 messages and 100,000 calls opens: `large_journal` writes it."""

from __future__ import annotations

from pathlib import Path

import pyte

from tests.bench.apart import report_of
from tests.bench.journal_child import OPENING, READING
from tests.bench.large_journal import CALLS, MESSAGES, QUERIES, write_large_journal
from tests.bench.processes import resident_mb
from tests.bench.stalls import BOUND, stall_rows
from tests.bench.table import Row, Section, median, spread
from tests.bench.terminal import Terminal, shows
from tests.e2e.running import environment, program

READY = 2_000.0
MEMORY = 300.0
STARTS = 3
SECONDS = 300.0
NEWEST = "resumes it"
SEARCHING = "Conversation  /"
READ = "reading"


def journal(base: Path, runs: int) -> Section:
    """How soon the end of the session can be read and answers keys, and what reading all of it takes."""
    name = "session_20261121_060000"
    path = write_large_journal(base / "AGENT_RUN_WORKSPACES" / name)
    size = f"{QUERIES * MESSAGES:,} messages, {QUERIES * CALLS:,} calls, {path.stat().st_size / 1e6:.0f} MB"
    ready: list[float] = []
    rows: list[Row] = []
    for turn in range(max(1, min(runs, STARTS))):
        command = [program(), "open", name]
        with Terminal(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as screen:
            screen.wait(shows(NEWEST), SECONDS)
            screen.send("/")
            ready.append(screen.wait(shows(SEARCHING), SECONDS) - screen.started)
            if turn:
                continue
            screen.send("\x1b")
            whole = screen.wait(_is_read, SECONDS) - screen.started
            screen.watch(1.0)
            memory = resident_mb(screen.pid)
            rows = [
                Row(
                    "whole journal on the screen",
                    whole,
                    "s",
                    None,
                    "from the command; keys are answered meanwhile",
                ),
                Row("memory with the whole journal", memory, "MB", MEMORY, "resident, this process alone"),
            ]
    how = f"from the command to its newest message and a key answered, {spread(ready)}; {size}"
    report = report_of("tests.bench.journal_child", str(path.parent), base, seconds=SECONDS)
    stalled = stall_rows(report, "a journal", {OPENING: None, READING: BOUND})
    first = Row("past session ready", median(ready) * 1_000, "ms", READY, how)
    return Section([first, *rows, *stalled.rows], stalled.details)


def _is_read(screen: pyte.Screen) -> bool:
    """Whether the status line describes the session, and no longer that it is read."""
    last = screen.display[-1]
    return "past session" in last and READ not in last and "sonnet" in last
