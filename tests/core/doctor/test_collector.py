"""The doctor's request to the collector of the environment."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.collector import collector
from tests.waiting import PATIENCE
from ua_tui.core.doctor.services import check_collector, check_logfire
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.environment import Exports

ADDRESS = "check OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("given", "status", "found", "advice"),
    [
        ({}, "ok", "OTLP at {0} accepts spans", ""),
        ({"status": 401}, "failed", "OTLP at {0}: it rejected the credentials (401 Unauthorized)",
         "check OTEL_EXPORTER_OTLP_HEADERS"),
        ({"page": b"<!doctype html><p>x</p>"}, "failed", "OTLP at {0}: it returned a web page (200 OK)", ADDRESS),
        (None, "failed", "OTLP at 127.0.0.1:9: it cannot be reached (Connection refused)", "make sure that it"),
        ({"hangs": True}, "failed", "OTLP at {0}: it did not answer in time", "make sure that it"),
    ],
    ids=["ok", "key", "page", "dead", "hangs"],
)  # fmt: skip
async def test_it_is_sent_a_request_without_spans(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    given: dict[str, Any] | None,
    status: str,
    found: str,
    advice: str,
) -> None:
    with collector(**given or {}) as here:
        monkeypatch.setenv(
            "OTEL_EXPORTER_OTLP_ENDPOINT", here.url if given is not None else "http://127.0.0.1:9"
        )
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=canary%20%21")
        # Metrics are not what is checked.
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:9/v1/metrics")
        exports = Exports.of(token=None, environ=os.environ)
        within = 1.0 if given == {"hangs": True} else PATIENCE
        finding = await check_collector(exports, within=within)
        while given is not None and not here.asked:
            # A busy machine takes longer to ask.
            within *= 2
            finding = await check_collector(exports, within=within)
    host = here.url.removeprefix("http://")
    assert (finding.status, finding.found) == (status, found.format(host))
    assert finding.advice.startswith(advice)
    assert (finding.advice == "") is (status == "ok")
    assert here.spans == []
    if given is not None:
        assert here.asked[0][0] == "/v1/traces"
        assert here.asked[0][1]["x-key"] == "canary !"
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


async def test_without_any_destination_the_advice_says_that_nothing_is_exported() -> None:
    alone = await check_logfire(Settings(), address=None, within=1)
    beside = await check_logfire(Settings(), address=None, within=1, has_collector=True)
    assert "nothing is exported" in alone.advice
    assert "nothing is exported" not in beside.advice
    assert "spans.jsonl" in beside.advice


async def test_a_header_that_cannot_be_sent_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=canary%E2%82%AC")
    finding = await check_collector(Exports.of(token=None, environ=os.environ), within=PATIENCE)
    assert finding.found == "OTLP at 127.0.0.1:9: a setting contains a character that cannot be sent"
    assert "OTEL_EXPORTER_OTLP_HEADERS" in finding.advice
