"""Detaches the rest of the program from its terminal, so that Ctrl+C there ends nothing that the program started."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

from ua_tui.tui.terminal.signals import SIGNALS


def run_apart(work: Callable[[], int]) -> int:
    """Do the work in a child process, to which this one passes its signals on; returns its exit code.

    A terminal sends Ctrl+C to all processes of the program in its foreground: it would end the agents and MCP servers
    in the middle of a call. Without a terminal the work is done here. Call it before any thread is started.
    """
    try:
        # Standard input and output may lead elsewhere, also where Ctrl+C comes from a terminal.
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return work()
    sys.stdout.flush()
    sys.stderr.flush()
    watched, held = os.pipe()
    if (child := os.fork()) == 0:
        os.close(held)
        os.setsid()
        threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
        return work()
    os.close(watched)
    for number in SIGNALS:
        signal.signal(number, lambda number, _frame: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    os.close(held)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end_with(watched: int) -> None:
    """End when the process ends that holds the other end of the pipe."""
    os.read(watched, 1)
    os.kill(os.getpid(), signal.SIGKILL)
