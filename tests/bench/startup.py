from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.goals import Goal
from tests.bench.table import Section, median, spread
from tests.bench.terminal import Terminal, has_frame
from tests.e2e.running import environment, program

START_SECONDS = 30.0
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


def _to_frame(command: Sequence[str], base: Path) -> float:
    with Terminal(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as terminal:
        return terminal.wait(has_frame, START_SECONDS) - terminal.started
