"""Exports the spans of a session to its file, to Logfire and to a collector.

Slow to import: only the tracing thread and the doctor do.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from core.errors import Advice
from core.events import types as ev
from core.redaction.redactor import Redactor, seal_json
from core.storage.append_file import AppendFile
from core.telemetry.environment import Exports
from core.telemetry.export_errors import Destination, ExportMonitor
from core.telemetry.http import ServiceRequest
from core.telemetry.span_tree import SpanTree
from core.version import VERSION

__all__ = ["CollectorExporter", "JsonlSpanExporter", "SpanPipeline", "open_span_pipeline"]

_log = logging.getLogger(__name__)

_SERVICE = "ua-tui"
_SECRET_SHAPES = [r"\bak_\w+", r"sk-ant-[\w-]+", r"connect\.composio\.dev"]
_EXPORT_EVERY_MS = 1_000
_NO_PROJECT = b'{"project_name": "", "project_url": ""}'


class JsonlSpanExporter(SpanExporter):
    """Appends each span to a file as one JSON line, redacted, without its resource, which describes the machine."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._file = AppendFile(path)
        self._redactor = redactor

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append finished spans; called in the thread of a span processor."""
        try:
            for span in spans:
                fields = json.loads(span.to_json(indent=None))
                fields.pop("resource", None)
                self._file.append(seal_json(json.dumps(fields), self._redactor))
        except (OSError, ValueError) as error:
            _log.warning("spans could not be written: %s", error)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Do nothing: no span is held back."""
        return True

    def shutdown(self) -> None:
        """Close the file."""
        self._file.close()


class CollectorExporter(SpanExporter):
    """Sends spans to the OTLP collector that the environment names, and reports to the monitor how that goes."""

    def __init__(self, monitor: ExportMonitor) -> None:
        # Slow to import, and only needed where there is a collector.
        import requests
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        def on_response(response: requests.Response, *_more: Any, **_named: Any) -> None:
            kind = response.headers.get("content-type", "")
            monitor.on_answer("collector", response.status_code, kind, response.content)

        session = requests.Session()
        session.hooks["response"].append(on_response)
        self._exporter = OTLPSpanExporter(session=session)
        self._monitor = monitor
        self._is_shut_down = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send finished spans."""
        with self._monitor.sending_to_collector():
            result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._monitor.collector_is_away = False
        return result

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Do nothing: no span is held back."""
        return True

    def shutdown(self) -> None:
        """Stop, without further attempts to send a batch; a second call does nothing."""
        if not self._is_shut_down:
            self._is_shut_down = True
            with self._monitor.sending_to_collector():
                self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def give_up(self) -> None:
        """Stop if the last attempt did not reach the collector."""
        if self._monitor.collector_is_away:
            self.shutdown()


class _SessionIds(IdGenerator):
    """Gives every span of a session the same trace id, and the first one, its root, a span id chosen before."""

    def __init__(self, trace_id: int, root_id: int) -> None:
        self._trace_id = trace_id
        self._root_id = root_id
        self._random = random.SystemRandom()

    def generate_trace_id(self) -> int:
        return self._trace_id

    def generate_span_id(self) -> int:
        root_id, self._root_id = self._root_id, 0
        return root_id or self._random.getrandbits(64) or 1


class SpanPipeline:
    """Turns the events of one session into spans and exports them, with the spans of its child processes.

    Args:
        provider: makes the spans.
        local: writes the file; closed first, so that a destination that does not answer delays nothing there.
        stop: exports what is left and stops; may take as long as the destinations let it.
        monitor: knows the destinations that spans do not reach.
        give_up: makes no further attempts to reach a destination that is away; may be called in any thread.
        project: gives Logfire's address of the project once it is known.
    """

    def __init__(
        self,
        provider: TracerProvider,
        local: SpanProcessor,
        redactor: Redactor,
        trace_id: int,
        *,
        stop: Callable[[], object],
        monitor: ExportMonitor,
        give_up: Callable[[], object],
        project: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._provider = provider
        self.monitor = monitor
        self.give_up = give_up
        self._tree = SpanTree(provider, redactor)
        # The SDK has no public way to add spans that are finished already.
        self._processors: SpanProcessor = provider._active_span_processor
        self._local = local
        self._redactor = redactor
        self._trace_id = trace_id
        self._stop = stop
        self._project = project

    @property
    def project(self) -> str | None:
        """Logfire's address of the project of the token; None until Logfire has given it."""
        return self._project()

    def on_event(self, event: ev.Event) -> None:
        """Handle one event, in order."""
        self._tree.on_event(event)

    def on_request(self, request: ServiceRequest) -> None:
        """Handle a request that this program made to a service."""
        self._tree.on_request(request)

    def on_child_spans(self, body: bytes) -> None:
        """Handle an export request of a child process.

        Raises:
            google.protobuf.message.DecodeError: it is not an export request.
        """
        from core.telemetry.otlp_decode import read_spans

        for span in read_spans(body, self._redactor, trace_id=self._trace_id):
            self._processors.on_end(span)

    def flush(self) -> None:
        """Export the spans that have ended; may take as long as the destinations let it."""
        self._provider.force_flush()

    def close(self) -> None:
        """End the open spans, write everything, then export everything."""
        self._tree.close()
        self._local.shutdown()
        self._stop()


def open_span_pipeline(
    path: Path,
    *,
    trace_id: int,
    root_id: int,
    token: str | None,
    exports: Exports,
    redactor: Redactor,
    state_dir: Path,
    on_problem: Callable[[Destination, Advice], object],
) -> SpanPipeline:
    """Open the file of spans and the exporters that `exports` names; spans go nowhere else.

    The configuration belongs to the session alone: nothing is read from the current folder, nothing is printed, and no
    other code of the process is traced. `on_problem` is called at most once per destination, in some thread, when
    spans do not arrive there.

    Raises:
        OSError: the file or the state folder cannot be opened.
    """
    local = SimpleSpanProcessor(JsonlSpanExporter(path, redactor))
    processors: list[SpanProcessor] = [local]
    give_up = _do_nothing
    monitor = ExportMonitor(on_problem)
    if exports.any:
        monitor.install()
    if exports.collector is not None:
        exporter = CollectorExporter(monitor)
        give_up = exporter.give_up
        processors.append(BatchSpanProcessor(exporter, schedule_delay_millis=_EXPORT_EVERY_MS))
    ids = _SessionIds(trace_id, root_id)
    if exports.logfire:
        return _logfire_pipeline(
            local,
            processors,
            redactor,
            trace_id,
            token=token,
            ids=ids,
            state_dir=state_dir,
            monitor=monitor,
            give_up=give_up,
        )
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource.create({"service.version": VERSION, **_service()}),
        shutdown_on_exit=False,
        id_generator=ids,
    )
    # OTEL_SDK_DISABLED is about exports; the session's own file is written in any case.
    provider._disabled = False
    for processor in processors:
        provider.add_span_processor(processor)

    def stop() -> None:
        give_up()
        provider.shutdown()

    return SpanPipeline(provider, local, redactor, trace_id, stop=stop, monitor=monitor, give_up=give_up)


def _logfire_pipeline(
    local: SpanProcessor,
    processors: Sequence[SpanProcessor],
    redactor: Redactor,
    trace_id: int,
    *,
    token: str | None,
    ids: IdGenerator,
    state_dir: Path,
    monitor: ExportMonitor,
    give_up: Callable[[], object],
) -> SpanPipeline:
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    import logfire
    from logfire.types import ServerResponseCallbackHelper

    def mask(match: logfire.ScrubMatch) -> Any:
        # Logfire's patterns match harmless words such as "session" and "auth"; the redactor knows the secrets.
        return redactor.redact_value(match.value)

    def on_answer(helper: ServerResponseCallbackHelper) -> None:
        answer = helper.response
        is_query = answer.request.method == "GET"
        if is_query and answer.status_code == 200 and _names_project(answer.content):
            return
        kind = answer.headers.get("content-type", "")
        monitor.on_answer("logfire", answer.status_code, kind, answer.content)
        if is_query and answer.status_code == 200:
            # Logfire assumes that the answer names a project; without one its thread would end with a traceback.
            answer._content = _NO_PROJECT

    with _without_collector():
        instance = logfire.configure(
            local=True,
            send_to_logfire="if-token-present",
            token=token,
            service_name=_service().get("service.name"),
            service_version=VERSION,
            console=False,
            config_dir=state_dir,
            data_dir=state_dir,
            additional_span_processors=processors,
            metrics=False,
            sampling=logfire.SamplingOptions(head=ALWAYS_ON),
            scrubbing=logfire.ScrubbingOptions(callback=mask, extra_patterns=_SECRET_SHAPES),
            inspect_arguments=False,
            distributed_tracing=False,
            advanced=logfire.AdvancedOptions(id_generator=ids, server_response_hook=on_answer),
        )
    provider = instance.config.get_tracer_provider().provider
    assert isinstance(provider, TracerProvider)
    # At exit it would try to send the last spans for as long as nothing answers.
    atexit.unregister(provider.shutdown)

    def stop() -> None:
        give_up()
        instance.shutdown()

    return SpanPipeline(
        provider,
        local,
        redactor,
        trace_id,
        stop=stop,
        monitor=monitor,
        give_up=give_up,
        project=lambda: getattr(instance.config, "_project_url", None),
    )


def _names_project(body: bytes) -> bool:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and {"project_name", "project_url"} <= answer.keys()


def _do_nothing() -> None:
    return


@contextmanager
def _without_collector() -> Iterator[None]:
    """Hide the collector's variables from Logfire, which would send the collector's headers to its own server.

    Nothing else reads them in the meantime: the environment of child processes is complete by now, and so is the
    collector's exporter.
    """
    hidden = {
        name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OTEL_EXPORTER_OTLP_")
    }
    try:
        yield
    finally:
        os.environ.update(hidden)


def _service() -> dict[str, str]:
    """The name of the service unless the environment sets one, which an argument would override."""
    pairs = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")
    named = any(pair.partition("=")[0].strip() == "service.name" for pair in pairs)
    return {} if named or os.environ.get("OTEL_SERVICE_NAME") else {"service.name": _SERVICE}
