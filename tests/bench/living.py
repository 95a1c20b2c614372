from __future__ import annotations

import time
from pathlib import Path

from tests.bench.goals import Goal
from tests.bench.processes import cpu_seconds, resident_mb
from tests.bench.stall_child import QUERY
from tests.bench.table import Row, Section, median, quantile
from tests.bench.terminal import Terminal, has_frame, shows
from tests.e2e.running import environment, program, run

SECONDS = 180.0
ECHO_SECONDS = 10.0
BETWEEN_KEYS = 0.15
IDLE_SECONDS = 10.0
TYPED = "zqxjkvwzqxjkvwzqxjkvwzqxj"


def on_screen(base: Path, _runs: int) -> Section:
    """A research session as a person sees it: echo of keys, memory, and what it costs when it rests."""
    rows: list[Row] = []
    command = [program(), "--demo"]
    with Terminal(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as terminal:
        terminal.wait(has_frame, SECONDS)
        first = resident_mb(terminal.pid)
        terminal.send(QUERY)
        terminal.wait(shows("comprehensive report"), SECONDS)
        terminal.send("\r")
        echoes: list[float] = []
        until = time.monotonic() + SECONDS
        while not _happened(base, "query_finished"):
            if time.monotonic() > until:
                raise TimeoutError(
                    "the session did not come to its end:\n" + "\n".join(terminal.screen.display)
                )
            if _happened(base, "query_received"):
                echoes += _type(terminal)
            else:
                terminal.watch(0.1)
        reported = f"{len(echoes)} keys, one each {BETWEEN_KEYS * 1_000:.0f} ms, while the session streams"
        rows.append(Row("key to echo, median", median(echoes), "ms", None, reported))
        rows.append(
            Row("key to echo, p95", quantile(echoes, 0.95), "ms", None, f"longest {max(echoes):.0f} ms")
        )
        rows.append(Row("memory at the first frame", first, "MB", None, "resident, this process alone"))
        terminal.watch(3.0)
        rows.append(Goal.MEMORY.row(resident_mb(terminal.pid), "resident, this process alone"))
        before = cpu_seconds(terminal.pid)
        terminal.watch(IDLE_SECONDS)
        after = cpu_seconds(terminal.pid)
        used = (after - before) / IDLE_SECONDS * 100 if before is not None and after is not None else None
        rows.append(
            Row("idle after the session", used, "% CPU", None, f"over {IDLE_SECONDS:.0f} s, ticks of 10 ms")
        )
    return Section(rows)


def headless(base: Path, _runs: int) -> Section:
    """How long the research session takes without a screen, from the command to its end."""
    started = time.perf_counter()
    done = run(base, "run", "--demo", QUERY)
    took = time.perf_counter() - started
    if done.code:
        raise RuntimeError(f"the session failed:\n{done.stderr}")
    return Section([Row("ua-tui run --demo, research", took, "s", 20.0, "from the command to its end")])


def _type(terminal: Terminal) -> list[float]:
    """Type a line and take it back; milliseconds of each key until what was typed stands on the screen."""
    times: list[float] = []
    for length in range(1, len(TYPED) + 1):
        began = time.perf_counter()
        terminal.send(TYPED[length - 1])
        came = terminal.wait(shows(TYPED[:length]), ECHO_SECONDS)
        if length > 3:  # fewer letters may stand elsewhere on the screen
            times.append((came - began) * 1_000)
        terminal.watch(BETWEEN_KEYS)
    terminal.send("\x7f" * len(TYPED))
    terminal.watch(BETWEEN_KEYS)
    return times


def _happened(base: Path, event: str) -> bool:
    """Whether the journal of the one session holds an event of this name."""
    name = f'"{event}"'.encode()
    return any(name in journal.read_bytes() for journal in base.glob("AGENT_RUN_WORKSPACES/*/journal.jsonl"))
