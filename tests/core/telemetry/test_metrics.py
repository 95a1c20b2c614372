"""Metrics as they arrive at a collector."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from tests.collector import Collector, Point, collector
from tests.core.telemetry.test_conventions import MODEL, events
from tests.waiting import PATIENCE
from ua_tui.core.events import types as ev
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.telemetry.environment import Exports
from ua_tui.core.telemetry.metrics import INSTRUMENTS
from ua_tui.core.telemetry.tracer import Tracer


async def send(folder: Path, found: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send a session to a collector."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
    exports = Exports.of(token=None, environ=os.environ)
    tracer = Tracer(folder / "spans.jsonl", Redactor(), state_dir=folder / "state", exports=exports)
    *given, last = events()
    observed = ev.ObserverFinished(
        run_id="r", observer="news", tool_use_id="t2", status="failed", duration_ms=250, error="no field"
    )
    for event in [*given, observed, last]:
        tracer(event)
    assert await tracer.close(PATIENCE)


async def test_each_metric_arrives_with_attributes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as found:
        await send(tmp_path, found, monkeypatch)
    assert set(found.metrics) == {each.name for each in INSTRUMENTS}
    assert found.services == {"ua-tui"}
    # Each has the attributes that the table says, and none with an id or a text.
    for each in INSTRUMENTS:
        for point in found.metrics.get(each.name, []):
            assert set(point.attributes) <= set(each.attributes)

    def by(name: str, *keys: str) -> dict[Any, Point]:
        return {
            tuple(each.attributes.get(key) for key in keys) if len(keys) > 1 else each.attributes.get(keys[0]): each
            for each in found.metrics[name]
        }  # fmt: skip

    tokens = by("gen_ai.client.token.usage", "gen_ai.token.type", "gen_ai.request.model")
    assert (tokens["input", "sonnet"].total, tokens["output", "sonnet"].total) == (115 + 119, 7 + 8)
    assert (tokens["input", MODEL].total, tokens["output", MODEL].count) == (111 + 113, 2)
    assert {each.attributes["gen_ai.response.model"] for each in tokens.values()} == {MODEL}
    turns = by("gen_ai.client.operation.duration", "gen_ai.request.model")
    assert turns["sonnet"].count == 2
    assert turns["sonnet"].total == pytest.approx(1.6)
    agents = by("gen_ai.invoke_agent.duration", "gen_ai.agent.name", "error.type")
    assert set(agents) == {("ua-tui", None), ("ua-tui", "interrupted"), ("writer", None)}
    assert agents["ua-tui", None].total == 4
    calls = by("ua_tui.tool_calls", "gen_ai.tool.name", "status")
    assert {key: each.total for key, each in calls.items()} == {("list", "error"): 1, ("Agent", "success"): 1}
    assert set(by("gen_ai.execute_tool.duration", "gen_ai.tool.name", "error.type")) == {("list", "error")}
    assert {key: each.total for key, each in by("ua_tui.queries", "status").items()} == {
        "success": 1,
        "interrupted": 1,
    }
    assert [each.total for each in found.metrics["ua_tui.cost"]] == [0.75]
    failures = by("ua_tui.failures", "of")
    assert {key: each.total for key, each in failures.items()} == {"tool_call": 1, "observer": 1}
    observers = by("ua_tui.observer.duration", "observer", "status")
    assert observers["news", "failed"].total == 0.25


async def test_a_name_has_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        exports = Exports.of(token=None, environ=os.environ)
        redactor = Redactor(["hunter2hunter2"])
        tracer = Tracer(tmp_path / "spans.jsonl", redactor, state_dir=tmp_path, exports=exports)
        for event in [
            ev.ToolCallStarted(
                query_id="q1", tool_use_id="t1", name="mcp__s__hunter2hunter2\x1b[2J" + "x" * 999
            ),
            ev.ToolCallFinished(tool_use_id="t1", status="success"),
        ]:
            tracer(event)
        assert await tracer.close(PATIENCE)
    (call,) = found.metrics["ua_tui.tool_calls"]
    name = call.attributes["gen_ai.tool.name"]
    assert name.startswith("mcp__s__[redacted]")
    assert (len(name), "\x1b" in name) == (100, False)


async def test_a_collector_without_metrics_is_asked_once_and_nothing_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with collector(takes_metrics=False) as found, caplog.at_level(logging.WARNING):
        await send(tmp_path, found, monkeypatch)
    assert [path for path, _ in found.asked if path == "/v1/metrics"] == ["/v1/metrics"]
    assert "session" in {span.name for span in found.spans}
    assert caplog.records == []


@pytest.mark.parametrize("status", [None, 503])
async def test_a_destination_of_metrics_in_trouble_is_logged_once_and_delays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, status: int | None
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    with collector(status=status or 200) as found:
        url = found.url if status else "http://127.0.0.1:9"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{url}/v1/metrics")
        exports = Exports.of(token=None, environ=os.environ)
        tracer = Tracer(tmp_path / "spans.jsonl", Redactor(), state_dir=tmp_path / "state", exports=exports)
        for event in events():
            tracer(event)
        with caplog.at_level(logging.WARNING):
            # Retries would take thirty seconds.
            assert await tracer.close(20)
    assert len(caplog.records) == 1
    assert tracer.trace.problems == {}
