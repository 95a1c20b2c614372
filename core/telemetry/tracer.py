"""Tracing: turns the events of a session into spans, in a thread; it never delays or fails the session."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from ua_tui.core.concurrency.threads import in_context, in_loop
from ua_tui.core.errors import Advice
from ua_tui.core.events import types as ev
from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.telemetry.environment import Exports, agent_environment
from ua_tui.core.telemetry.export_errors import Destination
from ua_tui.core.telemetry.http import ServiceRequest
from ua_tui.core.telemetry.spans.conventions import NO_LABELS, Labels

if TYPE_CHECKING:
    from ua_tui.core.telemetry.exporters import SpanPipeline
    from ua_tui.core.telemetry.relay import SpanRelay

SPANS = "spans.jsonl"


def trace_targets(*, token: str | None, environ: Mapping[str, str]) -> list[str]:
    """Describe where the spans of a session go: always to a file, and where else the token and `OTEL_*` say."""
    return [f"{SPANS} in the session's folder", *Exports.of(token=token, environ=environ).describe()]


class Trace(msgspec.Struct, frozen=True):
    """The trace of a session: its id, Logfire's address of its project where that is known, and export problems.

    `problems` holds the first problem of each destination that spans do not reach, with what to do about it.
    """

    trace_id: str
    project: str | None = None
    problems: Mapping[Destination, str] = {}

    @property
    def link(self) -> str | None:
        """The address of the trace; None if it is not known."""
        if not self.project:
            return None
        return f"{self.project.rstrip('/')}?{urlencode({'q': f'trace_id={self.trace_id!r}'})}"


class Tracer(msgspec.Struct, eq=False):
    """Writes spans to a file and exports them as `exports` says; a subscriber of the bus.

    Subscribe it before the session starts and call `start` once there is time for a slow import, such as after the
    first frame; earlier events are kept until then. A failure is logged and ends the tracing, not the session.

    Args:
        path: the file for the spans, one JSON object a line.
        redactor: masks secrets in every attribute.
        state_dir: where Logfire may keep its files.
        token: Logfire's write token.
        exports: where spans are sent.
        labels: what every span states.
        has_content: whether spans have inputs and outputs.
        most_waiting: how many events wait at most; what comes while they do is not traced, which is logged once.
        on_failure: called in the thread with the error that ended the tracing before the session was over.
        on_problem: called at most once per destination, in some thread, when spans do not arrive there.

    Attributes:
        failed: whether tracing ended with an error.
    """

    path: Path
    redactor: Redactor
    state_dir: Path
    token: str | None = None
    exports: Exports = Exports()
    labels: Labels = NO_LABELS
    has_content: bool = True
    most_waiting: int = 20_000
    on_failure: Callable[[Exception], object] = lambda _error: None
    on_problem: Callable[[Destination, Advice], object] = lambda _destination, _problem: None
    trace_id: str = msgspec.field(default_factory=lambda: secrets.token_hex(16))
    root_id: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    failed: bool = False
    _problems: dict[Destination, str] = {}
    _end_flush: Callable[[], None] = lambda: None
    _queue: SimpleQueue[tuple[str, Callable[[SpanPipeline], object]] | None] = msgspec.field(
        default_factory=SimpleQueue
    )
    _pipeline: SpanPipeline | None = None
    _relay: SpanRelay | None = None
    _opening: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    _thread: threading.Thread | None = None
    _closed: bool = False
    _is_full: bool = False

    @property
    def exporting(self) -> bool:
        """Whether spans are sent to Logfire."""
        return self.exports.logfire and not self.failed

    @property
    def trace(self) -> Trace:
        """The trace, with its address if that is known by now."""
        project = self._pipeline.project if self._pipeline is not None else None
        return Trace(self.trace_id, project, dict(self._problems))

    async def agent_environment(self) -> dict[str, str]:
        """The variables with which the agent's spans join the trace; none when they are not exported."""
        if not (self.exports.agent and self.exports.any) or self._closed:
            return {}
        async with self._opening:
            if self._relay is None:
                try:
                    self._relay = await asyncio.to_thread(self._open_relay)
                except OSError as error:
                    log.warning("the spans of the agent's command line are lost: %s", error)
                    return {}
        return agent_environment(self._relay.url, f"00-{self.trace_id}-{self.root_id}-01")

    def _open_relay(self) -> SpanRelay:
        # Imports a web server.
        from ua_tui.core.telemetry.relay import SpanRelay

        return SpanRelay(
            lambda body: self._put(
                "a request with spans of the agent", lambda pipeline: pipeline.on_child_spans(body), 200
            )
        )

    def __call__(self, event: ev.Event) -> None:
        """Handle one event of the bus."""
        # The pieces of a message are many, and its end has the full text.
        if not isinstance(event, ev.TextDelta):
            self._put(event.event_name, lambda pipeline: pipeline.on_event(event))

    def on_request(self, request: ServiceRequest) -> None:
        """Handle a request that this program made for the session; may be called in any thread."""
        self._put("a request", lambda pipeline: pipeline.tree.on_request(request))

    def _put(
        self, name: str, work: Callable[[SpanPipeline], object], most_waiting: int | None = None
    ) -> None:
        if self.failed or self._closed:
            return
        if self._queue.qsize() < (self.most_waiting if most_waiting is None else most_waiting):
            self._queue.put((name, work))
        elif not self._is_full:
            self._is_full = True
            log.warning(
                "tracing cannot keep up: nothing is traced while the queue is full, beginning with %s", name
            )

    def start(self) -> None:
        """Start the thread that handles the queue; a second call does nothing."""
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=in_context(self._run), name="tracing", daemon=True)
            self._thread.start()

    async def flush(self, deadline: float) -> None:
        """Export the spans so far, so that problems are reported; waits for at most `deadline` seconds.

        Returns at once when nothing is exported or no destination can be reached.
        """
        if self._closed or self.failed or self._none_reachable:
            return
        done = asyncio.Event()
        end = self._end_flush = in_loop(done.set)

        def export(pipeline: SpanPipeline) -> None:
            try:
                pipeline.provider.force_flush()
            finally:
                end()

        self.start()
        self._put("a flush", export)
        try:
            await asyncio.wait_for(done.wait(), deadline)
        except TimeoutError:
            if self._pipeline is not None:
                # Half the time, so that an export that started late is not reported.
                self._pipeline.monitor.report_late(deadline / 2)
        finally:
            self._end_flush = lambda: None

    @property
    def _none_reachable(self) -> bool:
        return len(self._problems) >= self.exports.logfire + (self.exports.collector is not None)

    def report_problem(self, destination: Destination, problem: Advice) -> None:
        """Report why spans do not arrive at a destination; called in some thread."""
        self.on_problem(destination, problem)
        self._problems[destination] = self.redactor.redact(str(problem))
        if self._none_reachable:
            self._end_flush()

    async def close(self, deadline: float = 3.0) -> bool:
        """Write and export everything; False when `deadline` seconds were not enough.

        Starts a tracer that was never started, so that the spans of a short session are kept.
        """
        if self._closed:
            return True
        self.start()
        self._closed = True
        self._queue.put(None)
        thread = self._thread
        assert thread is not None
        if self._pipeline is not None:
            # A flush may still be retrying.
            await asyncio.to_thread(self._pipeline.give_up)
        await asyncio.to_thread(thread.join, deadline)
        if self._relay is not None:
            await asyncio.to_thread(self._relay.close)
        if thread.is_alive():
            if self._pipeline is not None:
                self._pipeline.give_up(is_late=True)
            log.warning("not all spans could be sent within %.1f s; %s has them", deadline, self.path.name)
            return False
        return True

    def _run(self) -> None:
        try:
            from ua_tui.core.telemetry.exporters import SpanPipeline

            pipeline = self._pipeline = SpanPipeline(self)
            while (item := self._queue.get()) is not None:
                name, work = item
                try:
                    work(pipeline)
                except Exception:
                    log.exception("%s could not be traced", name)
            pipeline.close()
        except Exception as error:
            self.failed = True
            self._end_flush()
            if not self._closed:
                self.on_failure(error)
            log.exception("tracing ended; the session continues without it")
            while not self._queue.empty():
                self._queue.get()
