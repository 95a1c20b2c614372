"""How a past session of 10,000 messages and 100,000 calls opens: `large_journal` writes it."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pyte

from tests.bench.apart import report_of
from tests.bench.journal_child import READING
from tests.bench.large_journal import CALLS, MESSAGES, QUERIES, write_large_journal
from tests.bench.processes import alive, resident_mb
from tests.bench.table import Row, Section, median, quantile, spread
from tests.bench.terminal import Terminal, shows
from tests.e2e.running import environment, program

READY = 2_000.0
MEMORY = 300.0
STALL = 50.0
STARTS = 3
SECONDS = 300.0
NEWEST = "· Read-only: past session."
SEARCHING = "Conversation  /"
READ = "reading"


def journal(base: Path, runs: int) -> Section:
    """How soon the end of the session can be read and answers keys, and what reading the whole of it takes."""
    name = "session_20261121_060000"
    path = write_large_journal(base / "AGENT_RUN_WORKSPACES" / name)
    reported = (
        f"{QUERIES * MESSAGES:,} messages, {QUERIES * CALLS:,} calls, {path.stat().st_size / 1e6:.0f} MB"
    )
    ready: list[float] = []
    rows: list[Row] = []
    for turn in range(max(1, min(runs, STARTS))):
        with Terminal(
            [program(), "open", name], cwd=base, env=environment(base, COLORTERM="truecolor")
        ) as screen:
            screen.wait(shows(NEWEST), SECONDS)
            screen.send("/")
            ready.append(screen.wait(shows(SEARCHING), SECONDS) - screen.started)
            if turn:
                continue
            screen.send("\x1b")
            whole = screen.wait(_is_read, SECONDS) - screen.started
            screen.watch(1.0)
            memory = resident_mb(screen.pid)
            began = time.perf_counter()
            screen.send("\x11")
            while alive(screen.pid) and time.perf_counter() - began < SECONDS:
                screen.watch(0.01)
            left = (time.perf_counter() - began) * 1_000
            rows = [
                Row(
                    "whole journal on the screen",
                    whole,
                    "s",
                    None,
                    "from the command; keys are answered meanwhile",
                ),
                Row("memory with the whole journal", memory, "MB", MEMORY, "resident, this process alone"),
                Row("quit afterwards", left, "ms", None, "from the key to the end of the process"),
            ]
    first = Row(
        "past session ready",
        median(ready) * 1_000,
        "ms",
        READY,
        f"from the command to its newest message and a key answered, {spread(ready)}; {reported}",
    )
    stalled = _stalls(base, path.parent)
    return Section([first, *rows, *stalled.rows], stalled.details)


def _is_read(screen: pyte.Screen) -> bool:
    """Whether the status line tells of the session, and no longer of reading it."""
    last = screen.display[-1]
    return "past session" in last and READ not in last and "sonnet" in last


def _stalls(base: Path, folder: Path) -> Section:
    report = report_of("tests.bench.journal_child", str(folder), base, seconds=SECONDS)
    rows: list[Row] = []
    for phase, beats in report["phases"].items():
        slow = [stall for stall in report["stalls"] if stall["phase"] == phase]
        longest = max(slow, key=lambda stall: stall["late"], default=None)
        over = sum(beat > STALL for beat in beats)
        reported = f"p99 {quantile(beats, 0.99):.1f} ms, {over} of {len(beats)} over the bound"
        if longest:
            computed, waited = longest["working"], longest["waiting"]
            reported += f"; of the longest {computed:.0f} ms computed, {waited:.0f} ms without a core"
        bound = STALL if phase == READING else None
        rows.append(Row(f"longest stall, {phase} a journal", max(beats), "ms", bound, reported))
    details: list[str] = []
    for stall in report["stalls"]:
        details.append(f"journal, {stall['phase']}, at {stall['at']:.2f} s: {stall['late']:.0f} ms")
        details += [f"    {times}x {where}" for where, times in Counter(stall["seen"]).most_common(6)]
    return Section(rows, details)
