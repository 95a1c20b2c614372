"""The foreground of the terminal: a program that runs in it, and this one stopped by Ctrl+Z and continued."""

from __future__ import annotations

import os
import signal
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


def run_in_foreground(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    starting: str = "",
) -> int:
    """Run a program to its end and return its exit code, or minus the signal that ended it.

    The terminal sends the signals of Ctrl+C and Ctrl+Z to every process of its foreground group. The program gets
    its own group, so that neither this process nor the agent's receives keys that are meant for the program. If it
    stops for Ctrl+Z, everything stops, and continues together.

    Args:
        command: the program and its arguments.
        environment: its environment; by default that of this process.
        starting: a line to show until a full-screen program has drawn its screen; what is typed is not shown.

    Raises:
        OSError: it cannot be started.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        # There is no controlling terminal that could send signals.
        return subprocess.run([*command], env=environment, check=False).returncode  # noqa: S603
    try:
        modes = _modes(terminal)
        if starting:
            input_, output, control, local, *others = modes
            quiet = [input_, output, control, local & ~termios.ECHO, *others]
            termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
            os.write(terminal, f"{starting}\r".encode())
        process = subprocess.Popen([*command], env=environment, process_group=0)  # noqa: S603
        try:
            _set_foreground(terminal, process.pid)
            process.returncode = _wait(terminal, process.pid)
        finally:
            _set_foreground(terminal, os.getpgrp())
        # A killed program does not restore the modes. A terminal that is gone has none.
        with suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
        if starting:
            with suppress(OSError):
                os.write(terminal, b"\x1b[K")
        return process.returncode
    finally:
        os.close(terminal)


def run_suspended(
    app: App[Any],
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    starting: str = "",
) -> int:
    """Suspend the application while a program runs on its terminal; the rest is as for `run_in_foreground`.

    Raises:
        OSError: the program cannot be started.
        SuspendNotSupported: there is no terminal.
    """
    with app.suspend():
        try:
            return run_in_foreground(command, environment, starting=starting)
        except OSError as error:
            # An error that passes through `suspend` would leave the terminal suspended.
            failed = error
    raise failed


def _modes(terminal: int) -> list[Any]:
    try:
        return termios.tcgetattr(terminal)
    except termios.error as error:
        # It is not a subclass of OSError.
        raise OSError(*error.args) from error


def _wait(terminal: int, child: int) -> int:
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        # A program that used the terminal before it was in the foreground only has to continue.
        if os.WSTOPSIG(status) not in (signal.SIGTTIN, signal.SIGTTOU):
            _set_foreground(terminal, os.getpgrp())
            _stop_all()
        _set_foreground(terminal, child)
        os.killpg(child, signal.SIGCONT)


def _stop_all() -> None:
    """Stop this process and its group until the shell continues them; nothing happens without a shell."""
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        os.killpg(os.getpgrp(), signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, handler)


def _set_foreground(terminal: int, group: int) -> None:
    # A process in the background is stopped by this signal when it does this.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        # The group no longer exists if its program has ended.
        with suppress(OSError):
            os.tcsetpgrp(terminal, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
