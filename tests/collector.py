"""An OTLP collector on loopback: takes spans and metrics over HTTP as protobuf, and keeps them."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.loopback import Handler, serving_http
from tests.waiting import PATIENCE


@dataclass(frozen=True)
class Span:
    """A span as it arrived."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Point:
    """A number of a metric as it arrived: a sum, or how many values a histogram has and their sum."""

    attributes: dict[str, Any]
    total: float
    count: int


@dataclass
class Collector:
    """Where it is, and what it was sent: spans, metrics, path and headers of each request, and the paths of GET.

    `metrics` are the numbers of the last request by name.
    """

    url: str
    spans: list[Span] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)
    metrics: dict[str, list[Point]] = field(default_factory=dict)
    services: set[str] = field(default_factory=set)

    def of(self, service: str) -> dict[str, Span]:
        """The spans of a service by name, the last of each; not the notes that one began, which Logfire gets."""
        return {
            span.name: span
            for span in self.spans
            if span.service == service and span.attributes.get("logfire.span_type") != "pending_span"
        }

    def handle_spans(self, body: bytes) -> None:
        """Read one request."""
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _plain(group.resource.attributes)
            for scoped in group.scope_spans:
                for span in scoped.spans:
                    self.spans.append(
                        Span(
                            resource.get("service.name", ""),
                            span.name,
                            span.trace_id.hex(),
                            span.span_id.hex(),
                            span.parent_span_id.hex(),
                            _plain(span.attributes),
                        )
                    )

    def handle_metrics(self, body: bytes) -> None:
        """Read one request with metrics."""
        for group in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            self.services.add(_plain(group.resource.attributes).get("service.name", ""))
            for scoped in group.scope_metrics:
                for metric in scoped.metrics:
                    sums = [
                        Point(_plain(each.attributes), each.as_double or float(each.as_int), 1)
                        for each in metric.sum.data_points
                    ]
                    histograms = [
                        Point(_plain(each.attributes), each.sum, each.count)
                        for each in metric.histogram.data_points
                    ]
                    self.metrics[metric.name] = sums + histograms


def _plain(attributes: Any) -> dict[str, Any]:
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in attributes
    }


@contextmanager
def collector(
    *,
    status: int = 200,
    hangs: bool = False,
    project: str = "",
    page: bytes = b"",
    takes_metrics: bool = True,
) -> Iterator[Collector]:
    """Serve a collector that answers with `status`, or never; with `project` it names that of a token, as Logfire does.

    With a `page` that is what it answers to everything, as HTML. Unless it `takes_metrics`, it has no such address.
    """
    gone = threading.Event()

    class Collecting(Handler):
        def do_POST(self) -> None:
            body = self.body()
            found.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            if hangs:
                gone.wait(PATIENCE)
                self.close_connection = True
                return
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            is_metrics = self.path.endswith("/v1/metrics")
            if status == 200 and not page:
                if self.path.endswith("/v1/traces"):
                    found.handle_spans(body)
                elif is_metrics and takes_metrics:
                    found.handle_metrics(body)
            self.answer(405 if is_metrics and not takes_metrics else status, page, kind)

        def do_GET(self) -> None:
            found.looked.append(self.path)
            if page:
                self.answer(status, page, kind)
            else:
                reported = {"project_name": "mine", "project_url": project}
                self.answer_json(200, reported if self.path == "/v1/info" else {})

    kind = "text/html; charset=utf-8" if page else "application/x-protobuf"
    found = Collector("")
    with serving_http(Collecting) as found.url:
        try:
            yield found
        finally:
            gone.set()
