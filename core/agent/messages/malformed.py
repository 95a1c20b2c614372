"""Checks the raw messages of the Claude Code CLI: whatever has the wrong type is dropped and counted."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from ua_tui.core.events.units import quantity
from ua_tui.core.json_values import JsonObject, value_in
from ua_tui.core.log import log
from ua_tui.core.text import clean_line

_LOGGED = 50
Message = JsonObject
"""A message of the command line, as it is in JSON."""
_Id = Annotated[str, Meta(min_length=1)]
_Number = Annotated[float, Meta(ge=0, lt=1 << 53)]


class MalformedMessages(msgspec.Struct, eq=False):
    """Counts what was malformed since the last report, and logs the first of it in detail."""

    _count: int = 0

    def note(self, problem: str, sample: object = "") -> None:
        """Count a message; `sample` is what was wrong in it."""
        self._count += 1
        if self._count <= _LOGGED:
            shown = sample if isinstance(sample, str) else repr(sample)
            log.warning("malformed message of the agent: %s: %s", problem, clean_line(shown))

    def pop_report(self) -> str | None:
        """Return the report of what was counted since the last one; None if there was nothing."""
        count, self._count = self._count, 0
        if not count:
            return None
        if count > _LOGGED:
            log.warning("%d more malformed messages are not listed", count - _LOGGED)
        were = "was" if count == 1 else "were"
        return (
            f"{quantity(count, 'message')} from the agent {were} malformed; what could be read is kept. "
            "Details are in run.log."
        )


class _Message(Struct, kw_only=True):
    parent_tool_use_id: str | None = None
    uuid: str | None = None
    session_id: str | None = None


class _Written(Struct):
    content: str | list[Any]
    model: str = ""
    id: str | None = None
    usage: JsonObject | None = None
    stop_reason: str | None = None


class _Conversation(_Message, kw_only=True):
    message: _Written
    error: str | None = None


class _Stream(_Message, kw_only=True):
    event: JsonObject


class _Result(_Message, kw_only=True):
    subtype: str
    is_error: bool
    num_turns: _Number
    result: str | None = None
    errors: list[Any] | None = None
    total_cost_usd: _Number | None = None
    usage: JsonObject | None = None
    modelUsage: JsonObject | None = None
    terminal_reason: str | None = None


class _System(_Message, kw_only=True):
    subtype: str
    model: str | None = None
    mcp_servers: list[Any] | None = None


class _Task(_System, kw_only=True):
    task_id: _Id
    tool_use_id: str | None = None
    description: str = ""
    task_type: str | None = None
    status: str | None = None
    patch: JsonObject | None = None


class _Limit(Struct):
    rate_limit_info: JsonObject


class _Request(Struct):
    subtype: str


class _ControlRequest(Struct):
    request_id: _Id
    request: _Request


class _Reply(Struct):
    request_id: str


class _ControlReply(Struct):
    response: _Reply


class _Cancel(Struct):
    request_id: _Id


class _Text(Struct):
    text: str


class _Thinking(Struct):
    thinking: str
    signature: str


class _ToolUse(Struct):
    id: _Id
    name: _Id
    input: JsonObject


class _ToolResult(Struct):
    tool_use_id: _Id
    is_error: bool | None = None


_SHAPES: dict[str, type[Struct]] = {
    "user": _Conversation,
    "assistant": _Conversation,
    "stream_event": _Stream,
    "result": _Result,
    "system": _System,
    "rate_limit_event": _Limit,
    "control_request": _ControlRequest,
    "control_response": _ControlReply,
    "control_cancel_request": _Cancel,
}
_BLOCKS: dict[str, type[Struct]] = {
    "text": _Text,
    "thinking": _Thinking,
    "tool_use": _ToolUse,
    "server_tool_use": _ToolUse,
    "tool_result": _ToolResult,
}
_TASKS = frozenset({"task_started", "task_progress", "task_notification", "task_updated"})
# The SDK uses these two for itself.
_RESERVED = frozenset({"end", "error"})


def usable_message(raw: Any, malformed: MalformedMessages) -> Message | None:
    """Return a message without its unusable blocks; None if nothing of it can be used.

    Nothing but a result ends a query: one that is damaged becomes an error. A message of an unknown type is returned
    as it is, as later versions of the command line may send new ones.
    """
    from claude_agent_sdk import ClaudeSDKError
    from claude_agent_sdk._internal.message_parser import parse_message

    kind = value_in(raw, "type")
    if not isinstance(kind, str) or kind in _RESERVED:
        malformed.note("a message without a usable type", raw)
        return None
    try:
        if kind in {"user", "assistant"} and isinstance(content := raw["message"]["content"], list):
            usable = [each for each in content if _is_usable(each, malformed)]
            raw = {**raw, "message": {**raw["message"], "content": usable}}
        msgspec.convert(raw, _Task if raw.get("subtype") in _TASKS else _SHAPES.get(kind, Any))
        if not kind.startswith("control_"):
            parse_message(raw)
    except (msgspec.ValidationError, ClaudeSDKError, TypeError, AttributeError, KeyError) as error:
        malformed.note(f"{kind}: {error}", raw)
        return lost_result() if kind == "result" else None
    return dict(raw)


def lost_result() -> Message:
    """The result of a query whose own cannot be read."""
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "session_id": "",
    }


def _is_usable(block: Any, malformed: MalformedMessages) -> bool:
    try:
        msgspec.convert(block, Message)
        msgspec.convert(block, _BLOCKS.get(block["type"], Any))
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        malformed.note(f"a block of a message: {error}", block)
        return False
    return True
