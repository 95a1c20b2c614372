"""A session of one browser tab: the full screen, drawn for the process that serves it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from tui.cli import main

__all__ = ["run"]

_LOOK_SECONDS = 2.0


def run() -> int:
    """Run the screen with the arguments of this process; returns its exit code."""
    # What the screen is drawn with goes another way; this would fall into it.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the process ends
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    return main(sys.argv[1:])


def _end_with(parent: int) -> None:
    """Leave in good order when the process that serves is gone: nobody could see or stop the session."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(run())
