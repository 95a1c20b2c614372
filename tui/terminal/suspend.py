"""Ctrl+Z: stops the program and its agent until the shell continues them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

__all__ = ["suspend_process"]

STOPS_WITHIN = 0.5
"""Seconds; whoever still runs by then is not stopped: there is no shell that could continue it."""


def suspend_process() -> bool:
    """Stop this process and its group until they are continued in the foreground; False when nothing stops them."""
    stopped = False
    while _stop():
        stopped = True
        # With `bg` it would have no terminal to draw on.
        if _in_front():
            break
    return stopped


def _stop() -> bool:
    continued = False

    def note(*_: object) -> None:
        nonlocal continued
        continued = True

    before = {
        number: signal.signal(number, handler)
        for number, handler in ((signal.SIGCONT, note), (signal.SIGTSTP, signal.SIG_DFL))
    }
    try:
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        # Another thread may be given the signal, and this one goes on for a moment.
        until = time.monotonic() + STOPS_WITHIN
        while not continued and time.monotonic() < until:
            time.sleep(0.005)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return continued


def _in_front() -> bool:
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
