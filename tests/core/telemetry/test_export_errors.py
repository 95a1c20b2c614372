"""The problems that answers to exports mean."""

from __future__ import annotations

import json

import pytest
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
def test_the_answer_of_a_collector_is_not_a_problem(kind: str, body: bytes) -> None:
    assert answer_problem("collector", 200, kind, body) is None


@pytest.mark.parametrize(
    ("status", "kind", "body", "problem", "remedy"),
    [
        (200, "text/html", b"", "it returned a web page (200 OK)", "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, "", b"\n<!DOCTYPE html>", "it returned a web page (200 OK)", "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, "text/plain", b"welcome", "it answered, but not as a collector does (200 OK, text/plain)",
         "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, PROTOBUF, b"\xff\xff", "it answered, but not as a collector does (200 OK, application/x-protobuf)",
         "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, JSON, b"[1]", "it answered, but not as a collector does (200 OK, application/json)",
         "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, JSON, b"{", "it answered, but not as a collector does (200 OK, application/json)",
         "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (200, PROTOBUF, REJECTED, "it rejected 3 spans (too old)", "see its log"),
        (200, JSON, json.dumps({"partialSuccess": {"rejectedSpans": "1"}}).encode(),
         "it rejected 1 span", "see its log"),
        (403, "text/html", b"<html>", "it rejected the credentials (403 Forbidden)",
         "check OTEL_EXPORTER_OTLP_HEADERS"),
        (404, "", b"", "it rejected the spans (404 Not Found)", "check OTEL_EXPORTER_OTLP_ENDPOINT"),
        (429, "", b"", "it accepts no more requests for now (429 Too Many Requests)", "try again later"),
        (599, "", b"", "it failed (599)", "try again later"),
    ],
)  # fmt: skip
def test_a_problem_has_a_remedy(status: int, kind: str, body: bytes, problem: str, remedy: str) -> None:
    assert answer_problem("collector", status, kind, body) == Advice(problem, remedy)


def test_logfire_has_its_own_settings() -> None:
    assert answer_problem("logfire", 401, "", b"") == Advice(
        "it rejected the credentials (401 Unauthorized)", "set LOGFIRE_TOKEN to a valid write token"
    )
