"""The standard error of the command line: its last line for error messages, and a bounded part of it for the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ua_tui.core.text import clean_line

log = logging.getLogger(__name__)

_LOGGED_A_SECOND = 32 << 10
_TAIL = 8 << 10
_LAST_LINE = 500
# By this mark a piece of a secret is recognised.
_CUT = "…".encode()


class StandardError:
    """Reads what the command line writes to its standard error, at a cost that does not depend on the lines in it.

    At most 32 KiB of each second are logged, line by line; the rest is counted.

    Args:
        clock: monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tail = b""
        self._partial = b""
        self._until = 0.0
        self._left = 0
        self._dropped = 0

    @property
    def last_line(self) -> str:
        """The last line that is not empty; empty if there was none."""
        tail = _CUT + self._tail if len(self._tail) == _TAIL else self._tail
        lines = tail.decode(errors="replace").splitlines()
        return next((text for line in reversed(lines) if (text := clean_line(line, _LAST_LINE).strip())), "")

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        self._tail = (self._tail + data[-_TAIL:])[-_TAIL:]
        if (now := self._clock()) >= self._until:
            self._until, self._left = now + 1.0, _LOGGED_A_SECOND
            self._report_dropped()
        logged = data[: self._left]
        self._left -= len(logged)
        self._dropped += len(data) - len(logged)
        *lines, self._partial = (self._partial + logged).split(b"\n")
        if not self._left:
            if self._partial not in (b"", _CUT):
                lines.append(self._partial + _CUT)
            self._partial = b"" if data.endswith(b"\n") else _CUT
        for line in lines:
            self._log(line)

    def close(self) -> None:
        """Log what is left: an unfinished line, and how much was dropped."""
        self._log(self._partial)
        self._partial = b""
        self._report_dropped()

    def _log(self, line: bytes) -> None:
        if line.strip() and line != _CUT:
            log.info("agent: %s", line.decode(errors="replace").rstrip())

    def _report_dropped(self) -> None:
        if self._dropped:
            log.warning("agent: %d more bytes of its standard error were dropped", self._dropped)
            self._dropped = 0
