"""Tracing: takes a session's events to spans, in a thread, without ever holding up or failing the session."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from core.concurrency.threads import in_loop
from core.events import types as ev
from core.redaction.redactor import Redactor
from core.telemetry.environment import Exports, agent_environment, toolkit_environment, traceparent
from core.telemetry.http import ServiceRequest

if TYPE_CHECKING:
    from core.telemetry.exporters import Spans
    from core.telemetry.relay import SpanRelay

__all__ = ["SPANS", "Trace", "Tracer", "trace_targets"]

SPANS = "spans.jsonl"

_log = logging.getLogger(__name__)

_TRACED = (
    ev.SessionStarted,
    ev.SessionFinished,
    ev.QueryReceived,
    ev.QueryClassified,
    ev.PathFellBack,
    ev.QueryFinished,
    ev.ThinkingDelta,
    ev.MessageFinished,
    ev.ToolCallStarted,
    ev.ToolCallFinished,
    ev.ArtifactSaved,
    ev.ObserverFinished,
    ev.ComplianceFailed,
    ev.ComplianceEnforced,
)


def trace_targets(*, token: str | None, environ: Mapping[str, str]) -> list[str]:
    """Where the spans of a session go, in words: always to a file, and where else the token and `OTEL_*` say."""
    return [f"{SPANS} in the session's folder", *Exports.of(token=token, environ=environ).told()]


@dataclass(frozen=True)
class Trace:
    """The trace of a session: its id, and Logfire's address of its project, if it goes there and that is known.

    `troubles` says why spans do not reach the collector (True) or Logfire (False), each as it was first found.
    """

    trace_id: str
    project: str | None = None
    troubles: Mapping[bool, str] = field(default_factory=dict)

    @property
    def link(self) -> str | None:
        """Where the trace can be looked at; None where nobody knows."""
        if not self.project:
            return None
        return f"{self.project.rstrip('/')}?{urlencode({'q': f'trace_id={self.trace_id!r}'})}"


class Tracer:
    """Writes spans to a file, and sends them where `exports` says; a subscriber of the bus.

    Subscribe it before the session starts and call `start` when there is time for a heavy import, say
    after the first frame: what came before is not lost. Whatever goes wrong is logged and ends the
    tracing, not the session.

    Args:
        path: the file for the spans, one JSON object a line.
        redactor: masks secrets in every attribute.
        state_dir: where Logfire may keep files of its own.
        token: Logfire's write token; without it nothing is sent there.
        exports: where spans are sent; by default to Logfire if there is a token.
        on_failure: told, in the thread, what ended the tracing before the session was over.
        on_trouble: told, in some thread, why spans do not reach the collector (True) or Logfire (False), in words
            that end in what to do, once each; the file has them all.
    """

    def __init__(
        self,
        path: Path,
        redactor: Redactor,
        *,
        state_dir: Path,
        token: str | None = None,
        exports: Exports | None = None,
        on_failure: Callable[[Exception], object] = lambda _error: None,
        on_trouble: Callable[[bool, str], object] = lambda _collector, _why: None,
    ) -> None:
        self.trace_id = secrets.token_hex(16)
        self.exports = Exports(logfire=bool(token)) if exports is None else exports
        self._root_id = secrets.token_hex(8)
        self._path = path
        self._redactor = redactor
        self._state_dir = state_dir
        self._token = token
        self._on_failure = on_failure
        self._on_trouble = on_trouble
        self._troubles: dict[bool, str] = {}
        self._flushing: Callable[[], None] = _nothing
        self._waiting: SimpleQueue[ev.Event | ServiceRequest | bytes | _Flush | None] = SimpleQueue()
        self._spans: Spans | None = None
        self._relay: SpanRelay | None = None
        self._opening = asyncio.Lock()
        self._thread: threading.Thread | None = None
        self._failed = False
        self._closed = False

    @property
    def exporting(self) -> bool:
        """Whether spans leave the machine for Logfire."""
        return self.exports.logfire and not self._failed

    @property
    def failed(self) -> bool:
        """Whether tracing ended because something went wrong."""
        return self._failed

    @property
    def trace(self) -> Trace:
        """The trace, and where it can be looked at as far as that is known by now."""
        project = self._spans.project if self._spans is not None else None
        return Trace(self.trace_id, project, dict(self._troubles))

    async def agent_environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What the agent's command line is told so that its spans join the trace; nothing when none is sent."""
        relay = await self._relay_address()
        parent = traceparent(self.trace_id, self._root_id)
        return agent_environment(relay, parent, environ) if relay else {}

    async def toolkit_environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The same for the local toolkit."""
        relay = await self._relay_address()
        return toolkit_environment(relay, environ) if relay else {}

    async def _relay_address(self) -> str | None:
        """Where child processes send their spans; None when none are sent, as nobody would look at theirs then."""
        if not self.exports.any or self._closed:
            return None
        async with self._opening:
            if self._relay is None:
                try:
                    self._relay = await asyncio.to_thread(self._open_relay)
                except OSError as error:
                    _log.warning("the spans of child processes are lost: %s", error)
                    return None
            return self._relay.url

    def _open_relay(self) -> SpanRelay:
        # Here, as it takes a server to be imported.
        from core.telemetry.relay import SpanRelay

        return SpanRelay(self._take_foreign)

    def _take_foreign(self, body: bytes) -> None:
        if not self._failed and not self._closed:
            self._waiting.put(body)

    def __call__(self, event: ev.Event) -> None:
        """Take one event from the bus."""
        if isinstance(event, _TRACED) and not self._failed and not self._closed:
            self._waiting.put(event)

    def tell(self, request: ServiceRequest) -> None:
        """Take a request that this program made for the session; from any thread."""
        if not self._failed and not self._closed:
            self._waiting.put(request)

    def start(self) -> None:
        """Begin to work off what came and comes, in a thread; starting again does nothing."""
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name="tracing", daemon=True)
            self._thread.start()

    async def flush(self, deadline: float) -> None:
        """Have sent what there is so far, so that it is told where that does not arrive; for so many seconds at most.

        Where nothing is sent, and where nobody takes it, this is over at once.
        """
        places = self.exports.logfire + (self.exports.collector is not None)
        if self._closed or self._failed or len(self._troubles) >= places:
            return
        over = asyncio.Event()
        self._flushing = in_loop(over.set)
        self.start()
        self._waiting.put(_Flush(self._flushing))
        try:
            await asyncio.wait_for(over.wait(), deadline)
        except TimeoutError:
            if self._spans is not None:
                # So that nothing is said of it that is only slow to begin.
                self._spans.trouble.late(deadline / 2)
        finally:
            self._flushing = _nothing

    def _note_trouble(self, collector: bool, why: str) -> None:
        self._on_trouble(collector, why)
        self._troubles[collector] = self._redactor.redact(why)
        if len(self._troubles) >= self.exports.logfire + (self.exports.collector is not None):
            # Nobody is left to be waited for.
            self._flushing()

    async def close(self, deadline: float = 3.0) -> bool:
        """Write and send what there is; False when `deadline` seconds were not enough.

        A tracer that was never started is started for it, so that the spans of a short session are kept.
        """
        if self._closed:
            return True
        self.start()
        self._closed = True
        self._waiting.put(None)
        thread = self._thread
        assert thread is not None
        if self._spans is not None:
            # It may be trying again for somebody who asked for what there was.
            await asyncio.to_thread(self._spans.give_up)
        await asyncio.to_thread(thread.join, deadline)
        if self._relay is not None:
            await asyncio.to_thread(self._relay.close)
        if thread.is_alive():
            _log.warning("not all spans could be sent within %.1f s; %s has them", deadline, self._path.name)
            return False
        return True

    def _run(self) -> None:
        try:
            from core.telemetry.exporters import open_spans

            spans = self._spans = open_spans(
                self._path,
                trace_id=int(self.trace_id, 16),
                root_id=int(self._root_id, 16),
                token=self._token,
                exports=self.exports,
                redactor=self._redactor,
                state_dir=self._state_dir,
                on_trouble=self._note_trouble,
            )
            while (taken := self._waiting.get()) is not None:
                try:
                    _take(spans, taken)
                except Exception:
                    name = taken.event_name if isinstance(taken, ev.Event) else type(taken).__name__
                    _log.exception("%s could not be traced", name)
            spans.close()
        except Exception as error:
            self._failed = True
            self._flushing()
            if not self._closed:
                self._on_failure(error)
            _log.exception("tracing ended; the session goes on without it")
            while not self._waiting.empty():
                self._waiting.get()


@dataclass(frozen=True)
class _Flush:
    """Asks to have sent what came before it; `done` is told that it is."""

    done: Callable[[], None]


def _nothing() -> None:
    return


def _take(spans: Spans, taken: ev.Event | ServiceRequest | bytes | _Flush) -> None:
    if isinstance(taken, _Flush):
        try:
            spans.flush()
        finally:
            taken.done()
    elif isinstance(taken, bytes):
        spans.take_foreign(taken)
    elif isinstance(taken, ServiceRequest):
        spans.take_request(taken)
    else:
        spans.take(taken)
