"""The last resort at exit: a process that has said goodbye must not stay behind."""

from __future__ import annotations

import os
import threading

__all__ = ["end_within"]


def end_within(seconds: float, code: int) -> None:
    """End the process with this exit code if it still lives `seconds` from now.

    A terminal that is gone takes no more output, and Textual waits for it forever; a thread that hangs in a
    library holds up the interpreter's own exit. By the time this is called everything is saved.
    """
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
