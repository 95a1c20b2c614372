"""Events as lines of text, for where there is no screen: one line for what a person would want to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.events.tool_names import main_argument, tool_label
from core.events.types import (
    ApiRetry,
    ArtifactSaved,
    AuthRequired,
    BudgetRaised,
    BudgetReached,
    ComplianceEnforced,
    ErrorRaised,
    Event,
    McpStatus,
    ObserverFinished,
    PathFellBack,
    PermissionAnswered,
    PermissionAsked,
    PipelineFailed,
    QueryClassified,
    QueryReceived,
    QuerySteered,
    SessionStarted,
    SubagentFinished,
    SubagentStarted,
    ToolCallFinished,
    ToolCallStarted,
    TracingFailed,
)
from core.events.units import milliseconds, size, spent_of
from core.provider.error_messages import REFUSALS, describe_retry
from core.text import clean, clean_line
from tui.render.server_changes import BROKEN, ServerChanges, failure_of
from tui.render.session_terms import goes_on_with
from tui.render.wait_time import Wait

__all__ = ["MARKS", "EventLines", "Wording"]


@dataclass(frozen=True, kw_only=True)
class Wording:
    """How each kind of line is written: templates, and how a time in milliseconds is."""

    session: str
    resumed: str
    demo: str
    query: str
    steered: str
    path: str
    fell_back: str
    call_started: str
    call_success: str
    call_error: str
    call_denied: str
    call_cancelled: str
    subagent_started: str
    subagent_finished: str
    observer_failed: str
    saved: str
    copied: str
    sent_back: str
    not_allowed: str
    link: str
    retry: str
    refused: str
    pipeline_failed: str
    error: str
    servers: str
    server_failed: str
    server_off: str
    budget_warning: str
    budget_spent: str
    budget_refused: str
    budget_raised: str
    tracing_failed: str
    time: Callable[[float], str] = milliseconds
    most_of_query: int = 200


MARKS = Wording(
    session="session {id}{demo} in {workspace}",
    resumed="session {id}{demo} goes on after {queries}, in {workspace}",
    demo=" (DEMO)",
    query="› {text}",
    steered="  » {text}",
    path="  path {decision} ({source})",
    fell_back="  path COMPLEX: {name} is needed after all",
    call_started="  → {name}  {argument}",
    call_success="  ✓ {name}  {took}{why}",
    call_error="  ✗ {name}  {took}{why}",
    call_denied="  ⊘ {name}  {took}{why}",
    call_cancelled="  ⊘ {name}  {took}{why}",
    subagent_started="  ▸ {name}: {description}",
    subagent_finished="  ◂ {name}: {status}",
    observer_failed="  ✗ observer {name}: {error}",
    saved="  ● {path}  {size}{copied}",
    copied=" → {path}",
    sent_back="  ⟲ {name} was sent back: {message}",
    not_allowed="  ⊘ {names} was not allowed. {reason}",
    link="  ! connect {account}: {url}",
    retry="  ⟲ {why}: attempt {attempt} of {most}, next in {wait}",
    refused="  ✗ {why}",
    pipeline_failed="  ✗ pipeline {pipeline}: {handler}: {error}",
    error="  ✗ {where}: {message}",
    servers="  servers: {servers}",
    server_failed="  ✗ {why}",
    server_off="  · {why}",
    budget_warning="  ⚠ budget: {spent} of {limit} is spent; at the limit the work stops",
    budget_spent="  ✗ budget: {spent} is spent of {limit}: nothing more runs; a higher --max-cost lets it go on",
    budget_refused="  ✗ budget: {spent} is spent of {limit}: the query waits for a higher --max-cost",
    budget_raised="  budget: the session may cost {limit}, of which {spent} is spent",
    tracing_failed="  ✗ tracing: {error}; the session goes on",
)
"""Short lines with a mark in front, for the progress of one query."""


class EventLines:
    """Turns events into lines, in the given wording; what nobody needs to read gives none."""

    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._calls: dict[str, str] = {}
        self._servers = ServerChanges()
        self._asked: dict[str, str] = {}
        self._waits: dict[str, Wait] = {}

    def of(self, event: Event) -> str | None:
        """Return the line of an event, or the lines, cleaned and without the last line break."""
        self._wait_for(event)
        line = self._line(event)
        return clean(line).rstrip() if line else None

    def took(self, milliseconds: float, call: str = "") -> str:
        """Write how long a call took, or else the query, and how much of it was spent waiting for the person."""
        took = self._wording.time(milliseconds)
        wait = self._waits.get(call)
        waited = wait.of(milliseconds / 1000) if wait is not None else 0.0
        return f"{took}, {self._wording.time(waited * 1000)} of it waiting for you" if waited else took

    def _wait_for(self, event: Event) -> None:
        match event:
            case QueryReceived():
                self._waits.clear()
                self._asked.clear()
            case PermissionAsked(request_id=request):
                self._asked[request] = event.tool_use_id or ""
                for each in {"", self._asked[request]}:
                    self._waits.setdefault(each, Wait()).begin(event.at.timestamp())
            case PermissionAnswered(request_id=request) if request in self._asked:
                for each in {"", self._asked.pop(request)}:
                    self._waits[each].end(event.at.timestamp())
            case _:
                pass

    def _line(self, event: Event) -> str | None:
        say = self._wording
        match event:
            case SessionStarted():
                return self._began(event)
            case QueryReceived():
                return say.query.format(text=clean_line(event.text, say.most_of_query))
            case QuerySteered():
                return say.steered.format(text=clean_line(event.text, say.most_of_query))
            case QueryClassified():
                return say.path.format(decision=event.decision, source=event.source)
            case PathFellBack():
                return say.fell_back.format(name=tool_label(event.tool_name, {}))
            case ToolCallStarted():
                name = self._calls[event.tool_use_id] = tool_label(event.name, event.input)
                argument = clean_line(main_argument(event.name, event.input), 100)
                return say.call_started.format(name=name, argument=argument)
            case ToolCallFinished():
                return self._finished(event)
            case SubagentStarted():
                return say.subagent_started.format(name=event.name, description=event.description)
            case SubagentFinished():
                return say.subagent_finished.format(name=event.name, status=event.status)
            case ObserverFinished(status="failed"):
                return say.observer_failed.format(name=event.observer, error=event.error)
            case ArtifactSaved():
                copied = say.copied.format(path=event.copied_to) if event.copied_to else ""
                return say.saved.format(path=event.path, size=size(event.size), copied=copied)
            case ComplianceEnforced():
                return say.sent_back.format(name=event.subagent, message=event.message)
            case PermissionAnswered(decision="deny"):
                return say.not_allowed.format(names=", ".join(event.subjects), reason=event.reason)
            case AuthRequired():
                return say.link.format(account=event.toolkit or "the account", url=event.url)
            case ApiRetry():
                why = clean_line(describe_retry(event.error), 300)
                if event.error in REFUSALS:
                    # It is not tried again.
                    return say.refused.format(why=why)
                return say.retry.format(
                    why=why,
                    attempt=event.attempt,
                    most=event.max_attempts,
                    wait=say.time(event.delay_ms),
                )
            case PipelineFailed():
                return say.pipeline_failed.format(
                    pipeline=event.pipeline, handler=event.handler, error=event.error
                )
            case BudgetReached() | BudgetRaised():
                return self._budget(event)
            case TracingFailed():
                return say.tracing_failed.format(error=clean_line(event.error, 300))
            case ErrorRaised():
                return say.error.format(where=event.where, message=event.message)
            case McpStatus():
                return self._changed_servers(event)
            case _:
                return None

    def _budget(self, event: BudgetReached | BudgetRaised) -> str:
        say = self._wording
        template = say.budget_raised
        if isinstance(event, BudgetReached):
            template = say.budget_refused if event.refused else say.budget_spent
            if event.level == "warning":
                template = say.budget_warning
        spent, limit = spent_of(event.spent_usd, event.limit_usd)
        return template.format(spent=spent, limit=limit)

    def _began(self, event: SessionStarted) -> str:
        say, before = self._wording, event.queries_before
        template = say.session if event.resumed_from is None else say.resumed
        holds = goes_on_with(event) if event.resumed_from is not None else ""
        began = template.format(
            id=event.session_id,
            demo=say.demo if event.demo else "",
            workspace=event.workspace,
            queries="1 query" if before == 1 else f"{before} queries",
        )
        return f"{began}, where {holds}" if holds else began

    def _changed_servers(self, event: McpStatus) -> str | None:
        say, lines, states = self._wording, [], []
        for server, state in self._servers.of(event.servers):
            if state in ("off", "untrusted") and server.error:
                lines.append(say.server_off.format(why=clean_line(server.error, 400)))
            elif state in BROKEN:
                lines.append(say.server_failed.format(why=failure_of(server)))
            else:
                states.append(f"{clean_line(server.name, 60)} {state}")
        if states:
            lines.insert(0, say.servers.format(servers=", ".join(states)))
        return "\n".join(lines) or None

    def _finished(self, event: ToolCallFinished) -> str:
        name = self._calls.pop(event.tool_use_id, event.tool_use_id)
        error = event.observation.error if event.observation else None
        why = f": {clean_line(error, 200)}" if error else ""
        template: str = getattr(self._wording, f"call_{event.status}")
        return template.format(name=name, took=self.took(event.duration_ms, event.tool_use_id), why=why)
