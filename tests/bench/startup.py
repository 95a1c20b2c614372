from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.goals import Goal
from tests.bench.table import Row, Section, median, spread
from tests.bench.terminal import Terminal, has_frame
from tests.e2e.running import environment, model_environment, program
from tests.e2e.scripted_model import Text, scripted_model
from ua_tui.core.provider.credentials import claude_program
from ua_tui.core.settings.model import Settings

START_SECONDS = 30.0
_MOST = 2.0
"""How often the command line alone may fit into a session."""
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


def session_cost(base: Path, runs: int) -> Section:
    """What one short session costs, relative to the agent's command line alone with the same model, in turns."""
    ours: list[tuple[float, float]] = []
    alone: list[tuple[float, float]] = []
    with scripted_model(lambda _body, _results: [Text("Hello.")]) as url:
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        env = model_environment(base, url, **quiet)
        for number in range(runs + 1):
            took = (
                _cost([program(), "run", "say hello"], base, env),
                _cost([str(claude_program(Settings())), "-p", "say hello"], base, env),
            )
            if number:  # as above
                ours.append(took[0])
                alone.append(took[1])
    rows = []
    for place, what in enumerate(("processor time", "time")):
        mine, other = ([each[place] for each in costs] for costs in (ours, alone))
        compared = f"{spread(mine)}; command line alone {spread(other)}"
        rows.append(
            Row(
                f"`run`, {what} relative to the command line",
                median(mine) / median(other),
                "×",
                _MOST,
                compared,
            )
        )
    return Section(rows)


def _cost(command: Sequence[str], base: Path, env: Mapping[str, str]) -> tuple[float, float]:
    """The processor seconds of a command with everything that it starts, and the seconds that it takes."""
    nowhere = subprocess.DEVNULL
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=base, env=env, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} failed with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, took


def _to_frame(command: Sequence[str], base: Path) -> float:
    with Terminal(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as terminal:
        return terminal.wait(has_frame, START_SECONDS) - terminal.started
