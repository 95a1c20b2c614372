"""A terminal that is gone takes no more output: nothing waits for it, and the session ends as on a hangup."""

from __future__ import annotations

import os
import signal

from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread

__all__ = ["SteadyWriter", "guard_output"]


class SteadyWriter(WriterThread):
    """Writes to the terminal; once that fails, whatever else comes is thrown away.

    Textual's own thread ends with the first error. The queue before it fills up then, and the event loop waits at it
    for ever, deaf to the very signal that tells of the hangup.
    """

    def run(self) -> None:
        """Write until told to stop; when the terminal is gone, tell the process so once."""
        try:
            super().run()
        except (OSError, ValueError):
            os.kill(os.getpid(), signal.SIGHUP)
            while self._queue.get() is not None:
                pass


def guard_output() -> None:
    """Have the terminal written to by threads that outlive it."""
    linux_driver.WriterThread = SteadyWriter  # type: ignore[attr-defined]  # Textual offers no other way in
