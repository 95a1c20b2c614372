from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.goals import Goal
from tests.bench.table import Row, Section, median, spread
from tests.bench.terminal import Terminal, has_frame
from tests.e2e.running import environment, program

START_SECONDS = 30.0
HELP_BOUND = 1.5
EMPTY_APP = Path(__file__).parent / "empty_app.py"


def first_frame(base: Path, runs: int) -> Section:
    """Time to the first frame of the real program and of an empty application, in turns."""
    ours: list[float] = []
    empty: list[float] = []
    for number in range(runs + 1):
        took = (
            _to_frame([program(), "--demo"], base),
            _to_frame([sys.executable, str(EMPTY_APP)], base),
        )
        if number:  # the first run of each only compiles what is not compiled yet
            ours.append(took[0])
            empty.append(took[1])
    compared = f"{spread(ours)}; empty app {spread(empty)}; of the fastest {min(ours) / min(empty):.2f}"
    return Section([Goal.FIRST_FRAME.row(median(ours) / median(empty), compared)])


def help_text(base: Path, runs: int) -> Section:
    """Time `ua-tui --help` takes, and what a Python that only imports an option parser takes, in turns."""
    commands = {
        "--help": [program(), "--help"],
        "click": [sys.executable, "-c", "import click"],
        "argparse": [sys.executable, "-c", "import argparse"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            took = _to_end(command, base)
            if number:
                times[name].append(took)
    ours = median(times["--help"])
    return Section(
        [
            Row(
                f"--help against {name}, ratio",
                ours / median(times[name]),
                "×",
                HELP_BOUND if name == "click" else None,
                f"{spread(times['--help'])}; python -c 'import {name}' {spread(times[name])}",
            )
            for name in ("click", "argparse")
        ]
    )


def _to_frame(command: Sequence[str], base: Path) -> float:
    with Terminal(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as terminal:
        return terminal.wait(has_frame, START_SECONDS) - terminal.started


def _to_end(command: Sequence[str], base: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=base, env=environment(base), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
