"""Events as lines of text, for sessions without a full screen: one line for what a person wants to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ua_tui.core.events import types
from ua_tui.core.events.describe import BROKEN_STATES, Description, Hints, Severity, describe, describe_server
from ua_tui.core.events.tool_names import main_argument, tool_label
from ua_tui.core.events.types import (
    AgentSilent,
    ApiRetry,
    ArtifactSaved,
    AuthRequired,
    BudgetRaised,
    BudgetReached,
    ComplianceEnforced,
    ContextCompaction,
    ConversationCleared,
    ElicitationAnswered,
    ErrorRaised,
    Event,
    FilesAttached,
    McpServer,
    McpStatus,
    ObserverFinished,
    OpinionGiven,
    PathFellBack,
    PermissionAnswered,
    PermissionModeChanged,
    PipelineFailed,
    PlanLimit,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    QuerySteered,
    ReportChecked,
    SessionRewound,
    SessionStarted,
    SubagentFinished,
    ToolCallStarted,
    TracingFailed,
)
from ua_tui.core.text import clean_line
from ua_tui.core.view.records import Wait
from ua_tui.core.view.session import SessionView

MARKS = {
    Severity.INFO: "·",
    Severity.STARTED: "→",
    Severity.SUCCESS: "✓",
    Severity.RETRY: "⟲",
    Severity.STOPPED: "⊘",
    Severity.QUESTION: "?",
    Severity.WARNING: "⚠",
    Severity.ERROR: "✗",
}
_LABELS = {
    "tool": "Tool call ",
    "observer": "Observer ",
    "path": "Path: ",
    "mcp": "Servers: ",
}
"""What comes before a sentence that does not say by itself what it is about."""
_SHOWN = (
    ApiRetry
    | ArtifactSaved
    | BudgetRaised
    | BudgetReached
    | ContextCompaction
    | ConversationCleared
    | ComplianceEnforced
    | ErrorRaised
    | FilesAttached
    | PermissionModeChanged
    | PipelineFailed
    | PlanLimit
    | QueryClassified
    | OpinionGiven
    | ReportChecked
    | SessionRewound
    | SessionStarted
    | TracingFailed
)
_LONGEST_SENTENCE = 1_000
_LONGEST_DETAIL = 200
_LONGEST_SPOKEN_QUERY = 10_000
_LONGEST_LINK = 2_000
_TRANSIENT = frozenset({"pending", "reconnecting", "enabling", "disabling"})


class EventLines:
    """Turns events into lines; an event that nobody needs to read gives none.

    With `marks` a line starts with a mark for its severity, without them it is made to be read aloud.
    """

    def __init__(self, *, marks: bool) -> None:
        self._marks = marks
        self._servers = ServerChanges()
        self.view = SessionView()
        self._is_answering = False
        self._failure: ErrorRaised | None = None

    def of(self, event: Event) -> str | None:
        """Return the line of an event, or its lines, cleaned and without the last line break."""
        self.view.add(event)
        if isinstance(event, ErrorRaised):
            self._servers.note_failure(event)
        match event:
            case ErrorRaised(where="agent") if self._is_answering:
                # If the query fails of it, its end gives the reason.
                earlier, self._failure = self._failure, event
                return self._line(describe(earlier)) if earlier is not None else None
            case QueryFinished():
                self._is_answering = False
                failure, self._failure = self._failure, None
                if failure is None or failure.message == event.error:
                    return None
                return self._line(describe(failure))
            case PlanLimit(is_near=False) | ArtifactSaved(kind=types.REPORT_CHECK):
                # What a check found follows.
                return None
            case QueryReceived():
                self._is_answering = True
                return self._query("›" if self._marks else "You:", event.text)
            case QuerySteered():
                return self._query("  »" if self._marks else "You, to the running query:", event.text)
            case PathFellBack() | SubagentFinished(by_person=True):
                return self._line(describe(event), label="")
            case ToolCallStarted():
                hints = Hints(tool=tool_label(event.name, event.input))
                return self._line(describe(event, hints), main_argument(event.name, event.input))
            case AuthRequired():
                description = describe(event)
                return f"{self._line(description)} {clean_line(description.details[0], _LONGEST_LINK)}"
            case AgentSilent(over=False):
                stop = " Ctrl+C stops the query." if event.waits_for in ("model", "process", "server") else ""
                return f"{self._line(describe(event))}{stop}"
            case McpStatus():
                return "\n".join(self._changed_servers(event)) or None
            case (
                ObserverFinished(status="failed")
                | PermissionAnswered(decision="deny")
                | ElicitationAnswered(action="decline" | "cancel")
            ):
                return self._line(describe(event))
            case _ if (call := self.view.ended_by(event)) is not None:
                # Sub-agents of one name are told apart by their tasks.
                tool = f"{call.label} ({clean_line(call.task, 80)})" if call.task else call.label
                description = describe(event, _hints(call.wait, call.duration_ms, tool))
                return self._line(description, *description.details)
            case _:
                return self._other(event) if isinstance(event, _SHOWN) else None

    def end_of_query(self, event: QueryFinished) -> Description:
        """Describe the end of a query, and how much of its time was spent waiting for the person."""
        query = self.view.query(event.query_id)
        return describe(event, _hints(query.wait if query is not None else Wait(), event.duration_ms))

    def _line(self, description: Description, detail: str = "", label: str | None = None) -> str:
        text = clean_line(description.sentence, _LONGEST_SENTENCE)
        if detail:
            text = f"{text}: {clean_line(detail, _LONGEST_DETAIL)}"
        label = _LABELS.get(description.kind, "") if label is None else label
        if self._marks:
            indent = "" if description.kind == "session" else "  "
            return f"{indent}{MARKS[description.severity]} {label}{text}"
        return f"{label or ('Error: ' if description.severity is Severity.ERROR else '')}{text}"

    def _query(self, prefix: str, text: str) -> str:
        longest = _LONGEST_DETAIL if self._marks else _LONGEST_SPOKEN_QUERY
        return f"{prefix} {clean_line(text, longest)}".rstrip()

    def _other(self, event: Event) -> str:
        description = describe(event)
        line = self._line(description)
        if not isinstance(event, ComplianceEnforced):
            return line
        # What a check found, below; before it is the name of the rule.
        findings = (clean_line(finding, _LONGEST_DETAIL) for finding in description.details[1:])
        return "\n".join([line, *(f"    {finding}" for finding in findings)])

    def _changed_servers(self, event: McpStatus) -> Iterator[str]:
        described = []
        states = []
        for server, state in self._servers.of(event.servers):
            if server.status in BROKEN_STATES or (server.status in ("off", "untrusted") and server.error):
                described.append(self._line(describe_server(server), label=""))
            else:
                states.append(f"{clean_line(server.name, 60)} {state}")
        if states:
            yield self._line(Description("mcp", ", ".join(states)))
        yield from described


def _hints(wait: Wait, took_ms: float, tool: str = "") -> Hints:
    return Hints(tool=tool, waited_ms=wait.within(took_ms / 1000) * 1000)


class ServerChanges:
    """Remembers the last state of each server, and gives what is new: a failure once, however often it is retried."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str | None]] = {}
        self._worked: set[str] = set()

    def note_failure(self, event: ErrorRaised) -> None:
        """Remember the failure of a connection that has been reported as an error: it is no news of its server."""
        self._known.setdefault(event.where, ("failed", event.message))

    def of(self, servers: Sequence[McpServer]) -> Iterator[tuple[McpServer, str]]:
        """Give each server whose state has changed, with the state in a word or two."""
        for server in servers:
            if server.status in _TRANSIENT:
                continue
            before, state = self._known.get(server.name), server.status
            is_known = before is not None and before[0] == state
            if is_known and (
                state not in BROKEN_STATES or server.again_s is not None or before == (state, server.error)
            ):
                continue
            self._known[server.name] = (state, server.error)
            was_broken = before is not None and before[0] in BROKEN_STATES
            if state == "connected":
                state = "connected again" if was_broken and server.name in self._worked else state
                self._worked.add(server.name)
            yield server, state
