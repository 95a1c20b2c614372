"""What the answers to exported spans mean, and the monitor that notices problems.

The monitor learns of a problem from the answers of an OTLP collector or Logfire, and from the errors of their requests.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

import msgspec

from ua_tui.core.errors import Advice, advice_code, advise
from ua_tui.core.events.units import quantity
from ua_tui.core.log import log
from ua_tui.core.net.bodies import is_html
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    import requests

Destination = Literal["collector", "logfire"]
"""Where spans are sent."""

_Export = Destination | Literal["metrics"]

_NAMES: Mapping[_Export, tuple[str, str, str]] = {
    "collector": ("a collector", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"),
    "metrics": (
        "a collector of metrics",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
    ),
    "logfire": ("Logfire", "LOGFIRE_BASE_URL", "LOGFIRE_TOKEN, which has to be a write token"),
}
"""What a destination is called, and the settings of its address and its key."""
_LIBRARIES = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "logfire",
)
_PROTOBUF = frozenset({"application/x-protobuf", "application/protobuf", "application/octet-stream"})

NO_METRICS = frozenset({404, 405})
"""The statuses with which a collector says that it accepts no metrics, as Phoenix does: that is no problem."""


class ExportMonitor(msgspec.Struct, eq=False):
    """Notices that what is exported to a destination does not arrive; reports and logs its first problem.

    Args:
        on_problem: called once, in some thread.
        quiet: whether the problem is not logged.

    Attributes:
        is_away: whether the last attempt to reach the destination failed.
        sent: when the request was sent that has no answer yet, by the monotonic clock; None if there is none.
    """

    destination: _Export
    on_problem: Callable[[Advice], object]
    quiet: bool = False
    _has_reported: bool = False
    is_away: bool = False
    sent: float | None = None

    def on_answer(self, answer: requests.Response) -> None:
        """Handle the answer to an export."""
        status = answer.status_code
        self.is_away = not 200 <= status < 400
        kind = answer.headers.get("content-type", "")
        problem = answer_problem(self.destination, status, kind, answer.content)
        if problem is not None:
            self._report(problem)

    def on_failure(self, problem: str, shown: str = "") -> None:
        """Handle an export without an answer; `shown` is the detail of the problem."""
        self.is_away = True
        self._report(export_advice(self.destination, problem, shown))

    def report_late(self, seconds: float) -> None:
        """Report the destination if an answer has been missing for at least `seconds`."""
        if (sent := self.sent) is not None and time.monotonic() - sent >= seconds:
            self.on_failure("timeout")

    def _report(self, problem: Advice) -> None:
        if not self._has_reported:
            self._has_reported = True
            if not self.quiet:
                log.warning("an export (%s) failed: %s", self.destination, problem)
            self.on_problem(problem)


class LibraryLog(logging.Filter):
    """Keeps what the exporting libraries log of each failed request out of the log, as it is reported once.

    Args:
        logfire: handles what Logfire's library logs: it tries again by itself, and passes no errors on.
    """

    def __init__(self, logfire: ExportMonitor | None = None) -> None:
        super().__init__()
        self._logfire = logfire
        for name in _LIBRARIES:
            logger = logging.getLogger(name)
            # In place of that of an earlier session.
            for old in [each for each in logger.filters if isinstance(each, LibraryLog)]:
                logger.removeFilter(old)
            logger.addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged."""
        message = record.getMessage()
        if record.levelno >= logging.WARNING and record.name == "logfire" and self._logfire is not None:
            if "retrying" in message:
                self._logfire.on_failure("no_connection", "no connection")
            else:
                self._logfire.on_failure("unknown", clean_line(message, 120))
            return False
        return record.levelno < logging.WARNING or not (
            record.module == "http" or "already shutdown" in message
        )


def answer_problem(destination: _Export, status: int, content_type: str, body: bytes) -> Advice | None:
    """The problem with the answer to an export; None when the spans were accepted.

    A collector answers with nothing, protobuf or JSON; any other successful answer comes from something else.
    """
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    shown = f"{status} {phrase}".strip()
    kind = content_type.partition(";")[0].strip().lower()
    if 300 <= status < 400 or (destination == "metrics" and status in NO_METRICS):
        return None
    if code := advice_code("export", str(status)):
        return export_advice(destination, code.partition(".")[2], shown)
    if kind == "text/html" or is_html(body):
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


def export_advice(destination: _Export, problem: str, shown: str = "") -> Advice:
    """The advice for a problem; `shown` is its detail, such as a status."""
    name, address, key = _NAMES[destination]
    return advise(f"export.{problem}", shown=shown, name=name, address=address, key=key)


def _rejected_spans(kind: str, body: bytes) -> tuple[int, str]:
    """How many spans an answer rejects, and the reason it gives.

    Raises:
        ValueError: it is not the answer to an export.
    """
    # Slow to import, and already imported wherever spans are sent.
    from google.protobuf.json_format import Parse  # type: ignore[import-untyped]  # it has no types
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    answer = ExportTraceServiceResponse()
    try:
        if kind == "application/json" or kind.endswith("+json"):
            Parse(body, answer, ignore_unknown_fields=True)
        elif kind in _PROTOBUF:
            answer.ParseFromString(body)
        else:
            raise ValueError(kind)
    except Exception as error:
        # The protobuf library has no types, and neither have its errors.
        raise ValueError(str(error)) from error
    return answer.partial_success.rejected_spans, answer.partial_success.error_message
