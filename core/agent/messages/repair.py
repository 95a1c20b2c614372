"""Checks the raw messages of the command line: every field that is used has its type, or the message is dropped.

A field of the wrong type gets its default value; only a message or a block without its essential fields is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

UNNAMED_TOOL = "unnamed_tool"
"""The name of a tool call whose message has none."""

Note = Callable[[str, object], None]


class _Field(NamedTuple):
    """A field: its types, what replaces a wrong value, and whether the SDK needs it to be there."""

    types: tuple[type, ...]
    default: Any = None
    needed: bool = False


_ESSENTIAL = object()
_TEXT = _Field((str,))
_OBJECT = _Field((dict,))
_LIST = _Field((list,))
_NUMBER = _Field((int, float))
_NEEDED_TEXT = _Field((str,), "", needed=True)
_NEEDED_COUNT = _Field((int, float), 0, needed=True)
_ID = _Field((str,), _ESSENTIAL, needed=True)
_COMMON: Mapping[str, _Field] = {"parent_tool_use_id": _TEXT, "uuid": _TEXT, "session_id": _TEXT}

_MESSAGES: Mapping[str, Mapping[str, _Field]] = {
    "user": {**_COMMON, "message": _Field((dict,), _ESSENTIAL, needed=True)},
    "assistant": {**_COMMON, "message": _Field((dict,), _ESSENTIAL, needed=True), "error": _TEXT},
    "stream_event": {
        **_COMMON,
        "uuid": _NEEDED_TEXT,
        "session_id": _NEEDED_TEXT,
        "event": _Field((dict,), _ESSENTIAL, needed=True),
    },
    "result": {
        **_COMMON,
        "subtype": _Field((str,), "error_during_execution", needed=True),
        "is_error": _Field((bool,), default=True, needed=True),
        "duration_ms": _NEEDED_COUNT,
        "duration_api_ms": _NEEDED_COUNT,
        "num_turns": _NEEDED_COUNT,
        "session_id": _NEEDED_TEXT,
        "result": _TEXT,
        "errors": _LIST,
        "total_cost_usd": _NUMBER,
        "usage": _OBJECT,
        "modelUsage": _OBJECT,
        "terminal_reason": _TEXT,
        "stop_reason": _TEXT,
    },
    "system": {**_COMMON, "subtype": _ID},
    "rate_limit_event": {
        "uuid": _NEEDED_TEXT,
        "session_id": _NEEDED_TEXT,
        "rate_limit_info": _Field((dict,), _ESSENTIAL, needed=True),
    },
    "conversation_reset": {"new_conversation_id": _ID, "uuid": _NEEDED_TEXT, "session_id": _NEEDED_TEXT},
    "control_request": {"request_id": _ID, "request": _Field((dict,), _ESSENTIAL, needed=True)},
    "control_response": {"response": _Field((dict,), _ESSENTIAL, needed=True)},
    "control_cancel_request": {"request_id": _ID},
}

_TASK = {"task_id": _ID, "tool_use_id": _TEXT, "uuid": _NEEDED_TEXT, "session_id": _NEEDED_TEXT}
_DESCRIBED = {**_TASK, "description": _NEEDED_TEXT}
_SYSTEM: Mapping[str, Mapping[str, _Field]] = {
    "init": {"model": _TEXT, "mcp_servers": _LIST},
    "task_started": {**_DESCRIBED, "task_type": _TEXT, "subagent_type": _TEXT},
    "task_progress": {**_DESCRIBED, "usage": _Field((dict,), {}, needed=True)},
    "task_notification": {
        **_TASK,
        "status": _Field((str,), "failed", needed=True),
        "output_file": _NEEDED_TEXT,
        "summary": _NEEDED_TEXT,
        "usage": _OBJECT,
    },
    "task_updated": {"task_id": _ID, "patch": _OBJECT},
}

_BLOCKS: Mapping[str, Mapping[str, _Field]] = {
    "text": {"text": _ID},
    "thinking": {"thinking": _ID, "signature": _NEEDED_TEXT},
    "tool_use": {
        "id": _ID,
        "name": _Field((str,), UNNAMED_TOOL, needed=True),
        "input": _Field((dict,), {}, needed=True),
    },
    "tool_result": {"tool_use_id": _ID, "is_error": _Field((bool,))},
    "server_tool_use": {"id": _ID, "name": _NEEDED_TEXT, "input": _Field((dict,), {}, needed=True)},
    "advisor_tool_result": {"tool_use_id": _ID, "content": _Field((dict,), {}, needed=True)},
}
_MAY_BE_EMPTY = frozenset({"text", "thinking"})


def repair(raw: Any, note: Note) -> dict[str, Any] | None:
    """Return a message whose used fields have their types; None if nothing of it can be used.

    `note` is called with each problem and what was found. A message of an unknown type is returned as it is, as later
    versions of the command line may send new ones.
    """
    if not isinstance(raw, dict) or not isinstance(kind := raw.get("type"), str) or not kind:
        note("a message without a type", raw)
        return None
    if kind in ("end", "error"):
        # The SDK uses these two for itself.
        note(f"a message of the type {kind}", raw)
        return None
    message = _fixed(raw, _MESSAGES.get(kind, {}), note, kind)
    if message is None:
        return None
    match kind:
        case "assistant" | "user":
            return _with_content(message, note, kind)
        case "system":
            return _fixed(message, _SYSTEM.get(message["subtype"], {}), note, message["subtype"])
        case "control_request":
            return message if _has(message["request"], "subtype", note, kind) else None
        case "control_response":
            return message if _has(message["response"], "request_id", note, kind) else None
        case "rate_limit_event":
            return message if _has(message["rate_limit_info"], "status", note, kind) else None
        case "result":
            return _result(raw, message)
        case _:
            return message


def _fixed(
    raw: Mapping[str, Any], fields: Mapping[str, _Field], note: Note, kind: str
) -> dict[str, Any] | None:
    """Replace the fields of the wrong type; None if an essential one is missing."""
    fixed = dict(raw)
    for name, field in fields.items():
        value = raw.get(name)
        if value is None and not field.needed:
            continue
        empty = value == "" and field.default in (_ESSENTIAL, UNNAMED_TOOL) and name not in _MAY_BE_EMPTY
        if _is_of(value, field.types) and not empty:
            continue
        note(f"{kind} with {name} {'missing' if name not in raw else 'of the wrong type'}", value)
        if field.default is _ESSENTIAL:
            return None
        fixed[name] = field.default
    return fixed


def _is_of(value: Any, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types) and not (isinstance(value, float) and not math.isfinite(value))


def _with_content(message: dict[str, Any], note: Note, kind: str) -> dict[str, Any] | None:
    inner = dict(message["message"])
    content = inner.get("content")
    if kind == "user" and isinstance(content, str):
        return message
    if not isinstance(content, list):
        note(f"{kind} without content", content)
        return None
    blocks = [_block(each, note) for each in content]
    inner["content"] = [each for each in blocks if each is not None]
    if kind == "assistant":
        fields = {"model": _NEEDED_TEXT, "id": _TEXT, "usage": _OBJECT, "stop_reason": _TEXT}
        inner = _fixed(inner, fields, note, kind) or {}
    return {**message, "message": inner}


def _block(raw: Any, note: Note) -> dict[str, Any] | None:
    if not isinstance(raw, dict) or not isinstance(kind := raw.get("type"), str):
        note("a block without a type", raw)
        return None
    return _fixed(raw, _BLOCKS.get(kind, {}), note, kind)


def _result(raw: Mapping[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    """A result without a usable `is_error` or `subtype`: one shows what the other must be."""
    message.pop("deferred_tool_use", None)
    if not isinstance(raw.get("is_error"), bool):
        message["is_error"] = message["subtype"] != "success"
    elif not isinstance(raw.get("subtype"), str) and not message["is_error"]:
        message["subtype"] = "success"
    return message


def _has(inner: Mapping[str, Any], name: str, note: Note, kind: str) -> bool:
    if isinstance(inner.get(name), str):
        return True
    note(f"{kind} without {name}", inner)
    return False
