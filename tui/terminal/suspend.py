"""Ctrl+Z: stops the program and its agent until the shell continues them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

__all__ = ["suspend_process"]

STOPS_WITHIN = 0.5
"""Seconds; if the process still runs after that, there is no shell that could continue it."""


def suspend_process() -> bool:
    """Stop this process and its group until they are continued in the foreground; False if they cannot be stopped."""
    stopped = False
    while _stop():
        stopped = True
        # After `bg` there is no terminal to draw on.
        if _in_foreground():
            break
    return stopped


def _stop() -> bool:
    continued = False

    def remember(*_: object) -> None:
        nonlocal continued
        continued = True

    before = {
        number: signal.signal(number, handler)
        for number, handler in ((signal.SIGCONT, remember), (signal.SIGTSTP, signal.SIG_DFL))
    }
    try:
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        # Another thread may get the signal, so this one may run on for a moment.
        until = time.monotonic() + STOPS_WITHIN
        while not continued and time.monotonic() < until:
            time.sleep(0.005)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return continued


def _in_foreground() -> bool:
    terminal = None
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    if terminal is None:
        return True
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return True
    finally:
        os.close(terminal)
