"""The processes below one that we started: remembered by pid and start time, and ended when it has ended.

A process whose parent ends gets another parent, and one that is stopped does not notice that its input has ended. So
whoever ends a process remembers its descendants before. `python -m ua_tui.core.concurrency.process_tree PID` ends the
process and its descendants.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import suppress

import psutil

from ua_tui.core.log import log

_STEPS = ((None, 1.0), (signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0))
"""A signal, and the seconds to wait for the end; first those who end by themselves."""


class ProcessTree:
    """The descendants of a process; call it from threads, as it reads the system's table of processes.

    It knows those that `refresh` has found. A pid that was given to another process meanwhile is recognised by its
    start time, and left alone.
    """

    def __init__(self, pid: int, *, with_root: bool = False) -> None:
        self._lock = threading.RLock()
        self._known: set[psutil.Process] = set()
        self._root: psutil.Process | None = None
        self._with_root = with_root
        with suppress(psutil.Error):
            self._root = psutil.Process(pid)

    def refresh(self) -> None:
        """Remember the descendants of now, also those whose parent has ended since they were remembered."""
        with self._lock:
            parents = ([self._root] if self._root is not None and _runs(self._root) else []) + self._running()
            if self._with_root:
                self._known.update(parents)
            found: set[psutil.Process] = set()
            # Each reads the table of processes, so those below another one are not asked.
            for parent in parents:
                if parent not in found:
                    with suppress(psutil.Error):
                        found.update(parent.children(recursive=True))
            self._known |= found

    def interrupt(self, module: str) -> None:
        """Send SIGINT to the remembered processes that run a Python module."""
        with self._lock:
            for process in self._running():
                with suppress(psutil.Error):
                    if module in process.cmdline():
                        process.send_signal(signal.SIGINT)

    def end(self) -> list[str]:
        """End those that do not end by themselves now; returns the names of those that had to be ended.

        A stopped process is continued for SIGTERM, so that it can end in order.
        """
        with self._lock:
            ended = [name for number, seconds in _STEPS for name in self._signal_and_wait(number, seconds)]
            self._known = set(self._running())
        return list(dict.fromkeys(ended))

    def _signal_and_wait(self, number: signal.Signals | None, seconds: float) -> list[str]:
        signalled: list[str] = []
        if number is not None and self._running():
            self.refresh()
            signalled = [name for process in self._running() for name in _signal(process, number)]
        until = time.monotonic() + seconds
        while self._running() and time.monotonic() < until:
            time.sleep(0.02)
        return signalled

    def _running(self) -> list[psutil.Process]:
        return [process for process in self._known if _runs(process)]


def _runs(process: psutil.Process) -> bool:
    """Whether it is the process that it was, and more than an entry that its parent has yet to remove."""
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _signal(process: psutil.Process, number: signal.Signals) -> list[str]:
    """Send a signal; returns the name of the process, none if it has ended."""
    try:
        name = process.name()
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
    except psutil.NoSuchProcess:
        return []
    except psutil.Error as error:
        log.warning("a process that the agent had started cannot be ended: %s", error)
        return []
    return [name]


if __name__ == "__main__":
    tree = ProcessTree(int(sys.argv[1]), with_root=True)
    tree.refresh()
    tree.end()
