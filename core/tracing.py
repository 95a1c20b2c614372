"""Tracing: takes a session's events to spans, in a thread, without ever holding up or failing the session."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from urllib.parse import urlsplit

from core import events as ev
from core.text import Redactor, clean_line

__all__ = ["SPANS", "Tracer", "trace_targets"]

SPANS = "spans.jsonl"

_log = logging.getLogger(__name__)

_TRACED = (
    ev.SessionStarted,
    ev.SessionFinished,
    ev.QueryReceived,
    ev.QueryClassified,
    ev.PathFellBack,
    ev.QueryFinished,
    ev.ToolCallStarted,
    ev.ToolCallFinished,
)


def trace_targets(*, token: str | None, environ: Mapping[str, str]) -> list[str]:
    """Where the spans of a session go, in words: always to a file, and where else the token and `OTEL_*` say."""
    targets = [f"{SPANS} in the session's folder"]
    if token:
        targets.append("Logfire")
    endpoint = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if endpoint and environ.get("OTEL_TRACES_EXPORTER", "").lower() in {"", "otlp"}:
        targets.append(f"OTLP at {_host_of(endpoint)}")
    return targets


def _host_of(address: str) -> str:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    shown = clean_line(host or "an address that cannot be read")
    return f"{shown}:{port}" if port else shown


class Tracer:
    """Writes spans to a file, and to Logfire when there is a token; a subscriber of the bus.

    Subscribe it before the session starts and call `start` when there is time for a heavy import, say
    after the first frame: what came before is not lost. Whatever goes wrong is logged and ends the
    tracing, not the session.

    Args:
        path: the file for the spans, one JSON object a line.
        redactor: masks secrets in every attribute.
        state_dir: where Logfire may keep files of its own.
        token: Logfire's write token; without it nothing is sent.
        on_failure: told, in the thread, what ended the tracing before the session was over.
    """

    def __init__(
        self,
        path: Path,
        redactor: Redactor,
        *,
        state_dir: Path,
        token: str | None = None,
        on_failure: Callable[[Exception], object] = lambda _error: None,
    ) -> None:
        self.trace_id = secrets.token_hex(16)
        self._path = path
        self._redactor = redactor
        self._state_dir = state_dir
        self._token = token
        self._on_failure = on_failure
        self._waiting: SimpleQueue[ev.Event | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._deadline = 0.0
        self._failed = False
        self._closed = False

    @property
    def exporting(self) -> bool:
        """Whether spans leave the machine for Logfire."""
        return bool(self._token) and not self._failed

    @property
    def failed(self) -> bool:
        """Whether tracing ended because something went wrong."""
        return self._failed

    def __call__(self, event: ev.Event) -> None:
        """Take one event from the bus."""
        if isinstance(event, _TRACED) and not self._failed and not self._closed:
            self._waiting.put(event)

    def start(self) -> None:
        """Begin to work off what came and comes, in a thread; starting again does nothing."""
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name="tracing", daemon=True)
            self._thread.start()

    async def close(self, deadline: float = 3.0) -> bool:
        """Write and send what there is; False when `deadline` seconds were not enough.

        A tracer that was never started is started for it, so that the spans of a short session are kept.
        """
        if self._closed:
            return True
        self.start()
        self._closed = True
        self._deadline = time.monotonic() + deadline
        self._waiting.put(None)
        thread = self._thread
        assert thread is not None
        await asyncio.to_thread(thread.join, deadline)
        if thread.is_alive():
            _log.warning("tracing did not finish within %.1f s; the last spans may be lost", deadline)
            return False
        return True

    def _run(self) -> None:
        try:
            from core.spans import open_spans

            spans = open_spans(
                self._path,
                trace_id=int(self.trace_id, 16),
                token=self._token,
                redactor=self._redactor,
                state_dir=self._state_dir,
            )
            while (event := self._waiting.get()) is not None:
                try:
                    spans(event)
                except Exception:
                    _log.exception("%s could not be traced", event.event_name)
            spans.close(max(self._deadline - time.monotonic(), 0.1))
        except Exception as error:
            self._failed = True
            if not self._closed:
                self._on_failure(error)
            _log.exception("tracing ended; the session goes on without it")
            while not self._waiting.empty():
                self._waiting.get()
