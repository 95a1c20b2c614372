"""Waits for input of the terminal, and seldom wakes up while nobody types."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable
from types import SimpleNamespace

from textual.drivers import linux_driver

_SOON = 2.0
_SELDOM = 0.5


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


def wait_for_input() -> None:
    """Make Textual's input thread wait with this selector."""
    ours = SimpleNamespace(SelectSelector=InputSelector, EVENT_READ=selectors.EVENT_READ)
    linux_driver.selectors = ours  # type: ignore[attr-defined, assignment]  # Textual offers no other way in
