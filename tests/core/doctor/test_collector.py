"""The doctor's request to the collector of the environment."""

from __future__ import annotations

import os
from typing import Any

import pytest

from core.doctor.collector import ask_collector
from core.doctor.services import ask_logfire
from core.settings.model import Settings
from core.telemetry.environment import Exports
from tests.collector import collector

ADDRESS = "check OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("given", "status", "found", "advice"),
    [
        ({}, "ok", "OTLP at {0} takes spans", ""),
        ({"status": 401}, "failed", "OTLP at {0}: it refused the key (401 Unauthorized)",
         "check OTEL_EXPORTER_OTLP_HEADERS"),
        ({"status": 404}, "failed", "OTLP at {0}: it does not take them (404 Not Found)", ADDRESS),
        ({"status": 503}, "failed", "OTLP at {0}: it is out of order (503 Service Unavailable)", "try again"),
        ({"page": b"<!doctype html><p>x</p>"}, "failed", "OTLP at {0}: it answers with a web page (200 OK)", ADDRESS),
        (None, "failed", "OTLP at 127.0.0.1:9: it cannot be reached (Connection refused)", "see that it runs"),
        ({"hangs": True}, "failed", "OTLP at {0} did not answer within 1 s", "see that it runs"),
    ],
    ids=["ok", "key", "path", "broken", "page", "dead", "hangs"],
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
        within = 1 if given == {"hangs": True} else 30
        finding = await ask_collector(Exports.of(token=None, environ=os.environ), within=within)
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


async def test_without_logfire_nothing_is_said_to_be_sent_only_where_nothing_is() -> None:
    alone = await ask_logfire(Settings(), address=None, within=1)
    beside = await ask_logfire(Settings(), address=None, within=1, elsewhere=True)
    assert "nothing is sent" in alone.advice
    assert "nothing is sent" not in beside.advice
    assert "spans.jsonl" in beside.advice
