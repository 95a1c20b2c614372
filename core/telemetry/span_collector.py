"""Sends spans to the OTLP collector of the environment; imported only where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from core.telemetry.export_errors import Trouble

__all__ = ["CollectorExporter"]


class CollectorExporter(OTLPSpanExporter):
    """Sends to the collector of the environment, and knows whether it is there."""

    def __init__(self, trouble: Trouble) -> None:
        session = requests.Session()
        session.hooks["response"].append(self._take_answer)
        super().__init__(session=session)
        self._trouble = trouble
        self._over = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send finished spans."""
        with self._trouble.sending_to_collector():
            result = super().export(spans)
        if result is SpanExportResult.SUCCESS:
            self._trouble.collector_is_away = False
        return result

    def shutdown(self) -> None:
        """Stop, also with what is being tried again; stopping again does nothing."""
        if not self._over:
            self._over = True
            with self._trouble.sending_to_collector():
                super().shutdown()  # type: ignore[no-untyped-call]

    def _take_answer(self, response: requests.Response, *_more: Any, **_named: Any) -> None:
        kind = response.headers.get("content-type", "")
        self._trouble.answered(True, response.status_code, kind, response.content)

    def give_up(self) -> None:
        """Try no more to send what could not be sent."""
        if self._trouble.collector_is_away:
            self.shutdown()
