"""A session of one browser tab: the full screen, drawn for the process that serves it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

from textual.drivers import web_driver

from tui.cli import main

__all__ = ["run"]

_LOOK_SECONDS = 2.0


class SteadyDriver(web_driver.WebDriver):
    """Draws for a process that may be gone: output it does not read is discarded, and the session ends in order.

    Textual's own driver raises then, and takes the screen down before the session could be closed.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._gone = False
        self._write = self._write_steadily  # type: ignore[assignment]  # Textual has a partial function there

    def _write_steadily(self, data: bytes) -> int:
        try:
            return os.write(self.fileno, data)
        except OSError:
            if not self._gone:
                self._gone = True
                os.kill(os.getpid(), signal.SIGTERM)
            return len(data)


def run() -> int:
    """Run the screen with the arguments of this process; returns its exit code."""
    # The screen is drawn through another channel, which this output would disturb.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the process ends
    web_driver.WebDriver = SteadyDriver  # type: ignore[misc]  # named in the environment, for all who read it
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    return main(sys.argv[1:])


def _end_with(parent: int) -> None:
    """Shut down in order when the serving process is gone: nobody could see or stop the session."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(run())
