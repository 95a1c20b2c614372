"""The event types: everything that happens in a session.

Ordering: `session_started` is the first event of a session and `session_finished` the last.
`query_received` comes before every other event of its query and `query_finished` ends it, exactly once.
Every `tool_call_started` is followed by exactly one `tool_call_finished` with the same `tool_use_id`;
the same holds for `subagent_*` by `task_id`, `observer_*` by `run_id`, and `permission_*` and `elicitation_*` by
`request_id`.
`seq` rises by at least one from event to event; `at` is wall-clock time, for people; durations are
measured on a monotonic clock and never derived from `at`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self

import msgspec

from ua_tui.core.json_values import JsonObject
from ua_tui.core.observation import AnyObservation

UNSTAMPED = datetime(1970, 1, 1, tzinfo=UTC)


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


EXIT_PLAN = "ExitPlanMode"
"""The tool with which the agent presents a plan; its approval ends the mode `plan`."""
ASK_USER = "AskUserQuestion"
"""The tool with which the agent asks the person to choose between answers."""
LIST_RESOURCES, READ_RESOURCE = "ListMcpResourcesTool", "ReadMcpResourceTool"
"""The tools with which the agent lists the resources of MCP servers, and reads one."""


KNOWLEDGE = "knowledge"
"""The knowledge base in errors, and in journals of earlier versions the observer that indexed what a call brought."""


REPORT_CHECK = "report_check"
"""The observer that checks reports, and the kind of the files that it saves."""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=_snake):
    """What every event has: its place in the session and the time it happened (UTC).

    `is_synced` says that the journal is safe on the disk after such an event, with all before it.
    """

    is_synced: ClassVar[bool] = False
    seq: int = 0
    at: datetime = UNSTAMPED

    @property
    def event_name(self) -> str:
        """The event's name in the journal, such as `tool_call_started`."""
        return str(self.__struct_config__.tag)


class PlacedEvent(Event, frozen=True, kw_only=True):
    """An event with long texts, which stay in the journal: `place` is where its line begins there, in bytes.

    Only what reads a journal sets it; no line has it.
    """

    place: int | msgspec.UnsetType = msgspec.UNSET


class QueryEvent(Event, frozen=True, kw_only=True):
    """An event of a query."""

    query_id: str


class PieceEvent(QueryEvent, frozen=True, kw_only=True):
    """An event of a message of the main agent, or of the sub-agent that a call started."""

    message_id: str
    parent_tool_use_id: str | None = None


class CallEvent(Event, frozen=True, kw_only=True):
    """An event of a tool call."""

    tool_use_id: str


class SubagentEvent(CallEvent, frozen=True, kw_only=True):
    """An event of a sub-agent; `tool_use_id` is the call that started it."""

    task_id: str
    name: str


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, as the Messages API counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    @property
    def total(self) -> int:
        """All tokens, cached ones included."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_input_tokens
            + self.cache_creation_input_tokens
        )

    @property
    def read(self) -> int:
        """The tokens that a model read, also from the cache or into it."""
        return self.total - self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.__struct_fields__})


class SessionStarted(Event, frozen=True, kw_only=True):
    """A session exists and its workspace can be written to.

    The first one of a fork has in `forked_from` the session that it is a fork of.

    If it is resumed, `overruled` has the earlier choices that no longer apply, by field name; the fields themselves
    have the values that apply now.

    `folder_trust` is the trust in the files of the folder it was started in (`TrustState` of `ua_tui.core.trust`; empty
    in older journals), by an answer for this run only if `folder_trusted_once`. `folder_files` are those that the trust
    is about, `held_back` the settings in them that have no effect, and `folder_servers` the trust in each MCP server
    that the folder names: `trusted`, `refused` or `undecided`. All of them are names without values.
    """

    session_id: str
    workspace: str
    cwd: str
    version: str
    model: str | None = None
    fallback_model: str | None = None
    effort: str | None = None
    max_cost_usd: float | None = None
    permission_mode: str = "default"
    demo: bool = False
    provider_session_id: str | None = None
    resumed_from: str | None = None
    forked_from: str | None = None
    queries_before: int = 0
    overruled: dict[str, str | float | None] = {}
    folder_trust: str = ""
    folder_trusted_once: bool = False
    folder_files: list[str] = []
    held_back: list[str] = []
    folder_servers: dict[str, str] = {}


class SessionForked(Event, frozen=True, kw_only=True):
    """All events before this one are those of another session, of which this one is a fork.

    `query_id` and `text` are the query before which it was forked, empty if it has all of the session. `files` says of
    when the files of the workspace are: `then`, or `now` if some of them may have changed since. `omitted` is the
    number of damaged lines of the journal that were left out, and `cost_usd` what all of it had cost.
    """

    is_synced: ClassVar[bool] = True
    session: str
    query_id: str = ""
    text: str = ""
    files: Literal["then", "now"] = "then"
    omitted: int = 0
    cost_usd: float = 0.0


class QueryReceived(QueryEvent, frozen=True, kw_only=True):
    """A person or a script submitted a query; `prompt` is what was sent if that differs: of commands and resources."""

    text: str
    prompt: str = ""


class QuerySteered(QueryEvent, frozen=True, kw_only=True):
    """The agent received a message that a person sent to the running query."""

    text: str


class AttachedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file or the copy of a resource that went to the model with a query; `path` is relative to the workspace.

    `size` in bytes and `sha256` are those of the file, `width` and `height` those of the picture in pixels; a large one
    is scaled before it is sent. Of a PDF file there are its `pages`. Of a copy there is the `resource`: the MCP server
    and the address, as `notes:notes://today`.
    """

    path: str
    media_type: str
    size: int
    sha256: str
    width: int = 0
    height: int = 0
    pages: int = 0
    resource: str = ""


class FilesAttached(QueryEvent, frozen=True, kw_only=True):
    """The query, or the message to the running query, goes to the model together with files that its text names."""

    files: list[AttachedFile] = []


class QueryClassified(QueryEvent, frozen=True, kw_only=True):
    """The path of a query, who decided on it, and the raw response of the model if it was asked."""

    decision: Literal["SIMPLE", "COMPLEX"]
    source: Literal["rule", "model", "fallback"]
    raw_response: str = ""
    duration_ms: float = 0.0


class PathFellBack(QueryEvent, frozen=True, kw_only=True):
    """A query classified as SIMPLE called a tool and continues as COMPLEX in the same turn."""

    tool_name: str


class TextDelta(PieceEvent, frozen=True, kw_only=True):
    """A piece of an assistant message as it streams."""

    text: str


class ThinkingDelta(PieceEvent, frozen=True, kw_only=True):
    """A piece of the model's thinking as it streams."""

    text: str


class MessageFinished(PieceEvent, frozen=True, kw_only=True):
    """An assistant message is complete; `text` is the full message and replaces its deltas.

    If its stream broke off it is `incomplete`. An empty text means that there is no such message any more: the request
    was repeated, and another message is the answer.
    """

    text: str
    usage: Usage | None = None
    stop_reason: str | None = None
    incomplete: bool = False


class TokensSpent(PieceEvent, frozen=True, kw_only=True):
    """The model used tokens for a message; a sub-agent's output tokens are estimated from its text.

    `cost_usd` is an estimate, None if the model's price is not known. The end of the query has its actual cost.
    """

    usage: Usage
    model: str = ""
    cost_usd: float | None = None


class ToolCallStarted(PlacedEvent, frozen=True, kw_only=True):
    """The model called a tool. `iteration` counts the session's model turns, from 1."""

    query_id: str
    tool_use_id: str
    name: str
    input: JsonObject = {}
    iteration: int = 1
    parent_tool_use_id: str | None = None

    def changed_by(self, answer: PermissionAnswered) -> Self:
        """Return the call with the arguments that it ran with, if a person changed them."""
        return self if answer.input is None else msgspec.structs.replace(self, input=answer.input)


class ToolCallProgress(CallEvent, frozen=True, kw_only=True):
    """A running tool call did `done` of `total` pieces, such as pages; `unit` is the plural of their name."""

    done: int
    total: int
    unit: str = ""


class ToolCallFinished(PlacedEvent, frozen=True, kw_only=True):
    """A tool call ended; every call ends exactly once.

    `waiting` and `blocked` are answers of its service: it did not run the call because it first wants an approval or an
    answer of a person, or one of the service's hooks blocked the call or its result. A call that never `ran` was
    denied, or the agent has no such tool.
    """

    is_synced: ClassVar[bool] = True
    tool_use_id: str
    status: Literal["success", "error", "denied", "cancelled", "waiting", "blocked"]
    observation: AnyObservation | None = None
    duration_ms: float = 0.0
    ran: bool = True


class SubagentStarted(SubagentEvent, frozen=True, kw_only=True):
    """A sub-agent started; `tool_use_id` is the call that started it."""

    description: str = ""


class SubagentProgress(SubagentEvent, frozen=True, kw_only=True):
    """A sub-agent is working."""

    description: str = ""
    usage: Usage | None = None


class SubagentFinished(SubagentEvent, frozen=True, kw_only=True):
    """A sub-agent ended; with `by_person` a person stopped it alone, and its query continued."""

    status: Literal["success", "error", "cancelled"] = "success"
    usage: Usage | None = None
    by_person: bool = False


class PipelineFailed(Event, frozen=True, kw_only=True):
    """A pipeline handler raised an exception; the work it was attached to continued."""

    pipeline: str
    handler: str
    error: str


class ComplianceEvent(Event, frozen=True, kw_only=True):
    """What a sub-agent did not do that its rule requires.

    `finding` is what is missing, on one line for a person: it may have words of a page, `message` has none.
    """

    subagent: str
    rule: str
    message: str
    finding: str = ""


class ComplianceFailed(ComplianceEvent, frozen=True, kw_only=True):
    """A sub-agent stopped without doing what its rule requires, although it had been sent back."""


class ComplianceEnforced(ComplianceEvent, frozen=True, kw_only=True):
    """The sub-agent was sent back, with this fixed message."""


class ObserverStarted(CallEvent, frozen=True, kw_only=True):
    """An observer started on a tool result."""

    run_id: str
    observer: str


class ObserverFinished(CallEvent, frozen=True, kw_only=True):
    """An observer finished with a tool result; `artifacts` are paths in the workspace."""

    run_id: str
    observer: str
    status: Literal["saved", "skipped", "failed"]
    artifacts: list[str] = []
    items: int = 0
    rejected: int = 0
    duplicates: int = 0
    duration_ms: float = 0.0
    error: str | None = None
    note: str | None = None


class ArtifactSaved(PlacedEvent, frozen=True, kw_only=True):
    """A file was saved; `path` is relative to the workspace."""

    path: str
    kind: str
    size: int
    sha256: str
    observer: str
    tool_use_id: str | None = None
    copied_to: str | None = None


class ArtifactChanged(Event, frozen=True, kw_only=True):
    """A file that was saved changed afterwards; `path` is relative to the workspace."""

    path: str
    kind: str
    size: int
    sha256: str


class ReportChecked(Event, frozen=True, kw_only=True):
    """A report was compared with what the session has read; `check` is the file with every claim and its passages.

    Both paths are relative to the workspace, and `sha256` is that of the report. `counts` has for each kind of claim
    (`figure`, `quotation`, `link`) how many claims have each state. A person should look at `doubtful` of them, and
    `red` of these differ from a source or are links that were never seen. `summary` says it in one line.
    """

    report: str
    check: str
    sha256: str
    counts: dict[str, dict[str, int]] = {}
    red: int = 0
    doubtful: int = 0
    summary: str = ""
    tool_use_id: str | None = None
    duration_ms: float = 0.0


class OpinionGiven(Event, frozen=True, kw_only=True):
    """A model gave a second opinion on the claims of a report, because a person had asked for it.

    `report` is relative to the workspace, `counts` has how many claims each verdict is about. `cost_usd` is None if the
    price of the `model` is unknown.
    """

    report: str
    model: str = ""
    counts: dict[str, int] = {}
    requests: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None


class ClaimsDecided(Event, frozen=True, kw_only=True):
    """A person accepted or rejected claims of a report, or opened them again; `report` is relative to the workspace.

    The counts are those of all claims of its newest check.
    """

    report: str
    accepted: int = 0
    rejected: int = 0
    open: int = 0
    by: str = ""


class PermissionApplied(Event, frozen=True, kw_only=True):
    """A rule or the permission mode decided a call without a question. `origin` says where the rule comes from."""

    tool_name: str
    decision: Literal["allow", "deny"]
    tool_use_id: str | None = None
    subjects: list[str] = []
    rule: str = ""
    origin: str = ""
    reason: str = ""


class PermissionAsked(Event, frozen=True, kw_only=True):
    """A tool call waits for a person's decision. `subjects` are the tools it would actually run.

    With `acts_here` all of them are tools of own MCP servers that, as the person said, act on this machine only.
    """

    request_id: str
    tool_name: str
    input: JsonObject = {}
    tool_use_id: str | None = None
    subjects: list[str] = []
    reason: str = ""
    once_only: bool = False
    proposed: list[str] = []
    scopes: list[str] = msgspec.field(default_factory=lambda: ["session"])
    acts_here: bool = False

    @property
    def is_plan(self) -> bool:
        """Whether it asks for the approval of a plan, which is in the input."""
        return self.tool_name == EXIT_PLAN

    @property
    def is_question(self) -> bool:
        """Whether the agent asks the person something; the questions are in the input."""
        return self.tool_name == ASK_USER


class PermissionAnswered(PlacedEvent, frozen=True, kw_only=True):
    """The waiting call was allowed or denied. `scope` says for how long and by whom, `patterns` what else it covers.

    `input` are the arguments with which the call runs, if the person changed them: `changes` says how, a line for each.
    For a question of the agent they have the `answers`.
    """

    request_id: str
    tool_name: str
    decision: Literal["allow", "deny"]
    subjects: list[str] = []
    scope: str = "once"
    reason: str = ""
    patterns: list[str] = []
    input: JsonObject | None = None
    changes: list[str] = []
    tool_use_id: str | None = None


class FormOption(msgspec.Struct, frozen=True, kw_only=True):
    """A choice of a field: what is sent to the server, and what a person reads."""

    value: str
    title: str = ""


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a form that an MCP server asks a person to fill in.

    `least` and `most` bound the length of a text, a number, or how many choices may be made. `format` is `email`,
    `uri`, `date`, `date-time`, `password` or empty. What is entered into a `secret` field is hidden and not recorded.
    """

    name: str
    kind: Literal["text", "number", "integer", "boolean", "choice", "choices"] = "text"
    title: str = ""
    about: str = ""
    required: bool = False
    format: str = ""
    least: float | None = None
    most: float | None = None
    options: list[FormOption] = []
    default: Any = None
    secret: bool = False


class ElicitationAsked(Event, frozen=True, kw_only=True):
    """An MCP server asks the person to fill in a form, or with `mode` `url` to open a page.

    `tool_use_id` is the call in which it asks, if that is known.
    """

    request_id: str
    server: str
    message: str = ""
    mode: Literal["form", "url"] = "form"
    fields: list[FormField] = []
    url: str = ""
    tool_use_id: str | None = None


class ElicitationAnswered(Event, frozen=True, kw_only=True):
    """What the server was answered: the person, or without one the program, accepted, declined or cancelled.

    `by` is `person`, `headless` (nobody could be asked), `program` (it could not be shown), `interrupted` or
    `withdrawn` (the server no longer waits). `values` are those of the form by the names of its fields, without
    secrets.
    """

    request_id: str
    server: str
    action: Literal["accept", "decline", "cancel"]
    by: Literal["person", "headless", "program", "interrupted", "withdrawn"] = "person"
    message: str = ""
    url: str = ""
    values: JsonObject = {}
    reason: str = ""
    tool_use_id: str | None = None


class UntrustedTextRead(Event, frozen=True, kw_only=True):
    """The agent got the first text of the session that is not the user's: from now on what can carry data out asks."""

    what: str


class AuthRequired(Event, frozen=True, kw_only=True):
    """A person must open a link to connect an account."""

    toolkit: str
    url: str
    expires_at: datetime | None = None
    tool_use_id: str | None = None


class AuthFinished(Event, frozen=True, kw_only=True):
    """The account is connected, or the person returned from the link or gave up."""

    toolkit: str
    outcome: Literal["completed", "cancelled", "expired", "unattended"]


class ApiRetry(Event, frozen=True, kw_only=True):
    """The model's service refused a call or was overloaded; the call is repeated."""

    attempt: int
    max_attempts: int
    delay_ms: float
    error: str = ""
    detail: str = ""


class AgentSilent(QueryEvent, frozen=True, kw_only=True):
    """Nothing has come from the agent for `silent_ms` of a running query; with `over`, something has come again.

    `waits_for` is `model` if the service of the model has not answered, `process` if the command line itself does not
    react, `tool` if tools are running, `subagent` if sub-agents are working, and `server` if MCP servers are starting;
    `name` names them.
    """

    waits_for: str = "model"
    name: str = ""
    silent_ms: float = 0.0
    over: bool = False


class ContextCompaction(QueryEvent, frozen=True, kw_only=True):
    """The conversation was replaced by a summary, as its context was nearly full (`auto`) or a person asked for it.

    It `started`, and then `finished` or `failed`. At its end there are `tokens_before` and, if known, `tokens_after`.
    """

    state: Literal["started", "finished", "failed"]
    trigger: str = ""
    tokens_before: int = 0
    tokens_after: int = 0


class ConversationCleared(QueryEvent, frozen=True, kw_only=True):
    """The agent forgot the conversation, for `/clear`; what follows is the conversation `provider_session_id`."""

    provider_session_id: str


class SessionRewound(QueryEvent, frozen=True, kw_only=True):
    """A person went back to before a query: it and those after it are undone, and the agent does not know them.

    What follows is the conversation `provider_session_id`. The session `kept_as` still has what was undone. Of the
    files, `restored` are again what they were, and `removed` were not there; paths are relative to the workspace.
    """

    is_synced: ClassVar[bool] = True
    provider_session_id: str
    kept_as: str = ""
    restored: list[str] = []
    removed: list[str] = []


class PlanLimit(Event, frozen=True, kw_only=True):
    """How much of a limit of the user's plan at the model's service is used; reported when that changes its `status`.

    `allowed_warning` is near the limit and `rejected` beyond it. `kind` is the limit, such as `five_hour`,
    `utilization` the share that is used (0 to 1), and `resets_at` when it begins again.
    """

    status: str
    kind: str = ""
    utilization: float | None = None
    resets_at: datetime | None = None

    @property
    def is_near(self) -> bool:
        """Whether the limit is nearly or completely used."""
        return self.status in ("allowed_warning", "rejected")


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one MCP server.

    `last_error` remains after the server works again; `again_s` is the number of seconds until a failed server is
    reconnected automatically.
    """

    name: str
    status: str
    tools: int | None = None
    tool_names: list[str] = []
    error: str | None = None
    last_error: str | None = None
    again_s: float | None = None


class McpStatus(Event, frozen=True, kw_only=True):
    """The state of every MCP server of the session."""

    servers: list[McpServer] = []


class QueryFinished(QueryEvent, frozen=True, kw_only=True):
    """A query ended; every query ends exactly once. `text` is the complete final answer.

    `usage` has the tokens of all its messages, also of sub-agents. `unpriced` are the models whose price is unknown;
    `cost_usd` is None then. `output` is the answer to a query with an
    output schema.
    """

    is_synced: ClassVar[bool] = True
    status: Literal["success", "error", "interrupted"]
    error: str | None = None
    duration_ms: float = 0.0
    turns: int = 0
    cost_usd: float | None = None
    unpriced: list[str] = []
    usage: Usage | None = None
    context_window: int | None = None
    output: Any = None
    text: str = ""


class PermissionModeChanged(Event, frozen=True, kw_only=True):
    """The permission mode changed from `previous` to `mode`: `by` a `person`, or by the approval of a `plan`."""

    previous: str
    mode: str
    by: Literal["person", "plan"] = "person"


class ModelChosen(Event, frozen=True, kw_only=True):
    """A person chose the model for the next queries; None leaves the model, or its effort, to the agent."""

    model: str | None = None
    fallback_model: str | None = None
    effort: str | None = None


class BudgetReached(Event, frozen=True, kw_only=True):
    """Most of the spending limit is used (`warning`), or all of it (`spent`), after which nothing more runs.

    `refused` means that a query waits and may not start; `stopped` means that the query that just ended was stopped
    because of the limit and reports that itself. The `spent_usd` of a warning may be an estimate.
    """

    level: Literal["warning", "spent"]
    spent_usd: float
    limit_usd: float
    refused: bool = False
    stopped: bool = False


class BudgetRaised(Event, frozen=True, kw_only=True):
    """A person raised the spending limit."""

    spent_usd: float
    limit_usd: float


class TracingFailed(Event, frozen=True, kw_only=True):
    """Spans are no longer written or sent; the session continues."""

    error: str


class ErrorRaised(Event, frozen=True, kw_only=True):
    """Something failed that a person should know about."""

    where: str
    message: str
    causes: list[str] = []


class SessionFinished(Event, frozen=True, kw_only=True):
    """The session is over. `unpriced` are the models whose price is unknown; `cost_usd` is None then."""

    is_synced: ClassVar[bool] = True
    reason: str
    queries: int = 0
    tool_calls: int = 0
    artifacts: int = 0
    cost_usd: float | None = None
    unpriced: list[str] = []
    duration_ms: float = 0.0

    @property
    def state(self) -> Literal["finished", "stopped"]:
        """Whether it was stopped, and its query with it: by a person, a limit of time or money, or a signal."""
        return "stopped" if self.reason in ("interrupted", "timeout", "limit", "signal") else "finished"


class UnknownEvent(Event, frozen=True, kw_only=True, tag="_unknown"):
    """An event of a later version, unchanged."""

    original_name: str
    fields: JsonObject = {}
