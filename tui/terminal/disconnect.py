"""When the terminal is gone, output is discarded and the session ends as on a hangup."""

from __future__ import annotations

import os
import signal

from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread


class DisconnectWriter(WriterThread):
    """Writes to the terminal; after a failure, further output is discarded.

    Textual's own thread ends at the first error. Then its queue fills up, the event loop waits for it forever, and
    the hangup signal is never handled.
    """

    def run(self) -> None:
        """Write until the end; if the terminal is gone, send SIGHUP to this process once."""
        try:
            super().run()
        except (OSError, ValueError):
            os.kill(os.getpid(), signal.SIGHUP)
            while self._queue.get() is not None:
                pass


def guard_output() -> None:
    """Make Textual write with this thread."""
    linux_driver.WriterThread = DisconnectWriter  # type: ignore[attr-defined]  # Textual offers no other way in
