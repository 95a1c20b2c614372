"""The foreground of the terminal: runs another program in it, and stops and continues this one at Ctrl+Z."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import partial
from typing import Any, Final

from textual.app import App, SuspendNotSupported
from textual.drivers.linux_driver import LinuxDriver

from ua_tui.core.concurrency.spawn import Work
from ua_tui.core.errors import UniversalAgentError
from ua_tui.tui.workers import start_job

IN_FRONT: Final = "in front"
"""The group of the job that runs a program on the terminal."""
KILLED_AFTER: Final = 20.0
"""Seconds after which a program is killed that was told that its terminal is gone, and did not end."""
_LAST_SECONDS: Final = 2.0


class NoProgram(UniversalAgentError):
    """The program cannot be started; the message says why and what to do."""


def start_in_front(app: App[Any], job: Work) -> None:
    """Start a job of the application that runs a program on its terminal, unless one is running already."""
    if not any(each.group == IN_FRONT for each in app.workers):
        start_job(app, job, IN_FRONT, replacing=False)


async def run_suspended(
    app: App[Any],
    command: Sequence[str],
    name: str,
    environment: Mapping[str, str] | None = None,
    *,
    advice: str = "",
    starting: str = "",
) -> int:
    """Run a program on the terminal while the application is suspended; return its exit code, or minus its signal.

    The application goes on in the background: it draws nothing and reads no keys. A job of `start_in_front` calls
    this, as keys and messages would have to wait in an action. If the job is cancelled, the program is told that its
    terminal is gone, and killed if it does not end.

    The terminal sends the signals of Ctrl+C and Ctrl+Z to every process of its foreground group. The program gets
    its own group, so that neither this process nor the agent's receives keys that are meant for the program. If it
    stops for Ctrl+Z, everything stops, and continues together.

    Args:
        app: the application.
        command: the program and its arguments.
        name: what the program is called in a message.
        environment: that of the program; by default that of this process.
        advice: what to do if it cannot be started; the end of a sentence.
        starting: a line to show until a full-screen program has drawn its screen; what is typed is not shown.

    Raises:
        NoProgram: it cannot be started, or there is no terminal.
    """
    failed: BaseException
    # What libraries print goes where it went, and not to the terminal.
    output, errors = sys.stdout, sys.stderr
    try:
        with app.suspend(), redirect_stdout(output), redirect_stderr(errors):
            # What passes through `suspend` leaves the terminal suspended, which is right only if the screen failed.
            try:
                with _lent_terminal(starting) as give:
                    return await _run(command, environment, give)
            except (OSError, termios.error) as error:
                failed = NoProgram(f"{name} cannot be started ({error.args[-1]}){advice and ': '}{advice}.")
            except asyncio.CancelledError as error:
                if not app.is_running:
                    raise
                failed = error
    except SuspendNotSupported:
        failed = NoProgram(f"{name} needs a terminal, and there is none here.")
    raise failed


@contextmanager
def _open_terminal(flags: int = os.O_RDWR) -> Iterator[int]:
    terminal = os.open("/dev/tty", flags | os.O_NOCTTY)
    try:
        yield terminal
    finally:
        os.close(terminal)


@contextmanager
def _lent_terminal(starting: str) -> Iterator[Callable[[int], None]]:
    """Provide what gives the terminal to a process group; give it back in the end with the modes it has now."""
    with ExitStack() as stack:
        try:
            terminal = stack.enter_context(_open_terminal())
        except OSError:
            # There is no controlling terminal that could send signals.
            yield lambda _group: None
            return
        modes = termios.tcgetattr(terminal)
        if starting:
            input_, output, control, local, *others = modes
            quiet = [input_, output, control, local & ~termios.ECHO, *others]
            termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
            os.write(terminal, f"{starting}\r".encode())
        try:
            yield partial(_set_foreground, terminal)
        finally:
            _set_foreground(terminal, os.getpgrp())
            # A killed program does not restore the modes. A terminal that is gone has none.
            with suppress(OSError, termios.error):
                termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
                os.write(terminal, b"\x1b[K" if starting else b"")


def ring_bell() -> None:
    """Ring the bell of the terminal while another program has it; anything longer could end up in its output."""
    with suppress(OSError), _unstopped(), _open_terminal(os.O_WRONLY | os.O_NONBLOCK) as terminal:
        os.write(terminal, b"\a")


async def _run(
    command: Sequence[str], environment: Mapping[str, str] | None, give: Callable[[int], None]
) -> int:
    process = subprocess.Popen([*command], env=environment, process_group=0)  # noqa: ASYNC220, S603
    give(process.pid)
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    # Python's own waiting for a child does not notice that it stops.
    loop.add_signal_handler(signal.SIGCHLD, changed.set)
    try:
        process.returncode = await _wait(process.pid, changed, give)
    except asyncio.CancelledError:
        # One of another user, as with sudo, cannot be told.
        with suppress(TimeoutError, OSError):
            for number in (signal.SIGHUP, signal.SIGCONT):
                os.killpg(process.pid, number)
            async with asyncio.timeout(KILLED_AFTER):
                process.returncode = await _wait(process.pid, changed, give)
        raise
    finally:
        loop.remove_signal_handler(signal.SIGCHLD)
        # It is cancelled once more when the event loop ends, as after a failure of the screen.
        _kill(process)
    return process.returncode


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program that has not ended, also when the event loop that waited for it ends."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_LAST_SECONDS)
        return
    with suppress(subprocess.TimeoutExpired, OSError):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_LAST_SECONDS)


async def _wait(child: int, changed: asyncio.Event, give: Callable[[int], None]) -> int:
    while True:
        changed.clear()
        ended, status = os.waitpid(child, os.WUNTRACED | os.WNOHANG)  # noqa: ASYNC222  # it does not block
        if not ended:
            await changed.wait()
        elif not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        else:
            # A program that used the terminal before it was in the foreground only has to continue.
            if os.WSTOPSIG(status) not in (signal.SIGTTIN, signal.SIGTTOU):
                give(os.getpgrp())
                suspend_process()
            give(child)
            os.killpg(child, signal.SIGCONT)


def _set_foreground(terminal: int, group: int) -> None:
    # The group no longer exists if its program has ended.
    with suppress(OSError), _unstopped():
        os.tcsetpgrp(terminal, group)


@contextmanager
def _unstopped() -> Iterator[None]:
    """Use the terminal in the background, where a process is stopped by a signal when it does."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        yield
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
    with suppress(OSError), _open_terminal() as terminal:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    return True
