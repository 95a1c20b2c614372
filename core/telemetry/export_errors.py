"""What can go wrong when spans are exported, what to do about it, and the monitor that notices it.

`_ADVICE` is the one table for the two destinations, an OTLP collector and Logfire. The monitor learns of a problem from
the answers to exports and from the log records of the exporting libraries.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Literal

from core.errors import Advice
from core.events.units import quantity
from core.net.bodies import is_html
from core.text import clean_line

__all__ = ["Destination", "ExportMonitor", "answer_problem", "export_advice"]

Destination = Literal["collector", "logfire"]
"""Where spans are sent."""

_Problem = Literal[
    "credentials", "bad_value", "busy", "server_error", "refused", "web_page", "other_service", "rejected", "timeout",
    "not_running", "no_connection", "unknown",
]  # fmt: skip
_ADVICE: Mapping[_Problem, Advice] = {
    "credentials": Advice("it rejected the credentials ({shown})", "{credentials}"),
    "bad_value": Advice("a setting has a character that no request may have", "{values}"),
    "busy": Advice("it accepts no more requests for now ({shown})", "try again later"),
    "server_error": Advice("it failed ({shown})", "try again later"),
    "refused": Advice("it rejected the spans ({shown})", "{address}"),
    "web_page": Advice("it returned a web page ({shown})", "{address}"),
    "other_service": Advice("it answered, but not as {name} does ({shown})", "{address}"),
    "rejected": Advice("it rejected {shown}", "see its log"),
    "timeout": Advice("it did not answer in time", "make sure that it is running, and {address}"),
    "not_running": Advice("it cannot be reached ({shown})", "make sure that it is running, and {address}"),
    "no_connection": Advice("it cannot be reached ({shown})", "check the network, and {address}"),
    "unknown": Advice("the export failed ({shown})", "{address}"),
}
_SETTINGS: Mapping[Destination, Mapping[str, str]] = {
    "collector": {
        "name": "a collector",
        "values": "check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS",
        "credentials": "check OTEL_EXPORTER_OTLP_HEADERS",
        "address": "check OTEL_EXPORTER_OTLP_ENDPOINT",
    },
    "logfire": {
        "name": "Logfire",
        "values": "copy LOGFIRE_TOKEN again, and LOGFIRE_BASE_URL if it is set",
        "credentials": "set LOGFIRE_TOKEN to a valid write token",
        "address": "check LOGFIRE_BASE_URL",
    },
}
_LOGGERS = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "logfire")
_METRIC_LOGGERS = ("opentelemetry.exporter.otlp.proto.http.metric_exporter", "opentelemetry.sdk.metrics")
_PROTOBUF = frozenset({"application/x-protobuf", "application/protobuf", "application/octet-stream"})


class ExportMonitor(logging.Filter):
    """Notices that spans do not arrive; reports the first problem of each destination and logs it once.

    Args:
        on_problem: called once per destination, in some thread.
        quiet: whether no warning of the libraries is logged at all.

    Attributes:
        collector_is_away: whether the last attempt to reach the collector failed.
    """

    def __init__(self, on_problem: Callable[[Destination, Advice], object], *, quiet: bool = False) -> None:
        super().__init__()
        self._on_problem = on_problem
        self._quiet = quiet
        self._reported: set[Destination] = set()
        self._logged: set[Destination | Literal["metrics"]] = set()
        self._sending: dict[int, float] = {}
        self.collector_is_away = False

    def on_answer(self, destination: Destination, status: int, content_type: str, body: bytes) -> None:
        """Handle the answer to an export."""
        problem = answer_problem(destination, status, content_type, body)
        if problem is not None:
            self._report(destination, problem)

    def report_late(self, seconds: float) -> None:
        """Report the collector if an export to it has been waiting for at least `seconds`."""
        started = min(self._sending.values(), default=None)
        if started is not None and time.monotonic() - started >= seconds:
            self._report("collector", export_advice("collector", "timeout"))

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record of the libraries is logged."""
        if record.levelno < logging.WARNING:
            return True
        if record.name in _METRIC_LOGGERS:
            return not self._is_logged("metrics")
        # Both destinations use the same exporter, and its messages name neither.
        destination: Destination = "collector" if record.thread in self._sending else "logfire"
        # A traceback after an answer that was reported says nothing new.
        follows = bool(record.exc_info) and destination in self._reported
        if not follows:
            self._report(destination, _logged_problem(destination, record.getMessage()))
        elif destination == "collector":
            self.collector_is_away = True
        # The libraries log every failed attempt.
        return not (follows or self._quiet or self._is_logged(destination))

    def silence_metrics(self) -> None:
        """Log nothing more about metrics."""
        self._logged.add("metrics")

    @contextmanager
    def sending_to_collector(self) -> Iterator[None]:
        """Attribute what this thread logs in the meantime to the collector."""
        thread = threading.get_ident()
        self._sending[thread] = time.monotonic()
        try:
            yield
        finally:
            self._sending.pop(thread, None)

    def install(self) -> None:
        """Listen to the loggers of the libraries, in place of any earlier monitor."""
        for name in (*_LOGGERS, *_METRIC_LOGGERS):
            logger = logging.getLogger(name)
            for old in [each for each in logger.filters if isinstance(each, ExportMonitor)]:
                logger.removeFilter(old)
            logger.addFilter(self)

    def _is_logged(self, what: Destination | Literal["metrics"]) -> bool:
        """Whether a warning about this was logged before; from now on it was."""
        is_logged = what in self._logged
        self._logged.add(what)
        return is_logged

    def _report(self, destination: Destination, problem: Advice) -> None:
        self.collector_is_away = self.collector_is_away or destination == "collector"
        if destination not in self._reported:
            self._reported.add(destination)
            self._on_problem(destination, problem)


def answer_problem(destination: Destination, status: int, content_type: str, body: bytes) -> Advice | None:
    """The problem with the answer to an export; None when the spans were accepted.

    A collector answers with nothing, protobuf or JSON; any other successful answer comes from something else.
    """
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    shown = f"{status} {phrase}".strip()
    kind = content_type.partition(";")[0].strip().lower()
    match status:
        case 401 | 403:
            return export_advice(destination, "credentials", shown)
        case 408 | 429:
            return export_advice(destination, "busy", shown)
        case _ if status >= 500:
            return export_advice(destination, "server_error", shown)
        case _ if status >= 400:
            return export_advice(destination, "refused", shown)
        case _ if 300 <= status < 400:
            return None
        case _ if kind == "text/html" or is_html(body):
            return export_advice(destination, "web_page", shown)
    try:
        count, reason = _rejected_spans(kind, body) if body else (0, "")
    except ValueError:
        return export_advice(
            destination, "other_service", f"{shown}, {clean_line(kind, 40) or 'no content type'}"
        )
    if not count:
        return None
    spans = quantity(count, "span")
    return export_advice(destination, "rejected", f"{spans} ({clean_line(reason, 120)})" if reason else spans)


def _logged_problem(destination: Destination, message: str) -> Advice:
    """The problem that a log message of a library means."""
    if found := re.search(r"\[Errno -?\d+\] ([^'\")]+)", message):
        return export_advice(destination, "not_running", found[1])
    if found := re.search(r"code: (\d{3}), reason: ", message):
        problem = answer_problem(destination, int(found[1]), "", b"")
        return problem or export_advice(destination, "refused", found[1])
    if "timed out" in message.lower() or "due to timeout" in message:
        return export_advice(destination, "timeout")
    if "retrying" in message:
        return export_advice(destination, "no_connection", "no connection")
    return export_advice(destination, "unknown", clean_line(message, 120))


def export_advice(destination: Destination, problem: _Problem, shown: str = "") -> Advice:
    """The advice for a problem; `shown` is its detail, such as a status."""
    return _ADVICE[problem].format(shown=shown, **_SETTINGS[destination])


def _rejected_spans(kind: str, body: bytes) -> tuple[int, str]:
    """How many spans an answer rejects, and the reason it gives.

    Raises:
        ValueError: it is not the answer to an export.
    """
    if kind == "application/json" or kind.endswith("+json"):
        answer = json.loads(body)
        if not isinstance(answer, dict):
            raise ValueError("not an object")
        partial = answer.get("partialSuccess")
        if not isinstance(partial, dict):
            return 0, ""
        return int(str(partial.get("rejectedSpans") or 0)), str(partial.get("errorMessage") or "")
    if kind not in _PROTOBUF:
        raise ValueError(kind)
    # Slow to import, and already imported wherever spans are sent.
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        found = ExportTraceServiceResponse.FromString(body).partial_success
    except Exception as error:
        # The protobuf library has no types, and neither have its errors.
        raise ValueError(str(error)) from error
    return found.rejected_spans, found.error_message
