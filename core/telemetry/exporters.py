"""Exports the spans of a session to its file, to Logfire and to a collector, and its metrics to a collector.

Slow to import: only the tracing thread and the doctor do.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from ua_tui.core.errors import missing_extra
from ua_tui.core.events.codec import from_json
from ua_tui.core.events.types import Event
from ua_tui.core.json_values import object_in
from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import Redactor, seal_json
from ua_tui.core.storage.regular_file import AppendFile
from ua_tui.core.telemetry.export_errors import ExportMonitor, LibraryLog
from ua_tui.core.telemetry.spans.maker import SpanContent
from ua_tui.core.telemetry.spans.tree import SpanTree
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    from logfire import Logfire

    from ua_tui.core.telemetry.metrics import SessionMetrics
    from ua_tui.core.telemetry.tracer import Tracer


_SERVICE = "ua-tui"
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
            log.warning("spans could not be written: %s", error)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the file."""
        self._file.close()


class _SessionIds(RandomIdGenerator):
    """Gives every span of a session the same trace id, and the first one, its root, a span id chosen before."""

    def __init__(self, trace_id: int, root_id: int) -> None:
        self._trace_id = trace_id
        self._root_id = root_id

    def generate_trace_id(self) -> int:
        return self._trace_id

    def generate_span_id(self) -> int:
        root_id, self._root_id = self._root_id, 0
        return root_id or super().generate_span_id()


class SpanPipeline:
    """Turns the events of one session into spans and exports them, with the spans of its child processes.

    Spans go to the file of the `tracer` and to the destinations that it exports to, nowhere else. The configuration
    belongs to the session alone: nothing is read from the current folder, nothing is printed, and no other code of the
    process is traced. A problem is reported to the tracer at most once per destination.

    Attributes:
        tree: makes the spans; it also handles the requests that this program made.
        provider: exports the spans that have ended.
        monitor: knows whether the collector answers.

    Raises:
        OSError: the file or the state folder cannot be opened.
    """

    def __init__(self, tracer: Tracer) -> None:
        exports, on_problem = tracer.exports, tracer.report_problem
        if exports.logfire and find_spec("logfire") is None:
            on_problem("logfire", missing_extra("logfire", "exporting to Logfire"))
            exports = msgspec.structs.replace(exports, logfire=False)
        self._redactor = tracer.redactor
        self._labels = tracer.labels
        self._trace_id = int(tracer.trace_id, 16)
        self._local = SimpleSpanProcessor(JsonlSpanExporter(tracer.path, tracer.redactor))
        self._collector: SpanExporter | None = None
        self._logfire: Logfire | None = None
        self.monitor = ExportMonitor("collector", partial(on_problem, "collector"))
        logfire_monitor = ExportMonitor("logfire", partial(on_problem, "logfire"))
        processors: list[SpanProcessor] = [self._local]
        if exports.any or exports.metrics is not None:
            LibraryLog(logfire_monitor)
        if exports.collector is not None:
            self._collector = collector_exporter(self.monitor)
            # The SDK reads OTEL_BSP_* unless an argument overrides it.
            delay = None if os.environ.get("OTEL_BSP_SCHEDULE_DELAY") else 1_000
            processors.append(BatchSpanProcessor(self._collector, schedule_delay_millis=delay))
        ids = _SessionIds(self._trace_id, int(tracer.root_id, 16))
        resource = Resource.get_empty()
        if exports.any or exports.metrics is not None:
            # What the environment says of this program, and what it says of itself.
            own = Resource({"service.name": _SERVICE, "service.version": VERSION})
            resource = Resource.create(own.merge(OTELResourceDetector().detect()).attributes)
        content = SpanContent(tracer.redactor, included=tracer.has_content)
        self._metrics: SessionMetrics | None = None
        if exports.metrics is not None:
            # Slow to import.
            from ua_tui.core.telemetry.metrics import SessionMetrics

            self._metrics = SessionMetrics(resource, content)
            processors.append(self._metrics)
        if exports.logfire:
            self._logfire = _configured_logfire(
                tracer.token,
                ids,
                processors,
                str(resource.attributes["service.name"]),
                tracer.state_dir,
                logfire_monitor,
            )
            provider = self._logfire.config.get_tracer_provider().provider
            assert isinstance(provider, TracerProvider)
            # At exit it would try to send the last spans for as long as nothing answers.
            atexit.unregister(provider.shutdown)
        else:
            provider = _own_provider(ids, processors, resource)
        self.provider = provider
        self.tree = SpanTree(provider, content, tracer.labels)
        # The SDK has no public way to add spans that are finished already.
        self._processors: SpanProcessor = provider._active_span_processor

    def on_event(self, event: Event) -> None:
        """Handle one event, in order."""
        if self._metrics is not None:
            self._metrics.on_event(event)
        self.tree.on_event(event)

    @property
    def project(self) -> str | None:
        """Logfire's address of the project of the token; None until Logfire has given it."""
        return getattr(self._logfire.config, "_project_url", None) if self._logfire is not None else None

    def on_child_spans(self, body: bytes) -> None:
        """Handle an export request of a child process.

        Raises:
            google.protobuf.message.DecodeError: it is not an export request.
        """
        from ua_tui.core.telemetry.otlp_decode import read_spans

        for span in read_spans(body, self._redactor, trace_id=self._trace_id, labels=self._labels):
            self._processors.on_end(span)

    def give_up(self, *, is_late: bool = False) -> None:
        """Stop sending to a collector that is away, or to any if it `is_late`; may be called in any thread."""
        if self._collector is not None and (is_late or self.monitor.is_away):
            self._collector.shutdown()

    def close(self) -> None:
        """End the open spans, write everything, then export everything."""
        self.tree.close()
        # The file comes first, so that a destination that does not answer delays nothing there.
        self._local.shutdown()
        self.give_up()
        (self._logfire or self.provider).shutdown()
        if self._metrics is not None:
            self._metrics.close(is_away=self.monitor.is_away)


def collector_exporter(monitor: ExportMonitor) -> SpanExporter:
    """The SDK's exporter to the OTLP collector that the environment names, with a monitor."""
    # Slow to import, and only needed where there is a collector.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    from ua_tui.core.telemetry.export_session import ExportSession

    return OTLPSpanExporter(session=ExportSession(monitor))


def _own_provider(
    ids: IdGenerator, processors: Sequence[SpanProcessor], resource: Resource
) -> TracerProvider:
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=resource,
        shutdown_on_exit=False,
        id_generator=ids,
    )
    # OTEL_SDK_DISABLED is about exports; the session's own file is written in any case.
    provider._disabled = False
    for processor in processors:
        provider.add_span_processor(processor)
    return provider


def _configured_logfire(
    token: str | None,
    ids: IdGenerator,
    processors: Sequence[SpanProcessor],
    service_name: str,
    state_dir: Path,
    monitor: ExportMonitor,
) -> Logfire:
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    import logfire
    from logfire.types import ServerResponseCallbackHelper

    def on_answer(helper: ServerResponseCallbackHelper) -> None:
        answer = helper.response
        is_known = answer.request.method == "GET" and answer.status_code == 200
        project = from_json(answer.content) if is_known else None
        if {"project_name", "project_url"} <= object_in(project).keys():
            return
        monitor.on_answer(answer)
        if is_known:
            # Logfire assumes that the answer names a project; without one its thread would end with a traceback.
            answer._content = _NO_PROJECT

    with _without_collector():
        return logfire.configure(
            local=True,
            send_to_logfire="if-token-present",
            token=token,
            service_name=service_name,
            service_version=VERSION,
            console=False,
            config_dir=state_dir,
            data_dir=state_dir,
            additional_span_processors=processors,
            metrics=False,
            sampling=logfire.SamplingOptions(head=ALWAYS_ON),
            # Its patterns match harmless words such as "session"; every text is redacted before it is in a span.
            scrubbing=False,
            inspect_arguments=False,
            distributed_tracing=False,
            advanced=logfire.AdvancedOptions(id_generator=ids, server_response_hook=on_answer),
        )


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
