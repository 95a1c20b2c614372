"""The problems that answers to exports mean."""

from __future__ import annotations

import json

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from core.errors import Advice
from core.telemetry.export_errors import answer_problem

PROTOBUF, JSON = "application/x-protobuf", "application/json; charset=utf-8"
REJECTED: bytes = ExportTraceServiceResponse(
    partial_success=ExportTracePartialSuccess(rejected_spans=3, error_message="too old")
).SerializeToString()


def test_the_answer_of_a_collector_is_not_a_problem() -> None:
    answers = [
        (JSON, b"{}"),
        (JSON, b'{"partialSuccess": {}}'),
        (JSON, b'{"partialSuccess": null}'),
        ("text/plain", b""),
    ]
    answers += [("", b""), (PROTOBUF, b""), (PROTOBUF, ExportTraceServiceResponse().SerializeToString())]
    assert [answer for answer in answers if answer_problem("collector", 200, *answer) is not None] == []


def test_a_problem_has_a_remedy() -> None:
    endpoint, no_collector = "check OTEL_EXPORTER_OTLP_ENDPOINT", "it answered, but not as a collector does"
    one = json.dumps({"partialSuccess": {"rejectedSpans": "1"}}).encode()
    for status, kind, body, problem, remedy in (
        (200, "text/html", b"", "it returned a web page (200 OK)", endpoint),
        (200, "", b"\n<!DOCTYPE html>", "it returned a web page (200 OK)", endpoint),
        (200, "text/plain", b"welcome", f"{no_collector} (200 OK, text/plain)", endpoint),
        (200, PROTOBUF, b"\xff\xff", f"{no_collector} (200 OK, application/x-protobuf)", endpoint),
        (200, JSON, b"[1]", f"{no_collector} (200 OK, application/json)", endpoint),
        (200, JSON, b"{", f"{no_collector} (200 OK, application/json)", endpoint),
        (200, PROTOBUF, REJECTED, "it rejected 3 spans (too old)", "see its log"),
        (200, JSON, one, "it rejected 1 span", "see its log"),
        (403, "", b"<html>", "it rejected the credentials (403 Forbidden)", "check OTEL_EXPORTER_OTLP_HEADERS"),
        (404, "", b"", "it rejected the spans (404 Not Found)", endpoint),
        (429, "", b"", "it accepts no more requests for now (429 Too Many Requests)", "try again later"),
        (599, "", b"", "it failed (599)", "try again later"),
    ):  # fmt: skip
        assert answer_problem("collector", status, kind, body) == Advice(problem, remedy)
    rejected = Advice(
        "it rejected the credentials (401 Unauthorized)", "set LOGFIRE_TOKEN to a valid write token"
    )
    assert answer_problem("logfire", 401, "", b"") == rejected
