"""A process that uses Composio's SDK for this one: the SDK takes 80 MB, of which an open session needs nothing."""

from __future__ import annotations

import logging
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from ua_tui.core.concurrency.garbage_collection import deferred
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.http import OnRequest

log = logging.getLogger(__name__)

_IDLE_SECONDS = 30.0
"""Longer than the program waits between two questions whether an account is connected."""


class SdkProcess:
    """Runs functions that use the SDK, one at a time; call it in threads.

    The process is started when it is first needed, and ends after half a minute without work.

    Args:
        settings: the first argument of each function.
        on_request: is called with the requests that a function makes.
    """

    def __init__(self, settings: Settings, on_request: OnRequest | None = None) -> None:
        self._settings = settings
        self._on_request = on_request
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], object] = lambda: None

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function of a module with the settings, the report of requests, and `args`, which can be pickled.

        Raises:
            ConnectionFailed: the function raised it, or the process could not be started or ended before its time.
        """
        with self._lock:
            name = f"{function.__module__}:{function.__name__}"
            try:
                process = self._running()
                assert process.stdin is not None
                assert process.stdout is not None
                pickle.dump((name, self._settings, args), process.stdin)
                process.stdin.flush()
                while True:
                    # What the process writes comes from our own code, which makes plain values of the SDK's.
                    kind, value = pickle.load(process.stdout)  # noqa: S301
                    if kind == "done":
                        return value
                    if kind == "failed":
                        log.info("%s", value[0].problem)
                        raise ConnectionFailed(value[0], code=value[1])
                    if self._on_request is not None:
                        self._on_request(value)
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                self.close()
                raise ConnectionFailed(
                    f"the process that asks Composio ended ({type(error).__name__})"
                ) from error

    def close(self) -> None:
        """End the process, even during a call, which fails then."""
        self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or _has_ended(self._process):
            self._end()
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable or "python3", "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._end = weakref.finalize(self, _end, self._process)
        return self._process


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has no more than its end to say."""
    assert process.stdout is not None
    return process.poll() is not None or bool(select.select([process.stdout], [], [], 0)[0])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def main() -> int:
    """Run functions until the other process is gone, or there was nothing to do for a while."""
    # The other process handles the keys of the terminal.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever a library prints is no answer.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())

    def say(kind: str, value: object) -> None:
        pickle.dump((kind, value), answers)
        answers.flush()

    def answer() -> bool:
        """Run one function; False if there was nothing to do for a while."""
        if not select.select([sys.stdin], [], [], _IDLE_SECONDS)[0]:
            return False
        name, settings, args = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process
        module, _, function = name.partition(":")
        try:
            value = getattr(import_module(module), function)(
                settings, lambda request: say("request", request), *args
            )
        except ConnectionFailed as failure:
            say("failed", (failure.advice, failure.code))
        else:
            say("done", value)
        return True

    with suppress(EOFError, OSError), answers:
        # The first one imports the SDK.
        with deferred():
            goes_on = answer()
        while goes_on:
            goes_on = answer()
    return 0


if __name__ == "__main__":
    sys.exit(main())
