"""Signals that ask a program without a screen to end: in order at the first one, at once at the second."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Those that ask a program to end."""


@contextmanager
def stopping_on_signals(
    stop_work: Callable[[], object], end_at_once: Callable[[], str] = str
) -> Iterator[list[int]]:
    """Stop the work at the first signal, and end the program at the second; gives the list of the signals that came.

    `end_at_once` is called before that end, and returns what else is to be told.
    """
    loop = asyncio.get_running_loop()
    stopped: list[int] = []

    def stop(number: int) -> None:
        if stopped:
            end_now(number, end_at_once())
        stopped.append(number)
        stop_work()

    with ExitStack() as stack:
        for number in SIGNALS:
            loop.add_signal_handler(number, stop, number)
            stack.callback(loop.remove_signal_handler, number)
        yield stopped


def end_now(number: int, more: str = "") -> None:
    """End the program for a signal that came a second time: what is not written by then is lost."""
    line = "\n" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{line}stopped before everything was saved{more}\n")
    os._exit(128 + number)
