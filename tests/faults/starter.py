"""Starts the program quickly: each time in a new process, forked from one that has imported its modules.

A start costs a second of processor time less than one of `ua-tui`; from `main` on nothing is different.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.paths import PROJECT
from tests.waiting import PATIENCE

SLOW_TO_IMPORT = (
    "ua_tui.tui.cli.full_screen",
    "ua_tui.tui.compose",
    "ua_tui.tui.plain.one_query",
    "claude_agent_sdk",
    "ua_tui.core.telemetry.exporters",
)
CLOCK_STEP = "FAULTS_CLOCK_STEP"
"""The variable with the seconds by which the clock is set during a session."""
CALLS_BEFORE_STEP = 200
STAMPING = (
    "ua_tui.core.bus",
    "ua_tui.core.agent.loop",
    "ua_tui.core.agent.messages.translate",
    "ua_tui.observers.base",
    "ua_tui.tui.compose",
)


class Starter:
    """Starts the program in processes of their own; `env` is the environment in which its modules are imported."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.starter"],
            cwd=PROJECT,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Starter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closes both pipes; the end of its input ends it.
        self._process.communicate(timeout=PATIENCE)

    def start(
        self, *args: str, cwd: Path, env: Mapping[str, str], terminal: str = "", output: str = ""
    ) -> int:
        """Start the program; returns its process id.

        With `terminal`, the path of one, it runs there; otherwise it writes to the file or pipe `output`.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        wanted = {"args": args, "cwd": str(cwd), "env": dict(env), "terminal": terminal, "output": output}
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def main() -> int:
    """Start a program for each line of standard input; returns the exit code of the program in its process."""
    for name in SLOW_TO_IMPORT:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    # Programs that ended leave nothing behind.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while line := sys.stdin.readline():
        wanted = json.loads(line)
        if pid := os.fork():
            sys.stdout.write(f"{pid}\n")
            sys.stdout.flush()
        else:
            return _become(**wanted)
    return 0


def _become(args: Sequence[str], cwd: str, env: dict[str, str], terminal: str, output: str) -> int:
    from ua_tui.tui.cli import main as program

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(cwd)
    # The first terminal that a session opens is the one that controls it.
    files = (terminal,) * 3 if terminal else (os.devnull, output, os.devnull)
    for target, path in enumerate(files):
        descriptor = os.open(path, os.O_RDWR if terminal else os.O_RDONLY if not target else os.O_WRONLY)
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(env)
    if step := int(os.environ.pop(CLOCK_STEP, "0")):
        _set_clock_later(step)
    return program(args)


def _set_clock_later(step: int) -> None:
    """Have the program's clock set by `step` seconds some calls after it began.

    The system's clock cannot be set by a test: this replaces the one of the modules that stamp events and files.
    """
    calls = itertools.count()
    now, seconds = datetime.now, time.time

    def shift() -> int:
        return step if next(calls) > CALLS_BEFORE_STEP else 0

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return now(tz) + timedelta(seconds=shift())

    for name in STAMPING:
        vars(importlib.import_module(name))["datetime"] = Clock
    time.time = lambda: seconds() + shift()


if __name__ == "__main__":
    sys.exit(main())
