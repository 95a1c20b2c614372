"""The spans of a session on their way to its file, to Logfire, to a collector; imported by the tracing thread alone."""

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

from core.events import types as ev
from core.redaction.redactor import Redactor, seal_json
from core.storage.append_file import AppendFile
from core.telemetry.environment import Exports
from core.telemetry.export_errors import Trouble
from core.telemetry.http import ServiceRequest
from core.telemetry.span_tree import SpanTree
from core.version import VERSION

__all__ = ["JsonlSpanExporter", "Spans", "open_spans"]

_log = logging.getLogger(__name__)

_SERVICE = "ua-tui"
_SECRET_SHAPES = [r"\bak_\w+", r"sk-ant-[\w-]+", r"connect\.composio\.dev"]
_EXPORT_EVERY_MS = 1_000
_NO_PROJECT = b'{"project_name": "", "project_url": ""}'


class JsonlSpanExporter(SpanExporter):
    """Appends each span to a file as one JSON line, redacted, without what it tells of the machine."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._file = AppendFile(path)
        self._redactor = redactor

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append finished spans; called by the thread of a span processor."""
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
        """Nothing is held back, so there is nothing to wait for."""
        return True

    def shutdown(self) -> None:
        """Close the file."""
        self._file.close()


class _OneTrace(IdGenerator):
    """Gives every span of a session the same trace, and the first one, its root, the id that others were told."""

    def __init__(self, trace_id: int, root_id: int) -> None:
        self._trace_id = trace_id
        self._root_id = root_id
        self._random = random.SystemRandom()

    def generate_trace_id(self) -> int:
        return self._trace_id

    def generate_span_id(self) -> int:
        given, self._root_id = self._root_id, 0
        return given or self._random.getrandbits(64) or 1


class Spans:
    """The way of one session's spans; takes its events, and the spans that its child processes send.

    Args:
        provider: makes the spans.
        local: what writes the file; closed first, so that a place that does not answer costs nothing there.
        stop: sends what waits and stops; may take as long as the places it sends to let it.
        trouble: knows of places that spans do not reach.
        give_up: tries no more to send to a place that is known to be away; from any thread.
        project: gives Logfire's address of the project, once it is known.
    """

    def __init__(
        self,
        provider: TracerProvider,
        local: SpanProcessor,
        redactor: Redactor,
        trace_id: int,
        *,
        stop: Callable[[], object],
        trouble: Trouble,
        give_up: Callable[[], object],
        project: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._provider = provider
        self.trouble = trouble
        self.give_up = give_up
        self._tree = SpanTree(provider, redactor)
        # There is no other way in for spans that are made already.
        self._pipeline: SpanProcessor = provider._active_span_processor
        self._local = local
        self._redactor = redactor
        self._trace_id = trace_id
        self._stop = stop
        self._project = project

    @property
    def project(self) -> str | None:
        """Logfire's address of the project that the token is for; None until Logfire told it."""
        return self._project()

    def take(self, event: ev.Event) -> None:
        """Take one event, in order."""
        self._tree(event)

    def take_request(self, request: ServiceRequest) -> None:
        """Take a request that this program made to a service."""
        self._tree.request(request)

    def take_foreign(self, body: bytes) -> None:
        """Take what a child process exported.

        Raises:
            google.protobuf.message.DecodeError: it is no export request.
        """
        from core.telemetry.otlp_decode import read_spans

        for span in read_spans(body, self._redactor, trace_id=self._trace_id):
            self._pipeline.on_end(span)

    def flush(self) -> None:
        """Send what has ended so far; may take as long as the places it is sent to let it."""
        self._provider.force_flush()

    def close(self) -> None:
        """End what is open, write everything, then send everything."""
        self._tree.close()
        self._local.shutdown()
        self._stop()


def open_spans(
    path: Path,
    *,
    trace_id: int,
    root_id: int,
    token: str | None,
    exports: Exports,
    redactor: Redactor,
    state_dir: Path,
    on_trouble: Callable[[bool, str], object],
) -> Spans:
    """Open the file of spans, and what sends them to where `exports` says.

    Nothing is sent that it does not name. The configuration is the session's own: nothing is read from the current
    folder, nothing is printed, and no other code of the process is traced with it. `on_trouble` is told, in some
    thread, why spans do not reach the collector (True) or Logfire (False), once each.

    Raises:
        OSError: the file or the state folder cannot be opened.
    """
    local = SimpleSpanProcessor(JsonlSpanExporter(path, redactor))
    processors: list[SpanProcessor] = [local]
    give_up = _do_nothing
    trouble = Trouble(on_trouble)
    if exports.any:
        trouble.listen()
    if exports.collector is not None:
        from core.telemetry.span_collector import CollectorExporter

        exporter = CollectorExporter(trouble)
        give_up = exporter.give_up
        processors.append(BatchSpanProcessor(exporter, schedule_delay_millis=_EXPORT_EVERY_MS))
    ids = _OneTrace(trace_id, root_id)
    if exports.logfire:
        return _with_logfire(local, processors, trouble, give_up, ids, token, redactor, trace_id, state_dir)
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource.create({"service.version": VERSION, **_service()}),
        shutdown_on_exit=False,
        id_generator=ids,
    )
    # OTEL_SDK_DISABLED is about what is sent; the session's own file is written all the same.
    provider._disabled = False
    for processor in processors:
        provider.add_span_processor(processor)

    def stop() -> None:
        give_up()
        provider.shutdown()

    return Spans(provider, local, redactor, trace_id, stop=stop, trouble=trouble, give_up=give_up)


def _with_logfire(
    local: SpanProcessor,
    processors: Sequence[SpanProcessor],
    trouble: Trouble,
    give_up: Callable[[], object],
    ids: IdGenerator,
    token: str | None,
    redactor: Redactor,
    trace_id: int,
    state_dir: Path,
) -> Spans:
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    import logfire
    from logfire.types import ServerResponseCallbackHelper

    def mask(match: logfire.ScrubMatch) -> Any:
        # Logfire's own patterns take "session" and "auth" for secrets; ours know the secrets themselves.
        return redactor.redact_value(match.value)

    def take_answer(helper: ServerResponseCallbackHelper) -> None:
        answer = helper.response
        asks = answer.request.method == "GET"
        if asks and answer.status_code == 200 and _tells_project(answer.content):
            return
        kind = answer.headers.get("content-type", "")
        trouble.answered(False, answer.status_code, kind, answer.content)
        if asks and answer.status_code == 200:
            # The library reads it as if it told of a project, and its thread would end with a traceback.
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
            advanced=logfire.AdvancedOptions(id_generator=ids, server_response_hook=take_answer),
        )
    provider = instance.config.get_tracer_provider().provider
    assert isinstance(provider, TracerProvider)
    # It would try to send the last spans while the interpreter ends, for as long as nobody answers.
    atexit.unregister(provider.shutdown)

    def stop() -> None:
        give_up()
        instance.shutdown()

    return Spans(
        provider,
        local,
        redactor,
        trace_id,
        stop=stop,
        trouble=trouble,
        give_up=give_up,
        project=lambda: getattr(instance.config, "_project_url", None),
    )


def _tells_project(answer: bytes) -> bool:
    try:
        told = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and {"project_name", "project_url"} <= told.keys()


def _do_nothing() -> None:
    return


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep the variables of the collector from Logfire, which would send its headers, secrets and all, to itself.

    Nobody else reads them meanwhile: what is said to child processes is said in full, and the collector's own
    exporter is made by now.
    """
    hidden = {
        name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OTEL_EXPORTER_OTLP_")
    }
    try:
        yield
    finally:
        os.environ.update(hidden)


def _service() -> dict[str, str]:
    """The name of the service, unless the environment has one; an argument would win over that."""
    given = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")
    named = any(pair.partition("=")[0].strip() == "service.name" for pair in given)
    return {} if named or os.environ.get("OTEL_SERVICE_NAME") else {"service.name": _SERVICE}
