"""Describes every event for people: what kind it is, one sentence about it, how serious it is, and its details.

run.log, the transcript, plain mode and the conversation all use these descriptions. `sentences.json` has the words of
each event, or of each case of one, by their kind: how serious it is, its sentence, and a line for each detail. Here is
which case an event is, and what its words need besides its fields. The texts are not shortened, so that a reader of
them can remove secrets first.

A name in braces stands for a fact or a field, or with a dot for a field of that. A text is cleaned, and put on one line
of at most 200 characters; with `:line` on one of any length. With `:text` it keeps its line breaks, and `:own` is for
what is clean already. After `:or ` follows what stands in place of an empty text. `:duration` writes milliseconds,
`:cost` what something cost, `:host` the host of an address, `:tool` the short name of a tool, and `:if` nothing at all.
Any other format is one of Python's. A part in square brackets is left out if a value in it is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache, cached_property
from operator import attrgetter
from string import Formatter
from typing import Any, NamedTuple
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
from ua_tui.core.json_values import JsonMapping, objects_in, table_of
from ua_tui.core.observation import CrawlObservation
from ua_tui.core.text import as_sentence, clean, clean_line

MODE_RULES = {
    "default": "asks before a tool may change something",
    "acceptEdits": "edits files of the session, asks about the rest",
    "plan": "only reads and searches until you approve a plan",
    "bypassPermissions": "runs everything that no rule denies or asks about",
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

PATHS = {"SIMPLE": "direct answer", "COMPLEX": "full agent"}
_DECIDED_BY = {"rule": "by a rule", "model": "by the model", "fallback": "by default"}
_WAITS_FOR = {"model": SERVICE, "process": "the agent's process"}
_SCOPES = {
    "once": "",
    "session": " for this session",
    "folder": " in this folder",
    "everywhere": " everywhere",
    "mode": " by the permission mode",
}


def describe(event: ev.Event, hints: Hints = _NO_HINTS) -> Description:
    """Describe an event; every text in it is cleaned.

    Raises:
        NotImplementedError: the event's type has no description.
    """
    if isinstance(event, ev.UnknownEvent):
        return Description(event.original_name, "An event that this version does not know.")
    words, name = _words(), event.event_name
    case = (
        _of_session(event)
        or _of_model(event, hints)
        or _of_work(event, hints)
        or _of_question(event)
        or _Case()
    )
    found = words.get(f"{name}.{case.name}" if case.name else name) or words.get(f"{name}.other")
    if found is None:
        raise NotImplementedError(f"core/events/sentences.json does not describe {name} {case.name}".rstrip())
    details = (detail for each in found.details if (detail := each.fill(event, case.facts)))
    sentence = found.sentence.fill(event, case.facts)
    return Description(found.kind, sentence, found.severity, (*details, *case.details))


class _Words(NamedTuple):
    kind: str
    severity: Severity
    sentence: _Template
    details: tuple[_Template, ...]


class _Template:
    """A text with names in braces, as the docstring of this module describes them."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _parts(self) -> list[tuple[bool, list[tuple[str, str | None, Callable[[Any], str]]]]]:
        """The parts outside of brackets, and those in them, which are optional."""
        return [
            (
                bool(number % 2),
                [(before, name, _format_of(form or "")) for before, name, form, _ in Formatter().parse(part)],
            )
            for number, part in enumerate(re.split(r"[\[\]]", self._text))
        ]

    def fill(self, event: ev.Event, facts: Mapping[str, object]) -> str:
        """The text, with facts and fields of the event in place of the names."""
        found: list[str] = []
        for is_optional, pieces in self._parts:
            length = len(found)
            for before, name, form in pieces:
                found.append(before)
                if name is not None:
                    value = facts[name] if name in facts else attrgetter(name)(event)
                    shown = form(value) if value or not is_optional else ""
                    if is_optional and not (shown or (value and form is _no_text)):
                        del found[length:]
                        break
                    found.append(shown)
        return "".join(found)


def _no_text(_value: object) -> str:
    return ""


def _format_of(form: str) -> Callable[[Any], str]:
    if form.startswith("or "):
        return lambda text: clean_line(text or "") or form[3:]
    return _FORMATS.get(form) or f"{{:{form}}}".format


@cache
def _words() -> Mapping[str, _Words]:
    """The words of each event, or of each case of one, by `event` or `event.case`."""
    found: dict[str, _Words] = {}
    for kind, events in table_of(__file__, "sentences.json").items():
        for name, (severity, *texts) in events.items():
            sentence, *details = map(_Template, texts)
            found[name] = _Words(kind, Severity(severity), sentence, tuple(details))
    return found


class _Case(NamedTuple):
    """Which case of an event it is, what its words need besides the fields of the event, and further details."""

    name: str = ""
    facts: Mapping[str, object] = {}
    details: Sequence[str] = ()


def describe_resume(event: ev.SessionStarted) -> str:
    """Describe, in a sentence, with which model and spending limit a session is resumed."""
    # Its folder may have been renamed.
    name = "" if event.resumed_from == event.session_id else f" as {clean_line(event.session_id)}"
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
    return f"{SERVICE} gave an unexpected answer ({_line(error)})"


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


_PLAN_LIMITS = {
    "five_hour": "the five-hour limit",
    "seven_day": "the weekly limit",
    "seven_day_opus": "the weekly limit for Opus",
    "seven_day_sonnet": "the weekly limit for Sonnet",
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
            f"{limit} is nearly reached"
            if event.status == "allowed_warning"
            else f"{limit} has not been reached"
        )
    if event.resets_at is None:
        return used
    at, now = event.resets_at.astimezone(), (now or event.at).astimezone()
    day = "" if at.date() == now.date() else f" on {at:%d %B}"
    return f"{limit} was reset at {at:%H:%M}{day}" if at <= now else f"{used}; it resets at {at:%H:%M}{day}"


def _of_session(event: ev.Event) -> _Case | None:
    """The case of what happens to a session, its files and its services."""
    match event:
        case ev.SessionStarted():
            before = "before its first query"
            if event.queries_before:
                before = f"after {quantity(event.queries_before, 'query', 'queries')}"
            case = "new" if event.resumed_from is None else "resumed"
            facts = {"before": before, "terms": _resume_terms(event)}
            return _Case(case, facts, tuple(describe_folder(event)))
        case ev.SessionFinished():
            return _Case(event.reason, {"totals": _totals(event)})
        case ev.SessionForked():
            return _Case("", {"more": "".join(_about_fork(event))})
        case ev.SessionRewound():
            number = _line(event.query_id).removeprefix("q")
            return _Case("", {"number": number, "files": _rewound_files(event)})
        case ev.ReportChecked():
            return _Case("red" if event.red else "clear")
        case ev.OpinionGiven():
            counts = (f"{count:,} {clean_line(verdict)}" for verdict, count in event.counts.items())
            return _Case("", {"verdicts": ", ".join(counts) or "none"})
        case ev.ClaimsDecided():
            return _Case("", {"signed": signed_of(event.accepted, event.rejected, event.open)})
        case ev.McpStatus():
            states = (f"{clean_line(each.name)} {clean_line(each.status)}" for each in event.servers)
            errors = tuple(describe_server(each).sentence for each in event.servers if each.error)
            return _Case("", {"states": ", ".join(states) or "no servers"}, errors)
        case ev.ErrorRaised():
            return _Case("", {"said": clean(event.message).strip()}, tuple(map(_line, event.causes)))
    return None


def _of_model(event: ev.Event, hints: Hints) -> _Case | None:
    """The case of what happens to a query, and between it and the model."""
    match event:
        case ev.FilesAttached():
            return _Case("", {"attached": ", ".join(map(_attached, event.files))})
        case ev.QueryClassified():
            return _Case("", {"path": PATHS[event.decision], "by": _DECIDED_BY[event.source]})
        case ev.QueryFinished():
            reason = clean(event.error).strip() if event.error else ""
            broke = event.status == "error" and reason.startswith(CONNECTION_BROKE)
            took = _time(event.duration_ms, hints) if event.duration_ms else ""
            return _Case(
                "connection_broke" if broke else event.status,
                {
                    "took": took,
                    "why": reason.rstrip("."),
                    "reason": reason if event.error else "no reason was given",
                    "totals": f"{quantity(event.turns, 'turn')}{_cost(event.cost_usd, event.unpriced)}",
                },
            )
        case ev.ContextCompaction():
            return _Case(event.state, {"is_full": event.trigger == "auto"})
        case ev.PlanLimit():
            return _Case("near" if event.is_near else "far", {"used": describe_plan(event)})
        case ev.ModelChosen():
            return _Case("", {"choice": _model_choice(event)})
        case ev.PermissionModeChanged():
            case = event.mode if event.mode == "bypassPermissions" else "careful"
            return _Case(case, {"is_planned": event.by == "plan", "rule": MODE_RULES.get(event.mode)})
        case ev.ApiRetry():
            reason = describe_retry(event.error, event.detail)
            case = "final" if event.error in FINAL_CODES else "again"
            return _Case(case, {"reason": reason[:1].upper() + reason[1:]})
        case ev.BudgetRaised() | ev.BudgetReached():
            spent, limit = spent_of(event.spent_usd, event.limit_usd)
            case = event.level if isinstance(event, ev.BudgetReached) else ""
            if case == "spent" and getattr(event, "refused", False):
                case = "refused"
            return _Case(case, {"spent": spent, "limit": limit})
    return None


def _of_work(event: ev.Event, hints: Hints) -> _Case | None:
    """The case of what tools, sub-agents and observers do, and of waiting for them."""
    match event:
        case ev.ToolCallStarted():
            return _Case("", {"tool": hints.tool or clean_line(event.name)})
        case ev.ToolCallProgress():
            done = progress(event.done, event.total, event.unit)
            return _Case("", {"tool": hints.tool or clean_line(event.tool_use_id), "progress": done})
        case ev.ToolCallFinished():
            found = event.observation
            pages = _pages_read(found) if isinstance(found, CrawlObservation) else ""
            facts: dict[str, object] = {
                "tool": hints.tool or clean_line(found.tool_name if found else event.tool_use_id),
                "took": _time(event.duration_ms, hints),
                "pages": pages,
                "error": (found.error if found is not None else None) or "",
            }
            return _Case(event.status, facts)
        case ev.SubagentFinished():
            return _Case("by_person" if event.by_person else event.status)
        case ev.ComplianceFailed() | ev.ComplianceEnforced():
            first, _, findings = event.message.partition("\n\n")
            rule = _line(first) or clean_line(event.rule).replace("_", " ")
            lines = () if event.finding else (clean_line(event.rule), *map(_line, findings.splitlines()))
            case = "finding" if event.finding else "rule"
            return _Case(case, {"broken": rule.rstrip(".")}, tuple(filter(None, lines)))
        case ev.ObserverFinished():
            reason = event.error or event.note
            return _Case(event.status, {"reason": reason}, tuple(map(clean_line, event.artifacts)))
        case ev.AgentSilent():
            facts = {
                "service": SERVICE,
                "silent": spoken_duration(event.silent_ms).replace(".0 s", " s"),
                # A person may have set another time, which ends later.
                "is_short": event.silent_ms < 30_000,
                "has": "have" if ", " in event.name else "has",
                "waited_for": _WAITS_FOR.get(event.waits_for) or _line(event.name),
            }
            over = "over_server" if event.waits_for == "server" else "over"
            return _Case(over if event.over else event.waits_for, facts)
    return None


def _of_question(event: ev.Event) -> _Case | None:
    """The case of what a person is asked and answers."""
    match event:
        case ev.PermissionApplied():
            by = f"by the rule {_line(event.rule)} ({clean_line(event.origin)})"
            by = by if event.rule else "by the permission mode"
            return _Case(event.decision, {"subject": _subjects(event), "by": by})
        case ev.PermissionAsked(reason=reason):
            asked = " ".join(map(_line, questions_of(event.input))) if event.is_question else ""
            facts = {"subject": _subjects(event), "questions": asked or "(no question)"}
            case = "plan" if event.is_plan else "question" if event.is_question else "call"
            return _Case(case, facts | {"why": f" {as_sentence(_line(reason))}" if reason else ""})
        case ev.PermissionAnswered():
            return _answer(event)
        case ev.ElicitationAsked():
            page = _host(event.url) if event.mode == "url" else ""
            return _Case("", {"page": page, "asked": _line(event.message) or "(no message)"})
        case ev.ElicitationAnswered():
            if event.action != "accept":
                return _Case(event.action if event.by == "person" else event.by)
            values = (f"{_line(name)}: {_line(_shown(value))}" for name, value in event.values.items())
            return _Case("accept_page" if event.url else "accept", {}, tuple(values))
        case ev.AuthFinished():
            return _Case(event.outcome)
    return None


def _answer(event: ev.PermissionAnswered) -> _Case:
    scope = _SCOPES.get(event.scope, f" ({clean_line(event.scope)})")
    facts = {"subject": _subjects(event), "is_unexplained": not _line(event.reason), "how_long": scope}
    if event.tool_name == ev.EXIT_PLAN:
        return _Case(f"plan_{event.decision}", facts)
    if event.tool_name == ev.ASK_USER:
        given = (event.input or {}).get("answers") or {} if event.decision == "allow" else {}
        answers = tuple(f"{_line(key)} {_line(str(value))}" for key, value in given.items())
        return _Case(f"question_{event.decision}", facts, answers)
    if event.decision == "allow" and event.input is not None:
        return _Case("changed", facts, tuple(map(_line, event.changes)))
    return _Case(event.decision, facts)


def questions_of(arguments: JsonMapping) -> list[str]:
    """Return the questions that the agent asks, from the arguments of its call."""
    return [str(each.get("question")) for each in objects_in(arguments, "questions")]


# Parts of sentences


def _line(text: str) -> str:
    """Clean a text of any length and put it on one line."""
    return clean_line(text, max(len(text), 1))


def _totals(event: ev.SessionFinished) -> str:
    counts = (
        quantity(event.queries, "query", "queries"),
        quantity(event.tool_calls, "tool call"),
        quantity(event.artifacts, "artifact"),
    )
    cost = _cost(event.cost_usd, event.unpriced)
    return f"{', '.join(counts)}{cost}, {spoken_duration(event.duration_ms)}"


def _about_fork(event: ev.SessionForked) -> Iterator[str]:
    yield "." if event.query_id == "q1" else ", from which everything above comes."
    if event.cost_usd:
        yield f" Its cost until then, {money(event.cost_usd)}, is not counted here."
    if event.files == "now":
        yield " Some files had changed since then: the fork has their later content."
    if event.omitted:
        are = "is" if event.omitted == 1 else "are"
        yield f" {quantity(event.omitted, 'damaged line')} of its journal {are} omitted."


def _rewound_files(event: ev.SessionRewound) -> str:
    restored, removed = len(event.restored), len(event.removed)
    changed = [quantity(restored, "file is as it was", "files are as they were")] if restored else []
    changed += [f"{quantity(removed, 'file')} removed"] if removed else []
    return f" {', '.join(changed)}." if changed else ""


def _attached(file: ev.AttachedFile) -> str:
    facts = [f"{file.width:,} × {file.height:,}"] if file.width and file.height else []
    facts += [quantity(file.pages, "page")] if file.pages else []
    origin = f"{_line(file.resource)} as " if file.resource else ""
    return f"{origin}{_line(file.path)} ({', '.join([*facts, size(file.size)])})"


def _pages_read(found: CrawlObservation) -> str:
    """Say how many pages were read, and why the others were not; empty if there were none."""
    if not found.failed:
        return f"{quantity(found.pages, 'page')} read" if found.pages else ""
    read = f"{found.pages} of {quantity(found.pages + found.failed, 'page')} read, {found.failed} failed"
    unread = clean_line(found.unread)
    return f"{read} ({unread})" if unread else read


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


def _cost(cost_usd: float | None, unpriced: Sequence[str] = ()) -> str:
    if unpriced:
        return f", cost unknown (no price is set for {clean_line(', '.join(unpriced))})"
    return f", ${cost_usd:.4f}" if cost_usd is not None else ""


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "": clean_line,
    "line": _line,
    "text": clean,
    "own": str,
    "duration": spoken_duration,
    "cost": _cost,
    "host": _host,
    "tool": lambda name: tool_name(name).short,
    "if": _no_text,
}
"""What a value in a template passes, by what follows the colon."""


def _time(milliseconds: float, hints: Hints) -> str:
    waited = f", {spoken_duration(hints.waited_ms)} waiting for you" if hints.waited_ms else ""
    return spoken_duration(milliseconds) + waited


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


_UNSET = {"effort": ("effort ", "default"), "fallback_model": ("fallback ", "none")}
"""What is before the value of a choice, and what stands for none; others are a model."""


def _replaced(field: str, value: str | float | None) -> str:
    if field == "max_cost_usd" and isinstance(value, int | float):
        return f"a limit of {_money(value)}"
    before, unset = _UNSET.get(field, ("", "the default model"))
    return before + (clean_line(str(value)) if value else unset)


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


def _subjects(event: ev.PermissionApplied | ev.PermissionAsked | ev.PermissionAnswered) -> str:
    names = event.subjects or [event.tool_name]
    return ", ".join(dict.fromkeys(tool_name(name).short for name in names))


_STATES = {
    "undecided": "not trusted, so ignored",
    "changed": "changed since you answered, so ignored",
    "ignored": "ignored, as you chose",
    "partly": "trusted, except for what decides where data goes",
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
