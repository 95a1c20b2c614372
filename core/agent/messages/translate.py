"""Turns the SDK's messages into events, keeping track of which calls, sub-agents and messages are open.

The SDK delivers the main agent's text twice: as a stream, and again block by block. The text is read from the stream;
a block is used only if nothing of its message was streamed, as for the text of sub-agents and for notices of the
command-line agent.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ua_tui.core.agent.bounds import LONGEST_NAME
from ua_tui.core.agent.mcp.states import ServerStates
from ua_tui.core.agent.messages.malformed import MalformedMessages
from ua_tui.core.agent.messages.results import RawResult
from ua_tui.core.agent.messages.subagents import SubagentTask, SubagentTasks
from ua_tui.core.agent.messages.usage import (
    HIGHEST,
    Prices,
    Spending,
    model_reports,
    usage_of,
    usage_of_block,
)
from ua_tui.core.agent.output_schema import NOT_FITTING
from ua_tui.core.events.describe import describe_retry
from ua_tui.core.events.model_problems import CONNECTION_CLOSED, LOCAL_RETRIES, NO_CONNECTION, NOT_LISTENING
from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import (
    ApiRetry,
    ContextCompaction,
    ConversationCleared,
    Event,
    MessageFinished,
    PlanLimit,
    TextDelta,
    ThinkingDelta,
    TokensSpent,
    ToolCallStarted,
    Usage,
)
from ua_tui.core.json_values import JsonObject, list_in, object_in, text_in, value_in
from ua_tui.core.log import log
from ua_tui.core.net.urls import is_loopback
from ua_tui.core.observation import FinishedCall, ToolCall
from ua_tui.core.provider.error_messages import AT_LIMIT, describe_break, describe_failure
from ua_tui.core.redaction.redactor import Redactor, StreamRedactor
from ua_tui.core.text import clean, clean_line

if TYPE_CHECKING:
    import claude_agent_sdk as sdk


class OpenCall(msgspec.Struct, frozen=True):
    """A call that has no result yet; `started` is monotonic, in seconds."""

    call: ToolCall
    started_at: datetime
    started: float


class TurnOutcome(msgspec.Struct, frozen=True):
    """How a turn ended.

    `spending` is what the agent has counted for the whole conversation. `cost_usd` is the cost of this query alone; it
    is None if it is unknown, as that of models in `unpriced`. `output` is the answer that fits the output schema.
    `exception` is why the query failed, with the original error as its cause.
    """

    status: Literal["success", "error", "interrupted"]
    text: str = ""
    error: str | None = None
    turns: int = 0
    spending: Spending | None = None
    cost_usd: float | None = None
    unpriced: tuple[str, ...] = ()
    usage: Usage | None = None
    context_window: int | None = None
    output: Any = None
    tool_calls: tuple[FinishedCall, ...] = ()
    exception: Exception | None = None


class SteeringAccepted(msgspec.Struct, frozen=True):
    """The agent has accepted the message that was sent with this id."""

    message_id: str


class TurnStarted(msgspec.Struct, frozen=True):
    """The agent has begun a turn, possibly without a query."""


class _OpenMessage(msgspec.Struct):
    """A message that streams, or whose stream ended before the message did: it is not `complete` then."""

    message_id: str
    model: str = ""
    text: list[str] = []
    usage: JsonObject = {}
    stop_reason: str | None = None
    complete: bool = False


class Translator:
    """Translates SDK messages to events and tool results; each connection has one.

    `servers` are the states of the MCP servers, `server` is the model's address, `prices` learns what models
    cost, and `structured` is whether every answer has to fit a schema.
    """

    def __init__(
        self,
        *,
        redactor: Redactor,
        servers: ServerStates,
        server: str,
        prices: Prices,
        structured: bool,
    ) -> None:
        self._structured = structured
        self._redactor = redactor
        self._answer = StreamRedactor(self._redactor)
        self._thinking = StreamRedactor(self._redactor)
        self.iteration = 0
        self.provider_session_id: str | None = None
        self.model: str | None = None
        self.calls: dict[str, OpenCall] = {}
        self.tasks = SubagentTasks()
        self._servers = servers
        self._server = server
        self.prices = prices
        self._counted: dict[str, str] = {}
        self.malformed = MalformedMessages()
        self._called: dict[str, str] = {}
        self._open: _OpenMessage | None = None
        self._broken: _OpenMessage | None = None
        self._is_cleared = False
        self._streamed: set[str] = set()
        self._pieces = 0
        self.begin("", "")

    @property
    def current_text(self) -> str:
        """The agent's latest text to the user, also while its message still streams; empty before the first."""
        return "".join(self._open.text).strip() if self._open and self._open.text else self.last_text

    def begin(self, query_id: str, query: str) -> None:
        """Attribute what follows to this query."""
        self.query_id = query_id
        self.query = query
        self.last_text = ""
        self.last_retry = ""
        self._begun = time.monotonic()
        self._broke_after: float | None = None
        self._retries = 0
        self._is_retried = self._is_resumed = self._continues = False

    def feed(
        self, message: sdk.Message
    ) -> Iterator[Event | RawResult | TurnOutcome | SteeringAccepted | TurnStarted]:
        """Translate one message, in order."""
        import claude_agent_sdk as sdk

        match message:
            case sdk.StreamEvent():
                yield from self._stream(message)
            case sdk.AssistantMessage():
                yield from self._assistant(message)
            case sdk.UserMessage():
                yield from self._user(message)
            case (
                sdk.TaskStartedMessage()
                | sdk.TaskProgressMessage()
                | sdk.TaskNotificationMessage()
                | sdk.TaskUpdatedMessage()
            ):
                yield from self.tasks.feed(message)
            case sdk.SystemMessage():
                yield from self._system(message)
            case sdk.RateLimitEvent(rate_limit_info=info):
                yield _plan_limit(info)
            case sdk.ConversationResetMessage():
                # The message that follows has the id of the new conversation.
                self._is_cleared = True
            case sdk.ResultMessage():
                yield from self.close_message()
                yield self._result(message)

    def was_called(self, tool_use_id: str) -> bool:
        """Whether a call with this id has started, whatever became of it."""
        return tool_use_id in self._called

    def works_for(self, tool_use_id: str) -> Iterator[str]:
        """Yield the calls that an open call works for: itself, then that of its sub-agent, and so on."""
        opened = self.calls.get(tool_use_id)
        while opened is not None:
            yield opened.call.tool_use_id
            opened = self.calls.get(opened.call.parent_tool_use_id or "")

    def waits_for(self) -> tuple[str, str]:
        """What the running query waits for, as in `AgentSilent`."""
        started = [(opened.call.name, self.tasks.of_call(call)) for call, opened in self.calls.items()]
        if tools := [tool_name(name).short for name, subagents in started if not subagents]:
            return "tool", ", ".join(tools)
        if subagents := [name for _, names in started for name in names.values()]:
            return "subagent", ", ".join(subagents)
        return "model", ""

    def task_of(self, task_id: str) -> SubagentTask:
        """What is known of a running sub-agent; its request is the query and what the agent wrote for it."""
        opened = self.calls.get(self.tasks.call_of(task_id) or "")
        if opened is None:
            return SubagentTask(request=self.query)
        call = opened.call
        asked = [str(call.input.get(key) or "") for key in ("description", "prompt")]
        open_calls = sum(each.call.parent_tool_use_id == call.tool_use_id for each in self.calls.values())
        return SubagentTask(
            call=call.tool_use_id,
            request="\n".join([self.query, *asked]),
            started_at=opened.started_at,
            open_calls=open_calls,
        )

    def _stream(self, message: sdk.StreamEvent) -> Iterator[Event]:
        if message.parent_tool_use_id is not None:
            return
        match message.event:
            case {"type": "message_start", "message": dict(started)}:
                yield from self._end_streams()
                message_id = str(started.get("id") or f"message_{self.iteration + 1}")
                self._streamed.add(message_id)
                model = text_in(started, "model")
                opened = _OpenMessage(message_id, model, usage=object_in(started, "usage"))
                yield from self._follow_broken(opened)
                self._open = opened
                self.last_retry = ""
                self.iteration += 1
                self.model = model or self.model
            case {"type": "content_block_start", "index": int(index), "content_block": {"type": "text"}}:
                yield from self._end_streams()
                if index and self._open and self._open.text:
                    yield from self._text("\n\n")
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                yield from self._text(self._answer.feed(clean(text)))
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": str(text)}}:
                yield from self._thought(self._thinking.feed(clean(text)))
            case {"type": "content_block_stop"}:
                yield from self._end_streams()
            case {"type": "message_delta", "delta": dict(delta), **rest}:
                if self._open:
                    self._open.complete = True
                    self._open.stop_reason = str(delta["stop_reason"]) if delta.get("stop_reason") else None
                    self._open.usage.update(object_in(rest, "usage"))
            case {"type": "message_stop"} if self._open is not None and not self._open.complete:
                yield from self._end_streams()
                self._broken, self._open = self._open, None
                self._broke_after = time.monotonic() - self._begun
            case {"type": "message_stop"}:
                yield from self.close_message()

    def _follow_broken(self, opened: _OpenMessage) -> Iterator[Event]:
        """Let a message take the place of the one that broke off, or continue it, as the command line does."""
        broken = self._broken or self._open
        if broken is None:
            pass
        elif self._is_retried:
            # The request was sent again: what came of its first answer counts no more.
            self._broken = self._open = None
            yield MessageFinished(query_id=self.query_id, message_id=broken.message_id, text="")
            yield from self._count_tokens(broken)
        elif self._is_resumed:
            self._broken = self._open = None
            opened.message_id, opened.text = broken.message_id, broken.text
            yield from self._count_tokens(broken)
        else:
            broken.complete = True
            yield from self.close_message()
        self._broke_after = None
        self._continues = broken is not None and self._is_resumed
        self._is_retried = self._is_resumed = False

    def _count_tokens(self, message: _OpenMessage) -> Iterator[Event]:
        # The stream of the main agent reports all tokens.
        yield from self._spent(message.message_id, message.model, usage_of(message.usage))

    def _spent(
        self, message_id: str, model: str, usage: Usage | None, parent: str | None = None
    ) -> Iterator[Event]:
        if usage is not None and usage.total:
            yield TokensSpent(
                query_id=self.query_id,
                message_id=message_id,
                usage=usage,
                model=clean(model),
                cost_usd=self.prices.cost_of(model, usage),
                parent_tool_use_id=parent,
            )

    def _sanitize(self, text: str) -> str:
        return self._redactor.redact(clean(text))

    def _text(self, text: str) -> Iterator[Event]:
        if self._open and text:
            self._open.text.append(text)
            yield TextDelta(query_id=self.query_id, message_id=self._open.message_id, text=text)

    def _thought(self, text: str) -> Iterator[Event]:
        if self._open and text:
            yield ThinkingDelta(query_id=self.query_id, message_id=self._open.message_id, text=text)

    def _end_streams(self) -> Iterator[Event]:
        yield from self._thought(self._thinking.end())
        yield from self._text(self._answer.end())

    def close_message(self) -> Iterator[Event]:
        """End the message that is still streaming, keeping its text."""
        yield from self._thought(self._thinking.end())
        rest = self._answer.end()
        done, self._open, self._broken = self._open or self._broken, None, None
        if done is None:
            return
        done.text.append(rest)
        text = self._redactor.redact("".join(done.text)).strip()
        self.last_text = text or self.last_text
        yield MessageFinished(
            query_id=self.query_id,
            message_id=done.message_id,
            text=text,
            usage=usage_of(done.usage),
            stop_reason=done.stop_reason,
            incomplete=bool(text) and not done.complete,
        )
        yield from self._count_tokens(done)

    def _assistant(self, message: sdk.AssistantMessage) -> Iterator[Event]:
        import claude_agent_sdk as sdk

        parent = self._called.get(message.parent_tool_use_id or "", message.parent_tool_use_id)
        streamed = parent is None and message.message_id in self._streamed
        caller, message_id = message.parent_tool_use_id, message.message_id
        if caller is not None and message_id is not None:
            usage = usage_of_block(message, is_first=self._counted.get(caller) != message_id)
            if usage is not None:
                self._counted[caller] = message_id
            yield from self._spent(message_id, message.model, usage, caller)
        if message.error is None:
            self._retries = 0
        for block in message.content:
            match block:
                case sdk.ToolUseBlock():
                    yield from self._call_started(block, parent)
                case sdk.TextBlock() if not streamed and block.text.strip():
                    text = self._sanitize(block.text).strip()
                    if message.error is not None:
                        # The command line speaks for the model here; the end of the query has the same reason.
                        if parent is None:
                            continue
                        text = describe_failure(text, self._server)
                    self._pieces += 1
                    if parent is None:
                        self.last_text = text
                    yield MessageFinished(
                        query_id=self.query_id,
                        message_id=f"{message.message_id or 'message'}.{self._pieces}",
                        text=text,
                        usage=usage_of(message.usage),
                        stop_reason=message.stop_reason,
                        parent_tool_use_id=parent,
                    )
                case sdk.ThinkingBlock() if not streamed and block.thinking.strip():
                    self._pieces += 1
                    yield ThinkingDelta(
                        query_id=self.query_id,
                        message_id=f"{message.message_id or 'message'}.{self._pieces}",
                        text=self._sanitize(block.thinking),
                        parent_tool_use_id=parent,
                    )
                case _:
                    continue

    def _call_started(self, block: sdk.ToolUseBlock, parent: str | None) -> Iterator[Event]:
        if (opened := self.calls.get(block.id)) is not None:
            if opened.call.input != block.input:
                self.malformed.note("a tool call whose id is in use", block.id)
            return
        tool_use_id = block.id
        if block.id in self._called:
            # Some services number the calls of every message from the beginning.
            tool_use_id = f"{block.id}-{len(self._called)}"
            self.malformed.note("a tool call with the id of an earlier one", block.id)
        self._called |= {block.id: tool_use_id, tool_use_id: tool_use_id}
        call = ToolCall(
            tool_use_id=tool_use_id,
            name=clean(block.name),
            input=block.input,
            query_id=self.query_id,
            query=self.query,
            parent_tool_use_id=parent,
        )
        self.calls[block.id] = OpenCall(call, datetime.now(UTC), time.monotonic())
        yield ToolCallStarted(
            query_id=self.query_id,
            tool_use_id=tool_use_id,
            name=clean(block.name),
            input=self._redactor.redact_value(block.input),
            iteration=max(1, self.iteration),
            parent_tool_use_id=parent,
        )

    def _user(self, message: sdk.UserMessage) -> Iterator[RawResult | SteeringAccepted]:
        import claude_agent_sdk as sdk

        if isinstance(message.content, str):
            if message.uuid:
                yield SteeringAccepted(message.uuid)
            return
        if message.uuid and any(isinstance(block, sdk.TextBlock) for block in message.content):
            # A message with files.
            yield SteeringAccepted(message.uuid)
        results = [block for block in message.content if isinstance(block, sdk.ToolResultBlock)]
        if not results and self._broken is not None and message.parent_tool_use_id is None:
            # The command line asks the model to continue the answer that broke off.
            self._is_resumed = True
        for block in results:
            copy = message.tool_use_result if len(results) == 1 else None
            failed, call = bool(block.is_error), block.tool_use_id
            yield RawResult(block.content, is_error=failed, message_copy=copy, tool_use_id=call)

    def _system(self, message: sdk.SystemMessage) -> Iterator[Event | TurnStarted]:
        data = message.data
        match message.subtype:
            case "init":
                yield TurnStarted()
                self.provider_session_id = data.get("session_id") or self.provider_session_id
                if self._is_cleared and self.provider_session_id is not None:
                    self._is_cleared = False
                    yield ConversationCleared(
                        query_id=self.query_id, provider_session_id=self.provider_session_id
                    )
                self.model = data.get("model") or self.model
                self._servers.report_update(list_in(data, "mcp_servers"))
            case "api_retry":
                reason, detail = self._retry_reason(data)
                self.last_retry = describe_retry(reason, detail)
                self._is_retried = True
                # The command line counts again from 1 after an answer broke off, with the attempts that are left.
                attempt, most = _int(data.get("attempt"), 1), _int(data.get("max_retries"), 0)
                self._retries = max(self._retries + 1, attempt)
                most = self._retries + max(0, most - attempt)
                if reason.startswith(NOT_LISTENING) and is_loopback(self._server):
                    most = min(most, LOCAL_RETRIES)
                yield ApiRetry(
                    attempt=self._retries,
                    max_attempts=most,
                    delay_ms=float(_int(data.get("retry_delay_ms"), 0)),
                    error=reason,
                    detail=detail,
                )
            case "status" if data.get("status") == "compacting":
                yield ContextCompaction(query_id=self.query_id, state="started")
            case "status" if data.get("compact_result") == "failed":
                yield ContextCompaction(query_id=self.query_id, state="failed")
            case "compact_boundary":
                counts = object_in(data, "compact_metadata")
                yield ContextCompaction(
                    query_id=self.query_id,
                    state="finished",
                    trigger=clean(text_in(counts, "trigger")),
                    tokens_before=max(0, _int(counts.get("pre_tokens"), 0)),
                    tokens_after=max(0, _int(counts.get("post_tokens"), 0)),
                )

    def _retry_reason(self, data: JsonObject) -> tuple[str, str]:
        """Why a request is repeated, and what the model's service said."""
        error, cause = (
            clean(str(data.get("error") or data.get("error_status") or "")),
            object_in(data, "cause"),
        )
        if error in {"", "unknown"} and data.get("error_status") is None:
            if (self._broken or self._open) is not None and not self._is_retried:
                return CONNECTION_CLOSED, ""
            refused = value_in(cause, "connection", "code") == "ECONNREFUSED"
            return f"{NOT_LISTENING if refused else NO_CONNECTION}{clean(self._server)}", ""
        # It begins with the status, which the error stands for.
        said = text_in(cause, "formatted").removeprefix(str(data.get("error_status"))).strip()
        return error, clean_line(self._redactor.redact(said), LONGEST_NAME)

    def _result(self, message: sdk.ResultMessage) -> TurnOutcome:
        text = self._sanitize(message.result or "").strip()
        if self._continues:
            text = self.last_text
        reports = model_reports(message.model_usage)
        self.prices.measure(reports)
        aborted = str(message.terminal_reason or "").startswith("aborted")
        status: Literal["success", "error", "interrupted"] = "success"
        error: str | None = None
        if aborted:
            status = "interrupted"
        elif message.is_error or message.subtype != "success":
            status, error = "error", _failure(message, text, self.last_text, self._server)
            if self._broke_after is not None and error != AT_LIMIT:
                error = describe_break(self._broke_after * 1000, error)
        elif self._structured and message.structured_output is None:
            status, error = "error", f"{NOT_FITTING}: the model answered with text only"
        return TurnOutcome(
            status=status,
            text=(text or self.last_text) if status == "success" else self.last_text,
            error=error,
            turns=_int(message.num_turns, 0),
            spending=None if message.total_cost_usd is None else Spending(message.total_cost_usd, reports),
            usage=usage_of(message.usage),
            output=self._redactor.redact_value(message.structured_output),
            context_window=self.prices.window_of(reports, self.model),
        )


def is_ping(message: sdk.Message) -> bool:
    """Whether a message only shows that the connection to the model's service is open."""
    return getattr(message, "event", {}).get("type") == "ping"


def _plan_limit(info: sdk.RateLimitInfo) -> PlanLimit:
    used, reset = info.utilization, _int(info.resets_at, 0)
    return PlanLimit(
        status=clean_line(str(info.status), 40),
        kind=clean_line(str(info.rate_limit_type or ""), 40),
        utilization=float(used) if isinstance(used, int | float) and 0 <= used <= 100 else None,
        resets_at=datetime.fromtimestamp(reset, UTC) if 0 < reset < 1 << 33 else None,
    )


def _failure(message: sdk.ResultMessage, text: str, answer: str, server: str) -> str | None:
    """Why the agent ended a query with an error; None if it did not say so, but repeats its answer."""
    match message.subtype:
        case "error_max_turns":
            return "the agent reached its turn limit; raise max_turns to let it continue"
        case "error_max_budget_usd":
            return AT_LIMIT
        case "error_max_structured_output_retries":
            reason = clean(str(next(iter(message.errors or ()), ""))).rpartition("schema: ")[2]
            return f"{NOT_FITTING}: {reason}" if reason else NOT_FITTING
        case _:
            errors = [clean(str(each)) for each in message.errors or () if each]
            report = "; ".join(each for each in errors if "[ede_diagnostic]" not in each) or text
            if answer and report.strip() in answer:
                return None
            if (description := describe_failure(report, server)) != report:
                log.info("the agent ended with %s", report)
            return description or None


def _int(value: Any, default: int) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < HIGHEST else default
