"""Ctrl+Z: the program and its agent stand still, and the terminal is the shell's until it continues them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import ClassVar

from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType

__all__ = ["SuspendingApp", "stand_still"]

STOPS_WITHIN = 0.5
"""Seconds; whoever still runs by then is not stopped: there is no shell that could continue it."""


class SuspendingApp(App[str]):
    """An application that Ctrl+Z stops as it stops any other program of a shell.

    The whole group of processes is stopped, as the terminal itself would do it: with the agent's half at work and this
    one not, calls would run into their time limits. What the agent was doing goes on where it was.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "stand_still", "Suspend", id="app.suspend", show=False, priority=True),
    ]

    def action_stand_still(self) -> None:
        """Give the terminal back to the shell, and stop until it continues this program in its foreground."""
        try:
            with self.suspend():
                stopped = stand_still()
        except SuspendNotSupported:
            stopped = False
        if not stopped:
            self.notify("There is no shell here that could continue it after Ctrl+Z.", markup=False)


def stand_still() -> bool:
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
