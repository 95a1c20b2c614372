"""Stopping and continuing: Ctrl+Z stops the program and its agent until the shell continues them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from textual.drivers.linux_driver import LinuxDriver


def suspend_process() -> bool:
    """Stop this process and its group until they are continued in the foreground; False if they cannot be stopped."""
    stopped = False
    while _stop():
        stopped = True
        # After `bg` there is no terminal to draw on.
        if _in_foreground():
            break
    return stopped


def repaint_when_continued() -> None:
    """Make Textual begin its use of the terminal again only if it had ended it, when the process is continued.

    After SIGSTOP it has not. A second thread would then read the keys, and one of the two waits forever for a key that
    the other one got: the program hangs at its end. What others wrote meanwhile is painted over.
    """
    LinuxDriver._sigcont_application = _continue  # type: ignore[method-assign, assignment]


def _continue(driver: LinuxDriver, *_: object) -> None:
    if driver._auto_restart and driver._must_signal_resume:
        driver.resume_application_mode()
    elif driver._auto_restart:
        driver._loop.call_soon_threadsafe(driver._app.refresh)


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
        # Another thread may get the signal, so this one may run on for a moment; for longer only without a shell.
        until = time.monotonic() + 0.5
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
