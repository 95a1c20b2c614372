"""Hears when spans do not arrive where they are sent, from what the libraries that send them log."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.text import clean_line

__all__ = ["Trouble"]

_LOGGERS = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "logfire")


class Trouble(logging.Filter):
    """Hears what the libraries log when spans do not arrive: lets the first of it pass, and tells why, once a place.

    Args:
        on_trouble: told whether it is the collector, and not Logfire, that spans do not reach, and why.

    Attributes:
        collector_is_away: whether the last that was tried did not arrive there.
    """

    def __init__(self, on_trouble: Callable[[bool, str], object]) -> None:
        super().__init__()
        self._on_trouble = on_trouble
        self._told: set[bool] = set()
        self._sending: set[int] = set()
        self.collector_is_away = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is to be logged."""
        if record.levelno < logging.WARNING:
            return True
        # Both are sent to by the same library, which names neither.
        collector = record.thread in self._sending
        self.collector_is_away = self.collector_is_away or collector
        # They come by the second.
        if collector in self._told:
            return False
        self._told.add(collector)
        self._on_trouble(collector, _reason(record.getMessage()))
        return True

    @contextmanager
    def sending_to_collector(self) -> Iterator[None]:
        """Take what is logged in this thread meanwhile for the collector's."""
        thread = threading.get_ident()
        self._sending.add(thread)
        try:
            yield
        finally:
            self._sending.discard(thread)

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
