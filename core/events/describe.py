"""Describes every event for people: what kind it is, one sentence about it, how serious it is, and its details.

run.log, the transcript, plain mode and the conversation all use these descriptions. Each event type has one function
here; `describe` calls it. The texts are not shortened, so that a reader of them can remove secrets first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import singledispatch
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.errors import advice_code
from ua_tui.core.events import types as ev
from ua_tui.core.events.model_problems import (
    CONNECTION_BROKE,
    FINAL_CODES,
    NO_CONNECTION,
    NOT_LISTENING,
    SERVICE,
    model_advice,
)
from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import SessionStarted
from ua_tui.core.events.units import money, progress, quantity, signed_of, size, spent_of, spoken_duration
from ua_tui.core.observation import CrawlObservation
from ua_tui.core.text import clean, clean_line

MODE_RULES = {
    "default": "asks before a tool may change something",
    "acceptEdits": "edits files of the session, asks about the rest",
    "plan": "only reads and searches until you approve a plan",
    "bypassPermissions": "runs every tool that no rule denies or asks about",
}
"""What each permission mode means."""


class Severity(Enum):
    """How much attention an event deserves."""

    INFO = "info"
    STARTED = "started"
    SUCCESS = "success"
    RETRY = "retry"
    STOPPED = "stopped"
    QUESTION = "question"
    WARNING = "warning"
    ERROR = "error"


class Description(msgspec.Struct, frozen=True):
    """An event in words.

    Attributes:
        kind: groups events of one subject, such as `tool` or `permission`.
        sentence: what a person has to know; a phrase that starts with the name of the tool, sub-agent or observer, or a
            full sentence.
        details: what else is known, such as the error of a call or the causes of a failure.
    """

    kind: str
    sentence: str
    severity: Severity = Severity.INFO
    details: tuple[str, ...] = ()


class Hints(msgspec.Struct, frozen=True):
    """What a reader knows from earlier events: the label of a call, and how long a person kept it waiting."""

    tool: str = ""
    waited_ms: float = 0.0


_NO_HINTS = Hints()

BROKEN_STATES = frozenset({"failed", "needs-auth"})
"""States of an MCP server in which the agent cannot use it and a person should know."""

_SESSION_ENDS = {
    "finished": "The session has ended.",
    "interrupted": "The session was interrupted.",
    "quit": "You quit this session.",
    "timeout": "The session has reached its time limit.",
    "signal": "The session was ended by a signal.",
    "forked": "The session was forked.",
}
PATHS = {"SIMPLE": "direct answer", "COMPLEX": "full agent"}
_DECIDED_BY = {"rule": "by a rule", "model": "by the model", "fallback": "by default"}
_SUBAGENT_ENDS = {
    "success": ("finished", Severity.SUCCESS),
    "error": ("failed", Severity.ERROR),
    "cancelled": ("was cancelled", Severity.STOPPED),
    "by person": ("was stopped by the user", Severity.STOPPED),
}
_TRUST = {
    "trusted": ("trusted in this folder", Severity.SUCCESS),
    "refused": ("refused in this folder", Severity.STOPPED),
    "not_now": ("not used this time", Severity.STOPPED),
}
_WAITS_FOR = {"model": SERVICE, "process": "the agent's process"}
_AUTH_FAILURES = {
    "cancelled": "cancelled",
    "expired": "the link expired",
    "unattended": "nobody was there to sign in",
}


def describe(event: ev.Event, hints: Hints = _NO_HINTS) -> Description:
    """Describe an event; every text in it is cleaned.

    Raises:
        NotImplementedError: the event's type has no description.
    """
    return _describe(event, hints)


def describe_resume(event: ev.SessionStarted) -> str:
    """Describe, in a sentence, with which model and spending limit a session is resumed."""
    # Its folder may have been renamed.
    name = "" if event.resumed_from == event.session_id else f" as session {clean_line(event.session_id)}"
    return f"Resumed{name}{_resume_terms(event)}."


def describe_retry(error: str, detail: str = "") -> str:
    """Describe, in a clause, why a request to the model is repeated.

    `error` is the agent's name for it, and `detail` what the model's service said.
    """
    detail = clean_line(detail, 200)
    if error.startswith(NOT_LISTENING):
        return model_advice("model.not_listening", _line(error.removeprefix(NOT_LISTENING))).problem
    if error.startswith(NO_CONNECTION):
        # The agent does not say whether it was reached.
        return model_advice(
            "model.timeout", f"{SERVICE} at {_line(error.removeprefix(NO_CONNECTION))}"
        ).problem
    if code := advice_code("model", error or "unknown"):
        return model_advice(code, detail=detail).problem
    if error.isdigit():
        return f"{SERVICE} answered with HTTP {error}{detail and f': {detail}'}"
    return f"{SERVICE} did not answer as it should ({_line(error)})"


def describe_server(server: ev.McpServer, *, again: bool = False) -> Description:
    """Describe the state of one MCP server; with `again` it failed before, after it had worked."""
    name = clean_line(server.name)
    match server.status:
        case "connected":
            sentence = f"MCP server {name} is connected{' again' if again else ''}."
            return Description("mcp", sentence, Severity.SUCCESS)
        case "disabled":
            return Description("mcp", f"MCP server {name} is disabled: the agent does not see its tools.")
        case "off" | "untrusted":
            return Description("mcp", _line(server.error or "") or f"MCP server {name} is {server.status}.")
        case status if status in BROKEN_STATES:
            severity = Severity.ERROR if server.again_s is None else Severity.RETRY
            return Description("mcp", _server_failure(server), severity)
        case status:
            return Description("mcp", f"MCP server {name} is {clean_line(status)}.")


_SENTENCES: Mapping[type[ev.Event], tuple[str, str, Severity]] = {
    ev.ConversationCleared: (
        "agent",
        "The agent forgot the conversation. The session and its files stay.",
        Severity.INFO,
    ),
    ev.SubagentProgress: ("sub-agent", "{name}: {description}", Severity.INFO),
    ev.ObserverStarted: ("observer", "{observer} started on {tool_use_id}", Severity.INFO),
    ev.PipelineFailed: ("pipeline", "Handler {handler} of {pipeline} failed: {error}", Severity.ERROR),
    ev.TracingFailed: ("tracing", "Tracing failed: {error}. The session continues.", Severity.WARNING),
}
"""The kind, sentence and severity of events that need no more than their fields."""


# Types are registered by name below: reading annotations would cost milliseconds at each start.
@singledispatch
def _describe(event: ev.Event, hints: Hints) -> Description:
    if (row := _SENTENCES.get(type(event))) is not None:
        kind, sentence, severity = row
        fields = {name: _line(str(value)) for name, value in msgspec.structs.asdict(event).items()}
        return Description(kind, sentence.format(**fields), severity)
    found = _describe_work(event, hints) or _describe_claims(event) or _describe_other(event)
    if found is None:
        raise NotImplementedError(f"core/events/describe.py does not describe {event.event_name}")
    return found


def _describe_work(event: ev.Event, hints: Hints) -> Description | None:
    """Describe what the model, its tools and its sub-agents do, where one sentence fits all cases."""
    match event:
        case ev.QueryReceived():
            return Description("query", clean(event.text))
        case ev.ThinkingDelta():
            return Description("thinking", clean(event.text))
        case ev.TextDelta() | ev.MessageFinished():
            return Description("answer", clean(event.text))
        case ev.QuerySteered():
            return Description("query", f"Sent to the running query: {clean(event.text)}")
        case ev.FilesAttached():
            return Description("query", f"Attached: {', '.join(map(_attached, event.files))}.")
        case ev.TokensSpent():
            by = " by a sub-agent" if event.parent_tool_use_id else ""
            sentence = f"{event.usage.total} tokens of {clean_line(event.model) or 'the model'}{by}"
            return Description("tokens", f"{sentence}{_cost(event.cost_usd)}")
        case ev.PathFellBack():
            tool = tool_name(event.tool_name).short
            return Description("path", f"The query needs a tool ({tool}): it continues with the full agent.")
        case ev.ToolCallStarted():
            return Description("tool", f"{hints.tool or clean_line(event.name)} started", Severity.STARTED)
        case ev.ToolCallProgress():
            done = progress(event.done, event.total, event.unit)
            return Description("tool", f"{hints.tool or clean_line(event.tool_use_id)}: {done}")
        case ev.SubagentStarted():
            sentence = f"{clean_line(event.name)} started: {_line(event.description)}".removesuffix(": ")
            return Description("sub-agent", sentence, Severity.STARTED)
        case ev.SubagentFinished():
            end, severity = _SUBAGENT_ENDS["by person" if event.by_person else event.status]
            return Description("sub-agent", f"{clean_line(event.name)} {end}", severity)
        case ev.ComplianceFailed() | ev.ComplianceEnforced():
            return _describe_rule(event)
    return None


def _describe_claims(event: ev.Event) -> Description | None:
    """Describe what is found and said about the claims of a report."""
    match event:
        case ev.ReportChecked():
            sentence = f"Checked: {_line(event.report)}: {_line(event.summary)}"
            details = f"{_line(event.check)} in {event.duration_ms:.0f} ms"
            severity = Severity.WARNING if event.red else Severity.SUCCESS
            return Description("check", sentence, severity, (details,))
        case ev.OpinionGiven():
            counts = ", ".join(f"{count:,} {clean_line(verdict)}" for verdict, count in event.counts.items())
            sentence = f"Second opinion on {_line(event.report)}: {counts or 'none'}"
            return Description("check", sentence, details=(f"{_line(event.model)}{_cost(event.cost_usd)}",))
        case ev.ClaimsDecided():
            signed = signed_of(event.accepted, event.rejected, event.open)
            return Description(
                "check", f"{signed}: {_line(event.report)}", details=(f"by {_line(event.by)}",)
            )
    return None


def _describe_other(event: ev.Event) -> Description | None:
    """Describe limits, files, servers and failures, where one sentence fits all cases."""
    match event:
        case ev.PlanLimit():
            severity = Severity.WARNING if event.is_near else Severity.INFO
            return Description("model", f"Your plan: {describe_plan(event)}.", severity)
        case ev.ModelChosen():
            return Description("model", f"The next query uses {_model_choice(event)}.")
        case ev.BudgetRaised():
            spent, limit = spent_of(event.spent_usd, event.limit_usd)
            return Description("budget", f"The spending limit is now {limit}; {spent} is spent.")
        case ev.ArtifactSaved():
            copied = f", copied to {_line(event.copied_to)}" if event.copied_to else ""
            details = f"{clean_line(event.kind)}, {event.size} bytes, by {clean_line(event.observer)}"
            sentence = f"Saved: {_line(event.path)}{copied}"
            return Description("artifact", sentence, Severity.SUCCESS, (details,))
        case ev.ArtifactChanged():
            details = f"{clean_line(event.kind)}, {event.size} bytes"
            return Description("artifact", f"Changed: {_line(event.path)}", details=(details,))
        case ev.UntrustedTextRead():
            sentence = f"The agent has read text that is not yours: {_line(event.what)}."
            return Description("permission", sentence, details=("What can carry data out asks from now on.",))
        case ev.AuthRequired():
            sentence = f"{_account(event)} needs your account. Open this link, then come back:"
            return Description("auth", sentence, Severity.QUESTION, (clean(event.url).strip(),))
        case ev.ServerTrustAsked():
            server = clean_line(event.server)
            sentence = f"May the MCP server {server} of this folder be used? {_line(event.target)}"
            return Description(
                "trust", sentence, Severity.QUESTION, tuple(filter(None, [_line(event.source)]))
            )
        case ev.ServerTrustAnswered():
            decision, severity = _TRUST[event.decision]
            return Description("trust", f"MCP server {clean_line(event.server)} is {decision}.", severity)
        case ev.McpStatus(servers=servers):
            states = ", ".join(f"{clean_line(each.name)} {clean_line(each.status)}" for each in servers)
            details_of = tuple(describe_server(each).sentence for each in servers if each.error)
            return Description("mcp", states or "no servers", details=details_of)
        case ev.ErrorRaised():
            sentence = f"{clean_line(event.where)}: {clean(event.message).strip()}".removeprefix(": ")
            return Description("error", sentence, Severity.ERROR, tuple(map(_line, event.causes)))
        case ev.UnknownEvent():
            return Description(event.original_name, "An event that this version does not know.")
    return None


# Sessions and queries


@_describe.register(ev.SessionStarted)
def _session_started(event: ev.SessionStarted, _hints: Hints) -> Description:
    name = f"Session {clean_line(event.session_id)}{' (demo)' if event.demo else ''}"
    place = f"in {_line(event.workspace)}"
    version, mode = clean_line(event.version), clean_line(event.permission_mode)
    details = (f"ua-tui {version}, model {_name(event.model)}, permissions {mode}", *describe_folder(event))
    if event.resumed_from is None:
        return Description("session", f"{name} started {place}", details=details)
    before = "before its first query"
    if event.queries_before:
        before = f"after {quantity(event.queries_before, 'query', 'queries')}"
    return Description("session", f"{name} resumed {before} {place}{_resume_terms(event)}", details=details)


@_describe.register(ev.SessionFinished)
def _session_finished(event: ev.SessionFinished, _hints: Hints) -> Description:
    counts = (
        quantity(event.queries, "query", "queries"),
        quantity(event.tool_calls, "tool call"),
        quantity(event.artifacts, "artifact"),
    )
    details = (
        f"{', '.join(counts)}{_cost(event.cost_usd, event.unpriced)}, {spoken_duration(event.duration_ms)}"
    )
    sentence = _SESSION_ENDS.get(event.reason, f"The session has ended: {clean_line(event.reason)}.")
    return Description("session", sentence, details=(details,))


@_describe.register(ev.SessionForked)
def _session_forked(event: ev.SessionForked, _hints: Hints) -> Description:
    above = "" if event.query_id == "q1" else ": everything above is from it"
    sentences = [f"This session is a fork of {_line(event.session)}{above}."]
    if event.cost_usd:
        sentences.append(f"It had cost {money(event.cost_usd)} by then, which is not counted here.")
    if event.files == "now":
        sentences.append("Some files have changed since then: they are as they were at the fork.")
    if event.omitted:
        are = "is" if event.omitted == 1 else "are"
        sentences.append(f"{quantity(event.omitted, 'damaged line')} of its journal {are} omitted.")
    return Description("session", " ".join(sentences))


@_describe.register(ev.SessionRewound)
def _session_rewound(event: ev.SessionRewound, _hints: Hints) -> Description:
    number = _line(event.query_id).removeprefix("q")
    sentence = f"Went back to before query {number}: the agent no longer knows it and what followed."
    if event.restored or event.removed:
        changed = (
            quantity(len(event.restored), "file is as it was", "files are as they were")
            if event.restored
            else "",
            f"{quantity(len(event.removed), 'file')} removed" if event.removed else "",
        )
        sentence += f" {', '.join(filter(None, changed))}."
    kept = (f"What was undone is kept in {_line(event.kept_as)}.",) if event.kept_as else ()
    return Description("session", sentence, details=kept)


def _attached(file: ev.AttachedFile) -> str:
    facts = []
    if file.width and file.height:
        facts.append(f"{file.width:,} × {file.height:,}")
    if file.pages:
        facts.append(quantity(file.pages, "page"))
    origin = f"{_line(file.resource)} as " if file.resource else ""
    return f"{origin}{_line(file.path)} ({', '.join([*facts, size(file.size)])})"


@_describe.register(ev.ContextCompaction)
def _compaction(event: ev.ContextCompaction, _hints: Hints) -> Description:
    match event.state:
        case "started":
            return Description(
                "agent", "The conversation is being summarised, to free context.", Severity.STARTED
            )
        case "failed":
            return Description("agent", "The conversation could not be summarised.", Severity.WARNING)
    sizes = f"from {event.tokens_before:,} tokens" if event.tokens_before else ""
    if event.tokens_before and event.tokens_after:
        sizes += f" to {event.tokens_after:,}"
    why = ", as its context was nearly full" if event.trigger == "auto" else ""
    words = " ".join(filter(None, ("The conversation was summarised", sizes)))
    return Description("agent", f"{words}{why}.")


_PLAN_LIMITS = {
    "five_hour": "the limit for five hours",
    "seven_day": "the limit for a week",
    "seven_day_opus": "the limit of Opus for a week",
    "seven_day_sonnet": "the limit of Sonnet for a week",
    "overage": "the extra usage",
}


def describe_plan(event: ev.PlanLimit, now: datetime | None = None) -> str:
    """Describe how much of a limit of the user's plan is used, as a clause.

    `now` is the time at which it is read, at which the limit may have begun again; that of the event by default.
    """
    limit = _PLAN_LIMITS.get(event.kind, f"the limit {_line(event.kind)}" if event.kind else "the limit")
    used = f"{event.utilization:.0%} of {limit} is used" if event.utilization is not None else limit
    if event.status == "rejected":
        used = f"{limit} is reached"
    elif event.utilization is None:
        used = (
            f"{limit} is nearly reached" if event.status == "allowed_warning" else f"{limit} is not reached"
        )
    if event.resets_at is None:
        return used
    at, now = event.resets_at.astimezone(), (now or event.at).astimezone()
    day = "" if at.date() == now.date() else f" on {at:%d %B}"
    return f"{limit} was reset at {at:%H:%M}{day}" if at <= now else f"{used}; it resets at {at:%H:%M}{day}"


@_describe.register(ev.QueryClassified)
def _query_classified(event: ev.QueryClassified, _hints: Hints) -> Description:
    sentence = f"{PATHS[event.decision]}, chosen {_DECIDED_BY[event.source]}"
    details = f"{event.decision} in {spoken_duration(event.duration_ms)}: {clean(event.raw_response)}"
    return Description("path", sentence, details=(details.removesuffix(": "),))


@_describe.register(ev.QueryFinished)
def _query_finished(event: ev.QueryFinished, hints: Hints) -> Description:
    took = _time(event.duration_ms, hints) if event.duration_ms else ""
    after = f" after {took}" if took else ""
    details = (f"{quantity(event.turns, 'turn')}{_cost(event.cost_usd, event.unpriced)}",)
    match event.status:
        case "success":
            return Description("query", f"Done in {took}" if took else "Done", Severity.SUCCESS, details)
        case "interrupted":
            reason = f": {clean(event.error).strip().rstrip('.')}" if event.error else ""
            sentence = f"Interrupted{after}{reason}. Partial output is kept."
            return Description("query", sentence, Severity.STOPPED, details)
        case "error":
            reason = clean(event.error or "no reason was given").strip()
            if reason.startswith(CONNECTION_BROKE):
                return Description("query", reason, Severity.ERROR, details)
            return Description("query", f"The query failed{after}: {reason}", Severity.ERROR, details)


# The model


@_describe.register(ev.PermissionModeChanged)
def _permission_mode_changed(event: ev.PermissionModeChanged, _hints: Hints) -> Description:
    before, now = clean_line(event.previous), clean_line(event.mode)
    why = ", as the plan was approved" if event.by == "plan" else ""
    severity = Severity.WARNING if event.mode == "bypassPermissions" else Severity.INFO
    rule = MODE_RULES.get(event.mode, "")
    sentence = f"Permission mode {now}{why}" + (f": {rule}." if rule else ".")
    return Description("mode", sentence, severity, (f"It was {before}.",))


@_describe.register(ev.ApiRetry)
def _api_retry(event: ev.ApiRetry, _hints: Hints) -> Description:
    reason = describe_retry(event.error, event.detail)
    sentence = reason[:1].upper() + reason[1:]
    if event.error in FINAL_CODES:
        return Description("retry", f"{sentence}.", Severity.ERROR)
    delay = f" in {spoken_duration(event.delay_ms)}" if event.delay_ms else ""
    again = f"trying again{delay} ({event.attempt} of {event.max_attempts})"
    return Description("retry", f"{sentence}; {again}.", Severity.RETRY)


@_describe.register(ev.AgentSilent)
def _agent_silent(event: ev.AgentSilent, _hints: Hints) -> Description:
    name, silent = _line(event.name), spoken_duration(event.silent_ms).replace(".0 s", " s")
    if event.over and event.waits_for == "server":
        return Description("silence", f"The query no longer waits for {name}.")
    if event.over:
        return Description("silence", f"Something came from {_WAITS_FOR.get(event.waits_for) or name} again.")
    match event.waits_for:
        case "server":
            # A person may have set another time, which ends later.
            most = ", up to 30 s" if event.silent_ms < 30_000 else ""
            return Description("silence", f"Waiting for {name} to start ({silent}{most}).")
        case "tool":
            verb = "have" if ", " in name else "has"
            return Description("silence", f"{name} {verb} been running for {silent} without a result.")
        case "subagent":
            return Description("silence", f"No message from {name} for {silent}.")
        case "process":
            sentence = f"The agent's process has not reacted for {silent}."
            return Description("silence", sentence, Severity.WARNING)
        case _:
            return Description("silence", f"No answer from {SERVICE} for {silent}.", Severity.WARNING)


@_describe.register(ev.BudgetReached)
def _budget_reached(event: ev.BudgetReached, _hints: Hints) -> Description:
    spent, limit = spent_of(event.spent_usd, event.limit_usd)
    if event.level == "warning":
        sentence = (
            f"{spent} of {limit} is spent. Work stops at the limit; raise it with /budget or --max-cost."
        )
        return Description("budget", sentence, Severity.WARNING)
    waiting = "The query waits" if event.refused else "Nothing more runs"
    sentence = f"Spending limit reached: {spent} of {limit}. {waiting} until you raise it with /budget or --max-cost."
    return Description("budget", sentence, Severity.ERROR)


# Tools and sub-agents


def _pages_read(found: CrawlObservation) -> str:
    """Say how many pages were read, and why the others were not; empty if there were none."""
    if not found.failed:
        return f"{quantity(found.pages, 'page')} read" if found.pages else ""
    read = f"{found.pages} of {quantity(found.pages + found.failed, 'page')} read, {found.failed} failed"
    return f"{read}: {clean_line(found.unread)}" if found.unread else read


@_describe.register(ev.ToolCallFinished)
def _tool_call_finished(event: ev.ToolCallFinished, hints: Hints) -> Description:
    observation = event.observation
    name = hints.tool or clean_line(observation.tool_name if observation else event.tool_use_id)
    took = _time(event.duration_ms, hints)
    details = (clean(observation.error),) if observation is not None and observation.error else ()
    match event.status:
        case "success":
            pages = _pages_read(observation) if isinstance(observation, CrawlObservation) else ""
            done = f"{name} finished in {took}: {pages}" if pages else f"{name} finished in {took}"
            return Description("tool", done, Severity.SUCCESS, details)
        case "error":
            return Description("tool", f"{name} failed after {took}", Severity.ERROR, details)
        case "denied":
            return Description("tool", f"{name} was denied", Severity.STOPPED, details)
        case "cancelled":
            return Description("tool", f"{name} was cancelled after {took}", Severity.STOPPED)
        case "waiting":
            return Description("tool", f"{name} did not run and waits", Severity.WARNING, details)
        case "blocked":
            return Description("tool", f"{name} was blocked by its service", Severity.STOPPED, details)


# Observers and artifacts


@_describe.register(ev.ObserverFinished)
def _observer_finished(event: ev.ObserverFinished, _hints: Hints) -> Description:
    name, reason = clean_line(event.observer), _line(event.error or event.note or "")
    counts = f"{event.items} items, {event.rejected} rejected, {event.duplicates} duplicates"
    details = (
        f"{clean_line(event.tool_use_id)} in {event.duration_ms:.0f} ms: {counts}",
        *map(clean_line, event.artifacts),
    )
    sentence = f"{name} {event.status}{f': {reason}' if reason else ''}"
    severity = {"saved": Severity.SUCCESS, "skipped": Severity.INFO, "failed": Severity.ERROR}[event.status]
    return Description("observer", sentence, severity, details)


# Questions


@_describe.register(ev.PermissionApplied)
def _permission_applied(event: ev.PermissionApplied, _hints: Hints) -> Description:
    by = (
        f"by the rule {_line(event.rule)} ({clean_line(event.origin)})"
        if event.rule
        else "by the permission mode"
    )
    details = (_line(event.reason),) if event.reason else ()
    if event.decision == "deny":
        return Description("permission", f"{_subjects(event)} was denied {by}", Severity.STOPPED, details)
    return Description("permission", f"{_subjects(event)} was allowed {by}", details=details)


@_describe.register(ev.PermissionAsked)
def _permission_asked(event: ev.PermissionAsked, _hints: Hints) -> Description:
    if event.is_plan:
        return Description("permission", "The plan waits for your approval.", Severity.QUESTION)
    if event.is_question:
        asked = " ".join(_line(each) for each in questions_of(event.input)) or "(no question)"
        return Description("permission", f"Question: {asked}", Severity.QUESTION)
    sentence = f"May {_subjects(event)} run? {_line(event.reason)}".rstrip()
    return Description("permission", sentence, Severity.QUESTION)


def questions_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return the questions that the agent asks, from the arguments of its call."""
    return [str(each.get("question")) for each in arguments.get("questions") or [] if isinstance(each, dict)]


def _answers_in(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    answers = arguments.get("answers")
    return tuple(f"{_line(key)} {_line(str(value))}" for key, value in (answers or {}).items())


_SCOPES = {
    "once": "",
    "session": " for this session",
    "folder": " in this folder",
    "everywhere": " everywhere",
    "mode": " by the permission mode",
}


@_describe.register(ev.PermissionAnswered)
def _permission_answered(event: ev.PermissionAnswered, _hints: Hints) -> Description:
    reason = f": {_line(event.reason)}" if event.reason else ""
    if event.tool_name == ev.EXIT_PLAN:
        if event.decision == "allow":
            return Description("permission", "The plan was approved.", Severity.SUCCESS)
        return Description("permission", f"The plan was not approved{reason or '.'}", Severity.STOPPED)
    if event.tool_name == ev.ASK_USER:
        if event.decision == "allow":
            return Description(
                "permission", "You answered.", Severity.SUCCESS, _answers_in(event.input or {})
            )
        return Description("permission", f"The question was not answered{reason or '.'}", Severity.STOPPED)
    if event.decision == "deny":
        return Description("permission", f"{_subjects(event)} was denied{reason}", Severity.STOPPED)
    if event.input is not None:
        changes = tuple(_line(each) for each in event.changes)
        sentence = f"{_subjects(event)} was allowed with changed arguments"
        return Description("permission", sentence, Severity.SUCCESS, changes)
    scope = _SCOPES.get(event.scope, f" ({clean_line(event.scope)})")
    return Description("permission", f"{_subjects(event)} was allowed{scope}{reason}", Severity.SUCCESS)


@_describe.register(ev.ElicitationAsked)
def _elicitation_asked(event: ev.ElicitationAsked, _hints: Hints) -> Description:
    what = f"{clean_line(event.server)} asks you to open {_host(event.url)}" if event.mode == "url" else ""
    sentence = f"{what or f'{clean_line(event.server)} asks'}: {_line(event.message) or '(no message)'}"
    return Description("request", sentence, Severity.QUESTION)


_UNANSWERED = {
    "headless": "was declined: no one is available to answer",
    "interrupted": "was cancelled",
    "withdrawn": "ended without an answer: the server no longer waits",
}


@_describe.register(ev.ElicitationAnswered)
def _elicitation_answered(event: ev.ElicitationAnswered, _hints: Hints) -> Description:
    server, asked = clean_line(event.server), clean_line(event.message, 200)
    question = f" (“{asked}”)" if asked else ""
    if event.action == "accept":
        details = tuple(f"{_line(name)}: {_line(_shown(value))}" for name, value in event.values.items())
        done = (
            f"You agreed to open {_host(event.url)} for {server}" if event.url else f"You answered {server}"
        )
        return Description("request", f"{done}{question}.", Severity.SUCCESS, details)
    if event.by == "person":
        verb = "declined" if event.action == "decline" else "cancelled"
        return Description("request", f"You {verb} what {server} asked{question}.", Severity.STOPPED)
    outcome = _UNANSWERED.get(event.by) or f"was declined: {_line(event.reason)}"
    severity = Severity.WARNING if event.by == "program" else Severity.STOPPED
    return Description("request", f"What {server} asked{question} {outcome}.", severity)


def _shown(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value)) or "none"
        case _:
            return str(value)


def _host(url: str) -> str:
    try:
        return clean_line(urlsplit(url).hostname or "a page")
    except ValueError:
        return "a page"


@_describe.register(ev.AuthFinished)
def _auth_finished(event: ev.AuthFinished, _hints: Hints) -> Description:
    if event.outcome == "completed":
        return Description("auth", f"{_account(event)} is connected.", Severity.SUCCESS)
    sentence = f"{_account(event)} was not connected: {_AUTH_FAILURES[event.outcome]}."
    return Description("auth", sentence, Severity.STOPPED)


# Parts of sentences


def _line(text: str) -> str:
    """Clean a text of any length and put it on one line."""
    return clean_line(text, max(len(text), 1))


def _time(milliseconds: float, hints: Hints) -> str:
    waited = f", {spoken_duration(hints.waited_ms)} of it waiting for you" if hints.waited_ms else ""
    return spoken_duration(milliseconds) + waited


def _cost(cost_usd: float | None, unpriced: Sequence[str] = ()) -> str:
    if unpriced:
        return f", cost unknown (no price is set for {clean_line(', '.join(unpriced))})"
    return f", ${cost_usd:.4f}" if cost_usd is not None else ""


def _name(model: str | None) -> str:
    return clean_line(model) if model else "default"


def _model_choice(event: ev.ModelChosen | ev.SessionStarted) -> str:
    extras = []
    if event.effort:
        extras.append(f"effort {clean_line(event.effort)}")
    if event.fallback_model:
        extras.append(f"fallback {clean_line(event.fallback_model)}")
    name = clean_line(event.model) if event.model else "the default model"
    return f"{name} ({', '.join(extras)})" if extras else name


def _resume_terms(event: ev.SessionStarted) -> str:
    terms = []
    if event.model or event.effort or event.fallback_model or set(event.overruled) - {"max_cost_usd"}:
        terms.append(_model_choice(event))
    if event.max_cost_usd is not None:
        terms.append(f"a spending limit of {_money(event.max_cost_usd)}")
    elif "max_cost_usd" in event.overruled:
        terms.append("no spending limit")
    if not terms:
        return ""
    replaced = ", ".join(_replaced(name, value) for name, value in event.overruled.items())
    return f" with {' and '.join(terms)}{f', instead of {replaced}' if replaced else ''}"


def _replaced(field: str, value: str | float | None) -> str:
    match field, value:
        case "max_cost_usd", int() | float():
            return f"a limit of {_money(value)}"
        case "effort", _:
            return f"effort {_name(str(value) if value else None)}"
        case "fallback_model", _:
            return f"fallback {clean_line(str(value)) if value else 'none'}"
        case _:
            return clean_line(str(value)) if value else "the default model"


def _money(amount: float) -> str:
    return spent_of(0.0, amount)[1]


def _server_failure(server: ev.McpServer) -> str:
    """State why a server cannot be used, and what to do, in one sentence with its name."""
    name, reason = clean_line(server.name), _line(server.error or "")
    if not reason:
        problem = "needs a login" if server.status == "needs-auth" else "failed"
        reason = f"MCP server {name} {problem}: `ua-tui doctor` tests it, and /connections reconnects it"
    elif not _names_server(server.name, reason):
        reason = f"MCP server {name} failed: {reason}"
    if server.again_s is not None:
        reason = f"{reason}{'' if reason.endswith(('.', '?', '!')) else '.'} Reconnecting automatically."
    return reason


def _names_server(name: str, reason: str) -> bool:
    """Whether a reason is a sentence with the server's name: a name can be a word like any other."""
    if not (reason[:1].isupper() or reason.startswith(("/", f"{name} of "))):
        return False
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", reason, re.IGNORECASE) is not None


def _describe_rule(event: ev.ComplianceFailed | ev.ComplianceEnforced) -> Description:
    """Describe a rule that was not met; the details are its name and a line for each finding of a check."""
    is_back = isinstance(event, ev.ComplianceEnforced)
    severity = Severity.RETRY if is_back else Severity.WARNING
    if event.finding:
        return Description(
            "compliance",
            f"Draft {'sent back' if is_back else 'not corrected'}: {_line(event.finding)}",
            severity,
        )
    first, _, findings = event.message.partition("\n\n")
    rule = _line(first) or clean_line(event.rule).replace("_", " ")
    sentence = f"{clean_line(event.subagent)} broke a rule: {rule.rstrip('.')}."
    sentence += " It was sent back to do so." if is_back else ""
    lines = (_line(each) for each in findings.splitlines())
    return Description("compliance", sentence, severity, (clean_line(event.rule), *filter(None, lines)))


def _subjects(event: ev.PermissionApplied | ev.PermissionAsked | ev.PermissionAnswered) -> str:
    names = event.subjects or [event.tool_name]
    return ", ".join(dict.fromkeys(tool_name(name).short for name in names))


def _account(event: ev.AuthRequired | ev.AuthFinished) -> str:
    return clean_line(event.toolkit) or "An account"


_STATES = {
    "undecided": "not trusted, and without effect",
    "changed": "changed since the answer about them, and without effect",
    "ignored": "ignored, as the user chose",
    "partly": "trusted without what decides where data goes",
    "trusted": "trusted",
}
_MOST = 5
"""How many names are written of a list."""


def describe_folder(event: SessionStarted) -> Iterator[str]:
    """A clause for each fact: the files, the settings that were held back, the servers; none if the folder has none."""
    if event.folder_trust in _STATES:
        once = " for this run" if event.folder_trusted_once else ""
        yield f"files of the folder {_STATES[event.folder_trust]}{once}: {_names(event.folder_files)}"
    if event.held_back:
        yield f"settings of the folder held back: {_names(event.held_back)}"
    for state in dict.fromkeys(event.folder_servers.values()):
        servers = [name for name, each in event.folder_servers.items() if each == state]
        yield f"MCP servers of the folder {clean_line(state, 40)}: {_names(servers)}"


def _names(names: Sequence[str]) -> str:
    shown = [clean_line(each, 100) for each in names[:_MOST]]
    more = [f"{len(names) - _MOST} more"] if len(names) > _MOST else []
    return ", ".join([*shown, *more]) or "none"
