"""Changes of Textual's terminal driver: it wakes up seldom, and ends the session when the terminal is gone."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable
from types import SimpleNamespace

from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread

_SOON = 2.0
_SELDOM = 0.5


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


class InputSelector(selectors.SelectSelector):
    """Waits for half a second at a time if nothing was typed for two seconds.

    Textual's input thread waits for a tenth of a second: it must notice that an escape sequence goes on no further,
    which follows a key, and that it is to end, which mostly follows one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last = clock()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for input; without a file to read, as long as requested."""
        if self.get_map() and timeout is not None and self._clock() - self._last > _SOON:
            timeout = max(timeout, _SELDOM)
        found = super().select(timeout)
        if found:
            self._last = self._clock()
        return found


def adapt_driver() -> None:
    """Make Textual's threads write and wait this way."""
    # Textual offers no other way in.
    linux_driver.WriterThread = DisconnectWriter  # type: ignore[attr-defined]
    ours = SimpleNamespace(SelectSelector=InputSelector, EVENT_READ=selectors.EVENT_READ)
    linux_driver.selectors = ours  # type: ignore[attr-defined, assignment]
