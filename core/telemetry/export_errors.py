"""Hears when spans do not arrive where they are sent: by what is answered, and by what the libraries log."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.telemetry.otlp_answers import COLLECTOR, LOGFIRE, problem_of
from core.text import clean_line

__all__ = ["Trouble"]

_LOGGERS = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "logfire")
_NO_ANSWER = "it does not answer in time"


class Trouble(logging.Filter):
    """Hears when spans do not arrive: lets the first of what is logged pass, and tells why, once a place.

    Args:
        on_trouble: told whether it is the collector, and not Logfire, that spans do not reach, and why, in words
            that end in what to do.

    Attributes:
        collector_is_away: whether the last that was tried did not arrive there.
    """

    def __init__(self, on_trouble: Callable[[bool, str], object]) -> None:
        super().__init__()
        self._on_trouble = on_trouble
        self._told: set[bool] = set()
        self._logged: set[bool] = set()
        self._sending: dict[int, float] = {}
        self.collector_is_away = False

    def answered(self, collector: bool, status: int, content_type: str, body: bytes) -> None:
        """Take an answer to what was sent."""
        if (problem := problem_of(COLLECTOR if collector else LOGFIRE, status, content_type, body)) is None:
            return
        self.collector_is_away = self.collector_is_away or collector
        self._tell(collector, *problem)

    def late(self, seconds: float) -> None:
        """Tell of a collector that has been sent to for so many seconds and has not answered."""
        begun = min(self._sending.values(), default=None)
        if begun is not None and time.monotonic() - begun >= seconds:
            self.collector_is_away = True
            self._tell(True, _NO_ANSWER, f"see that it runs, or {COLLECTOR.address}")

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is to be logged."""
        if record.levelno < logging.WARNING:
            return True
        # Both are sent to by the same library, which names neither.
        collector = record.thread in self._sending
        self.collector_is_away = self.collector_is_away or collector
        if record.exc_info and collector in self._told:
            # What was answered is told, and that something failed of it is no news.
            return False
        self._tell(collector, *_reason(record.getMessage(), collector))
        # They come by the second.
        if collector in self._logged:
            return False
        self._logged.add(collector)
        return True

    @contextmanager
    def sending_to_collector(self) -> Iterator[None]:
        """Take what is logged in this thread meanwhile for the collector's."""
        thread = threading.get_ident()
        self._sending[thread] = time.monotonic()
        try:
            yield
        finally:
            self._sending.pop(thread, None)

    def listen(self) -> None:
        """Begin to hear, instead of whoever did before."""
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            for old in [each for each in logger.filters if isinstance(each, Trouble)]:
                logger.removeFilter(old)
            logger.addFilter(self)

    def _tell(self, collector: bool, what: str, remedy: str) -> None:
        if collector not in self._told:
            self._told.add(collector)
            self._on_trouble(collector, f"{what}: {remedy}")


def _reason(message: str, collector: bool) -> tuple[str, str]:
    """What is the matter, of what a library says of it where nothing was answered, and what to do."""
    place = COLLECTOR if collector else LOGFIRE
    if found := re.search(r"\[Errno -?\d+\] ([^'\")]+)", message):
        return f"it cannot be reached ({found[1]})", f"see that it runs, or {place.address}"
    if found := re.search(r"code: (\d{3}), reason: ", message):
        return problem_of(place, int(found[1]), "", b"") or ("it does not take them", place.address)
    if "timed out" in message.lower() or "due to timeout" in message:
        return _NO_ANSWER, f"see that it runs, or {place.address}"
    if "retrying" in message:
        return "it cannot be reached", f"check the network, and {place.address.removeprefix('check ')}"
    return f"they cannot be sent ({clean_line(message, 120)})", place.address
