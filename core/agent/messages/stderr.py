"""The standard error of the command line: its last line for error messages, and its beginning for the log."""

from __future__ import annotations

import logging

from ua_tui.core.text import clean_line

log = logging.getLogger(__name__)

_TAIL = 8 << 10
# By this mark a piece of a secret is recognised.
_CUT = "…".encode()


class StandardError:
    """Reads what the command line writes to its standard error; a flood is counted, and not logged."""

    def __init__(self) -> None:
        self._tail = self._partial = b""
        self._left = 256 << 10
        self._dropped = 0

    @property
    def last_line(self) -> str:
        """The last line that is not empty; empty if there was none."""
        tail = _CUT + self._tail if len(self._tail) == _TAIL else self._tail
        lines = tail.decode(errors="replace").splitlines()
        return next((text for line in reversed(lines) if (text := clean_line(line, 500).strip())), "")

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        self._tail = (self._tail + data[-_TAIL:])[-_TAIL:]
        logged = data[: self._left]
        self._left -= len(logged)
        self._dropped += len(data) - len(logged)
        *lines, self._partial = (self._partial + logged).split(b"\n")
        for line in lines:
            self._log(line)

    def close(self) -> None:
        """Log what is left: an unfinished line, and how much was dropped."""
        self._log(self._partial + _CUT if self._dropped and self._partial else self._partial)
        if self._dropped:
            log.warning("agent: %d more bytes of its standard error were dropped", self._dropped)
        self._partial, self._dropped = b"", 0

    def _log(self, line: bytes) -> None:
        if line.strip():
            log.info("agent: %s", line.decode(errors="replace").rstrip())
