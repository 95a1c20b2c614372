"""A program in the foreground of the terminal, as a shell would have it there."""

from __future__ import annotations

import os
import signal
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

__all__ = ["run_in_foreground"]


def run_in_foreground(
    command: Sequence[str], given: bytes | None = None, environment: Mapping[str, str] | None = None
) -> int:
    """Run a program to its end and return its exit code, or minus the signal that ended it.

    The terminal sends what Ctrl+C and Ctrl+Z stand for to every process of the group in its foreground. So the
    program gets a group of its own: neither this process nor the agent's hears of keys that are meant for the
    program. Where it stops for Ctrl+Z, everything stops, and goes on together.

    Args:
        command: the program and its arguments.
        given: its standard input; by default the terminal.
        environment: its environment; by default that of this process.

    Raises:
        OSError: it cannot be started.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        # No terminal rules this process, so none sends it signals.
        return subprocess.run([*command], input=given, env=environment, check=False).returncode  # noqa: S603
    try:
        modes = _modes(terminal)
        stdin = None if given is None else subprocess.PIPE
        process = subprocess.Popen([*command], stdin=stdin, env=environment, process_group=0)  # noqa: S603
        try:
            _put_in_front(terminal, process.pid)
            if process.stdin is not None and given is not None:
                threading.Thread(target=_feed, args=(process.stdin, given), daemon=True).start()
            process.returncode = _wait(terminal, process.pid)
        finally:
            _put_in_front(terminal, os.getpgrp())
        # What was killed leaves the modes as it needed them. A terminal that is gone has none.
        with suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
        return process.returncode
    finally:
        os.close(terminal)


def _modes(terminal: int) -> list[Any]:
    try:
        return termios.tcgetattr(terminal)
    except termios.error as error:
        # Not one of the system's errors by its class.
        raise OSError(*error.args) from error


def _wait(terminal: int, child: int) -> int:
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        # One that was faster at the terminal than the terminal was given to it only has to go on.
        if os.WSTOPSIG(status) not in (signal.SIGTTIN, signal.SIGTTOU):
            _put_in_front(terminal, os.getpgrp())
            _stop_all()
        _put_in_front(terminal, child)
        os.killpg(child, signal.SIGCONT)


def _stop_all() -> None:
    """Stop this process and its group until the shell continues them; without a shell nothing happens."""
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        os.killpg(os.getpgrp(), signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, handler)


def _put_in_front(terminal: int, group: int) -> None:
    # Only who is in front may do this without being stopped for it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        # The group is gone when its program has already ended.
        with suppress(OSError):
            os.tcsetpgrp(terminal, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _feed(pipe: IO[bytes], given: bytes) -> None:
    # A pager is often left before the end of the text.
    with suppress(OSError), pipe:
        pipe.write(given)
