"""More than a screen can hold, all at once: the program answers its keys, shows the ends, and stays small."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.running import NOWHERE, model_environment
from tests.e2e.terminal import WORKSPACE, terminal
from tests.e2e.test_hostile_places import END, ENTER, ESC

LINES = 20_000
RESULTS = 3_000
LARGEST = 400 * 1024
"""KB of memory."""


def peak(process: int) -> int:
    """The most memory a process has held so far, in KB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1])


def test_thousands_of_results_and_of_log_lines_leave_the_keys_alive(tmp_path: Path) -> None:
    env = model_environment(tmp_path, NOWHERE)
    with terminal(tmp_path, columns=160, rows=50, env=env) as screen:
        screen.wait_for("● ready", "run.log")
        (session,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
        folder = session / "search_results"
        folder.mkdir(exist_ok=True)
        words = '{"results": ["' + "words " * 5_000 + '"]}'
        screen.type("first ")
        with (session / "zz.log").open("w") as log:
            for number in range(RESULTS):
                (folder / f"{number:04}.json").write_text(words)
                lines = range(number * LINES // RESULTS, (number + 1) * LINES // RESULTS)
                log.writelines(f"2026-11-21 12:00:00 INFO line {line} of many\n" for line in lines)
                if number % 1000 == 0:
                    # In the midst of it keys are taken, and their echo comes.
                    screen.type(f"k{number} ")
                    screen.wait_for(f"k{number} ")
        (session / "zzz.txt").write_text("x" * 5_000_000 + "the end of one line")
        screen.wait_for(f"{RESULTS + 2:,} new")
        screen.type(WORKSPACE)
        screen.settle()
        screen.type(END)
        screen.wait_for("─ zzz.txt", "xxxxx")
        screen.type("\x1b[A")
        screen.wait_for("─ zz.log", "0 of many")
        screen.type(ENTER)
        screen.wait_for("Esc close", f"{LINES:,} lines")
        screen.type(END)
        screen.wait_for(f"line {LINES - 1} of many")
        screen.type(ESC)
        screen.wait_for(lambda text: "Esc close" not in text)
        process = screen.child.pid
        assert isinstance(process, int)
        assert peak(process) < LARGEST
        screen.type("\x11")
        assert screen.end() == 0
