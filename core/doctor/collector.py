"""Whether the OTLP collector of the environment takes spans: it is sent a request without any."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from core.concurrency.threads import apart, in_loop
from core.doctor.check import Finding, failed, ok
from core.telemetry.environment import Exports
from core.telemetry.export_errors import Trouble

if TYPE_CHECKING:
    from core.telemetry.span_collector import CollectorExporter

__all__ = ["ask_collector"]

_LOCAL = "spans.jsonl in the session's folder is kept all the same"


class _Silent(Trouble):
    """Hears what the library logs, and lets none of it pass: what is the matter is the finding."""

    def filter(self, record: logging.LogRecord) -> bool:
        super().filter(record)
        return record.levelno < logging.WARNING


async def ask_collector(exports: Exports, *, within: float) -> Finding:
    """Export nothing to the collector, as the tracing of a session exports spans; it reads its own variables."""
    (where,) = exports.told()[-1:]
    over = asyncio.Event()
    wake = in_loop(over.set)
    troubles: list[str] = []
    exporters: list[CollectorExporter] = []

    def hear(collector: bool, why: str) -> None:
        if collector:
            troubles.append(why)
            wake()

    def export() -> None:
        # Dear to import.
        from core.telemetry.span_collector import CollectorExporter

        trouble = _Silent(hear)
        trouble.listen()
        exporters.append(CollectorExporter(trouble))
        exporters[0].export([])

    sending = asyncio.ensure_future(apart(export))
    sending.add_done_callback(lambda _done: over.set())
    try:
        async with asyncio.timeout(within):
            await over.wait()
    except TimeoutError:
        return failed(f"{where} did not answer within {within:g} s", f"see that it runs; {_LOCAL}")
    finally:
        for exporter in exporters:
            # It would try again for ten seconds.
            await asyncio.to_thread(exporter.shutdown)
        if not sending.done():
            sending.cancel()
    if not troubles and not sending.cancelled():
        sending.result()
    if not troubles:
        return ok(f"{where} takes spans")
    what, _, remedy = troubles[0].rpartition(": ")
    return failed(f"{where}: {what}", f"{remedy}; {_LOCAL}")
