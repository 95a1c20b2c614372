"""The problems that answers to exports mean."""

from __future__ import annotations

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from tests.core.cases import cases_of
from ua_tui.core.telemetry.export_errors import answer_problem

CASES = cases_of(__file__)

PROTOBUF, JSON = "application/x-protobuf", "application/json; charset=utf-8"
NO_COLLECTOR = "it does not answer like a collector (200 OK, application/x-protobuf)"
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
    protobuf = (
        (200, PROTOBUF, "\xff\xff", "export.other_service", NO_COLLECTOR),
        (200, PROTOBUF, REJECTED.decode("latin-1"), "export.rejected", "it rejected 3 spans (too old)"),
    )
    for status, kind, text, code, problem in (*CASES["a_problem_has_a_remedy"], *protobuf):
        advice = answer_problem("collector", status, kind, text.encode("latin-1"))
        assert advice is not None
        assert (advice.code, advice.problem) == (code, problem)
    rejected = answer_problem("logfire", 401, "", b"")
    assert rejected is not None
    assert "LOGFIRE_TOKEN" in rejected.remedy
