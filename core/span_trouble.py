"""Hears when spans do not arrive where they are sent, from what the libraries that send them log."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from core.text import clean_line

__all__ = ["Trouble"]

_LOGGERS = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "logfire")


class Trouble(logging.Filter):
    """Hears what the libraries log when spans do not arrive: lets the first of it pass, and tells why, once.

    Attributes:
        now: whether the last that was tried did not arrive.
    """

    def __init__(self, on_trouble: Callable[[str], object]) -> None:
        super().__init__()
        self._on_trouble = on_trouble
        self._told = False
        self.now = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is to be logged."""
        if record.levelno < logging.WARNING:
            return True
        self.now = True
        # They come by the second.
        told, self._told = self._told, True
        if not told:
            self._on_trouble(_reason(record.getMessage()))
        return not told

    def listen(self) -> None:
        """Begin to hear, instead of whoever did before."""
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            for old in [each for each in logger.filters if isinstance(each, Trouble)]:
                logger.removeFilter(old)
            logger.addFilter(self)


def _reason(message: str) -> str:
    """What is the matter, of what a library says of it."""
    if found := re.search(r"\[Errno -?\d+\] ([^'\")]+)", message):
        return found[1]
    if found := re.search(r"code: (\d+), reason: ([^,]+)", message):
        return f"{found[1]} {found[2]}"
    return "no answer in time" if "timed out" in message.lower() else clean_line(message, 120)
