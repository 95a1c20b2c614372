"""Pipelines: the six points at which handlers inspect, change, refuse or repair the agent's work.

    agent.before_execute  BeforeExecute  before a query goes to the agent
    agent.after_execute   AfterExecute   after the agent answered
    agent.on_error        AgentErrored   after the agent failed; may answer in its place
    tool.before_execute   BeforeTool     before a tool call runs; may change its input, or deny it
    tool.after_execute    AfterTool      after a call gave a result; may add context for the model
    tool.on_error         ToolErrored    after a call failed; may add context for the model

A handler receives the payload and returns it, changed or not; None means unchanged. Changes that a handler makes
to the payload's dictionaries in place count only if it returns the payload.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, TypeVar

from ua_tui.core.errors import PipelineError
from ua_tui.core.events.types import PipelineFailed, Usage
from ua_tui.core.json_values import JsonObject
from ua_tui.core.log import log
from ua_tui.core.observation import AnyObservation, FinishedCall, Observation
from ua_tui.core.text import clean


@dataclass(frozen=True, kw_only=True)
class AgentContext:
    """The session and query of a payload. Handlers may use `values` to pass data to later ones."""

    session_id: str = ""
    query_id: str = ""
    decision: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AgentResponse:
    """The agent's answer, with the tool calls it made, each with its id and its result.

    `output` is the answer that fits the output schema, if there is one.
    """

    text: str
    output: Any = None
    tool_calls: tuple[FinishedCall, ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None
    turns: int = 0


_Types = Mapping[str, type | tuple[type, ...]]
_TEXT_OR_NONE = (str, type(None))
_SCHEMA = (dict, type(None))


@dataclass(frozen=True, kw_only=True)
class Payload:
    """The base of payloads. `_types` are checked on creation, `_fixed` may not be changed by a handler."""

    _types: ClassVar[_Types] = {}
    _fixed: ClassVar[tuple[str, ...]] = ()

    context: AgentContext = field(default_factory=AgentContext)

    def __post_init__(self) -> None:
        for name, allowed in {"context": AgentContext, **self._types}.items():
            value = getattr(self, name)
            if not isinstance(value, allowed):
                kinds = allowed if isinstance(allowed, tuple) else (allowed,)
                wanted = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
                raise PipelineError(
                    f"{name} of {type(self).__name__} is a {type(value).__name__}, but must be {wanted}"
                )


@dataclass(frozen=True, kw_only=True)
class _OfQuery(Payload):
    agent: str
    input: str


@dataclass(frozen=True, kw_only=True)
class _OfCall(Payload):
    tool_use_id: str
    name: str
    input: JsonObject


@dataclass(frozen=True, kw_only=True)
class BeforeExecute(_OfQuery):
    """A query on its way to the agent; setting `denied` to a reason stops it for good.

    `schema` is the JSON Schema that the answer has to fit, None for text. The agent is connected again for a query
    with another one.
    """

    _types: ClassVar[_Types] = {"agent": str, "input": str, "schema": _SCHEMA, "denied": _TEXT_OR_NONE}
    _fixed = ("agent",)

    schema: JsonObject | None = None
    denied: str | None = None


@dataclass(frozen=True, kw_only=True)
class AfterExecute(_OfQuery):
    """A query that was answered, with the system prompt that was used; the response may be replaced."""

    _types: ClassVar[_Types] = {"response": AgentResponse}
    _fixed = ("agent", "input", "system_prompt")

    system_prompt: str
    response: AgentResponse


@dataclass(frozen=True, kw_only=True)
class AgentErrored(_OfQuery):
    """A query that failed, or that a handler denied: `exception` is `Denied` then.

    `input` and `schema` are those that were used, `system_prompt` is None if it was not built yet. The `__cause__` of
    `exception` is the original error, if there is one. Setting `recovery` answers the query with that text instead of
    failing it.
    """

    _types: ClassVar[_Types] = {"exception": BaseException, "schema": _SCHEMA, "recovery": _TEXT_OR_NONE}
    _fixed = ("agent", "input", "system_prompt", "schema", "exception")

    exception: BaseException
    system_prompt: str | None = None
    schema: JsonObject | None = None
    recovery: str | None = None


@dataclass(frozen=True, kw_only=True)
class BeforeTool(_OfCall):
    """A tool call about to run; `input` may be changed, and setting `denied` to a reason stops it for good."""

    _types: ClassVar[_Types] = {"tool_use_id": str, "input": dict, "denied": _TEXT_OR_NONE}
    _fixed = ("tool_use_id", "name")

    denied: str | None = None


@dataclass(frozen=True, kw_only=True)
class AfterTool(_OfCall):
    """A call that returned a result, with the input that was used; `additional_context` is added for the model."""

    _types: ClassVar[_Types] = {"observation": Observation, "additional_context": _TEXT_OR_NONE}
    _fixed = ("tool_use_id", "name", "input", "observation")

    observation: AnyObservation
    additional_context: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToolErrored(_OfCall):
    """A call that failed, with the input that was used and the error of the tool, if it gave one.

    `exception` is `Denied` if a handler denied the call. `additional_context` is added for the model.
    """

    _types: ClassVar[_Types] = {"exception": BaseException, "additional_context": _TEXT_OR_NONE}
    _fixed = ("tool_use_id", "name", "input", "exception", "error")

    exception: BaseException
    error: str = ""
    additional_context: str | None = None


P = TypeVar("P", bound=Payload)
Handler = Callable[[Any], Any]
"""A plain or async callable from a payload to the payload, or to None for unchanged."""


class _Registered(NamedTuple):
    priority: int
    handler: Handler
    tools: Callable[[str], bool] | None

    def wants(self, name: str | None) -> bool:
        return self.tools is None or name is None or self.tools(name)


@dataclass
class _Pipeline:
    payload: type[Payload]
    handlers: tuple[_Registered, ...] = ()


_POINTS: Mapping[str, type[Payload]] = {
    "agent.before_execute": BeforeExecute,
    "agent.after_execute": AfterExecute,
    "agent.on_error": AgentErrored,
    "tool.before_execute": BeforeTool,
    "tool.after_execute": AfterTool,
    "tool.on_error": ToolErrored,
}


class Pipelines:
    """The pipelines of one application: which exist, who handles them, and how they run.

    Handlers run one after the other, highest priority first; those of equal priority run in the order of their
    registration. A handler that raises, or breaks the contract of its payload, is reported and skipped: the run
    continues with the last valid payload, and the work it belongs to is not disturbed.

    Args:
        report: called for every handler that failed.
    """

    def __init__(self, report: Callable[[PipelineFailed], object] | None = None) -> None:
        self._report = report
        self._pipelines: dict[str, _Pipeline] = {}
        for name, payload in _POINTS.items():
            self.define(name, payload)

    def define(self, name: str, payload: type[Payload] = Payload) -> None:
        """Add a custom pipeline; `payload` is the type that its handlers receive.

        Raises:
            PipelineError: a pipeline of that name exists.
        """
        if name in self._pipelines:
            raise PipelineError(f"there is already a pipeline {name!r}: choose another name.")
        self._pipelines[name] = _Pipeline(payload)

    def register(
        self, name: str, handler: Handler, priority: int = 0, *, tools: Callable[[str], bool] | None = None
    ) -> Callable[[], None]:
        """Run `handler` in a pipeline from now on; calling the returned function removes it.

        With `tools` it runs only for calls of tools whose full name `tools` accepts.

        Raises:
            PipelineError: there is no such pipeline, or the handler cannot be called.
        """
        pipeline = self._find(name)
        if not callable(handler):
            raise PipelineError(f"a handler of {name} must be callable, but {handler!r} is not.")
        entry = _Registered(priority, handler, tools)
        pipeline.handlers = tuple(sorted((*pipeline.handlers, entry), key=lambda each: -each.priority))

        def unregister() -> None:
            pipeline.handlers = tuple(each for each in pipeline.handlers if each is not entry)

        return unregister

    def handlers(self, name: str) -> tuple[Handler, ...]:
        """The handlers of a pipeline, in the order in which they run."""
        return tuple(entry.handler for entry in self._find(name).handlers)

    def has_handlers(self, name: str, tool: str | None = None) -> bool:
        """Say whether running a pipeline would do anything; of a tool pipeline, for a call of `tool`."""
        return any(entry.wants(tool) for entry in self._find(name).handlers)

    def copy(self, report: Callable[[PipelineFailed], object] | None = None) -> Pipelines:
        """Copy these pipelines, with the handlers they have now, for a session that reports to `report`."""
        copied = Pipelines(report)
        copied._pipelines = {name: dataclasses.replace(each) for name, each in self._pipelines.items()}
        return copied

    async def run(self, name: str, payload: P) -> P:
        """Pass a payload through every handler of a pipeline and return the result.

        Raises:
            PipelineError: there is no such pipeline, or the payload is not of its type.
        """
        pipeline = self._find(name)
        if not isinstance(payload, pipeline.payload):
            raise PipelineError(
                f"{name} takes a {pipeline.payload.__name__}, but was given a {type(payload).__name__}."
            )
        for entry in pipeline.handlers:
            if not entry.wants(getattr(payload, "name", None)):
                continue
            try:
                returned = entry.handler(_shielded(payload))
                if inspect.isawaitable(returned):
                    returned = await returned
                payload = _accepted(payload, returned)
            except Exception as error:
                self._note_failure(name, entry.handler, payload, error)
        return payload

    def _find(self, name: str) -> _Pipeline:
        try:
            return self._pipelines[name]
        except KeyError:
            known = ", ".join(self._pipelines)
            raise PipelineError(f"there is no pipeline {name!r}; there are {known}.") from None

    def _note_failure(self, name: str, handler: Handler, payload: Payload, error: Exception) -> None:
        failure = PipelineError(f"the handler {_name_of(handler)} of {name} failed: {error}")
        # The error being handled remains the cause; the handler's own error is the context.
        failure.__cause__ = getattr(payload, "exception", None) or error
        failure.__context__ = error
        log.error("%s", failure, exc_info=failure)
        if self._report is None:
            return
        try:
            self._report(
                PipelineFailed(
                    pipeline=name, handler=_name_of(handler), error=clean(f"{type(error).__name__}: {error}")
                )
            )
        except Exception:
            log.exception("the failure of a handler of %s could not be reported", name)


def _shielded(payload: P) -> P:
    """Copy the payload's dictionaries, so that a handler that fails half-way leaves the original intact."""
    shielded = copy.copy(payload)
    for each in fields(payload):
        value = getattr(payload, each.name)
        if isinstance(value, dict):
            object.__setattr__(shielded, each.name, copy.deepcopy(value))
    return shielded


def _accepted(payload: P, returned: Any) -> P:
    if returned is None:
        return payload
    if not isinstance(returned, type(payload)):
        raise PipelineError(
            f"it returned a {type(returned).__name__}, but must return a {type(payload).__name__} or None"
        )
    for name in payload._fixed:
        before, after = getattr(payload, name), getattr(returned, name)
        if before is not after and before != after:
            raise PipelineError(
                f"it changed {name} of {type(payload).__name__}, which handlers may not change"
            )
    if getattr(payload, "denied", None) is not None and getattr(returned, "denied", None) is None:
        raise PipelineError("it reversed the denial of an earlier handler")
    return returned


def _name_of(handler: Handler) -> str:
    target = handler if hasattr(handler, "__qualname__") else type(handler)
    return f"{target.__module__}.{target.__qualname__}"
