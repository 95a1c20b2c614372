"""What a place says that spans are sent to."""

from __future__ import annotations

import json

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from core.telemetry.otlp_answers import COLLECTOR, LOGFIRE, problem_of

PROTOBUF, JSON = "application/x-protobuf", "application/json; charset=utf-8"
REJECTED: bytes = ExportTraceServiceResponse(
    partial_success=ExportTracePartialSuccess(rejected_spans=3, error_message="too old")
).SerializeToString()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("", b""),
        (PROTOBUF, b""),
        (PROTOBUF, ExportTraceServiceResponse().SerializeToString()),
        (JSON, b"{}"),
        (JSON, b'{"partialSuccess": {}}'),
        (JSON, b'{"partialSuccess": null}'),
        ("text/plain", b""),
    ],
)
def test_what_a_collector_answers_is_no_problem(kind: str, body: bytes) -> None:
    assert problem_of(COLLECTOR, 200, kind, body) is None


@pytest.mark.parametrize(
    ("status", "kind", "body", "what", "remedy"),
    [
        (200, "text/html", b"", "it answers with a web page (200 OK)", "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, "", b"\n<!DOCTYPE html>", "it answers with a web page (200 OK)", "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, "text/plain", b"welcome", "it answers, but not as a collector does (200 OK, text/plain)",
         "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, PROTOBUF, b"\xff\xff", "it answers, but not as a collector does (200 OK, application/x-protobuf)",
         "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, JSON, b"[1]", "it answers, but not as a collector does (200 OK, application/json)",
         "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, JSON, b"{", "it answers, but not as a collector does (200 OK, application/json)",
         "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, PROTOBUF, REJECTED, "it took some and rejected 3 (too old)", "see what it says, and its log"),
        (200, JSON, json.dumps({"partialSuccess": {"rejectedSpans": "2"}}).encode(),
         "it took some and rejected 2", "see what it says, and its log"),
        (403, "text/html", b"<html>", "it refused the key (403 Forbidden)", "check OTEL_EXPORTER_OTLP_HEADERS"),
        (404, "", b"", "it does not take them (404 Not Found)", "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (429, "", b"", "it takes no more for now (429 Too Many Requests)", "try again in a while"),
        (599, "", b"", "it is out of order (599)", "try again in a while"),
    ],
)  # fmt: skip
def test_a_problem_is_told_with_what_to_do(
    status: int, kind: str, body: bytes, what: str, remedy: str
) -> None:
    assert problem_of(COLLECTOR, status, kind, body) == (what, remedy)


def test_logfire_has_settings_of_its_own() -> None:
    assert problem_of(LOGFIRE, 401, "", b"") == (
        "it refused the key (401 Unauthorized)",
        "set a valid LOGFIRE_TOKEN, one for writing",
    )
