"""trace.json: what a session called, what came back and when, for programs and for old tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ua_tui.core.events.types import Usage
from ua_tui.core.records.digest import CallEntry, QueryEntry, SessionRecord


@dataclass(frozen=True, kw_only=True)
class TraceInfo:
    """Facts in the trace that are in no event of the session."""

    url: str | None = None
    user_id: str | None = None
    logfire_enabled: bool = False
    trace_id: str | None = None


def build_trace(record: SessionRecord, info: TraceInfo) -> dict[str, Any]:
    """Make the trace of a session.

    The lists are iterators, as a long session has many entries: `Workspace.write_json_members` writes them. Every time
    offset is in seconds from the session's first query. An iteration is one query, counted
    over the whole session; the `iteration` of a tool call names the one it belongs to.
    """
    queries, calls = record.queries, record.calls
    first = queries[0] if queries else None
    last = queries[-1] if queries else None
    end = record.last_at if last is None or last.end is None else last.end.at
    end_offset = record.last_offset if last is None or last.ended_offset is None else last.ended_offset
    usage = sum((query.end.usage or Usage() for query in queries if query.end is not None), Usage())
    return {
        "session_info": {
            "url": info.url,
            "user_id": info.user_id,
            "timestamp": record.started.at.isoformat() if record.started else None,
        },
        "query": first.text if first else None,
        "start_time": first.at.isoformat() if first else None,
        "end_time": end.isoformat() if first and end else None,
        "total_duration_seconds": round(end_offset, 3) if first else None,
        "tool_calls": map(_call, calls),
        "tool_results": (
            _result(call) for call in sorted(calls, key=lambda call: call.ended_offset or 0.0) if call.status
        ),
        "iterations": (_iteration(query, record.last_offset) for query in queries),
        "token_usage": {"input": usage.read, "output": usage.output_tokens, "total": usage.total},
        "logfire_enabled": info.logfire_enabled,
        "trace_id": info.trace_id,
    }


def _call(call: CallEntry) -> dict[str, Any]:
    return {
        "iteration": call.iteration,
        "name": call.name,
        "id": call.tool_use_id,
        "time_offset_seconds": round(call.offset, 3),
        "input_size_bytes": call.input_size,
        "input_preview": call.input_preview,
    }


def _result(call: CallEntry) -> dict[str, Any]:
    return {
        "tool_use_id": call.tool_use_id,
        "time_offset_seconds": round(call.ended_offset or 0.0, 3),
        "is_error": call.is_error,
        "content_size_bytes": call.content_size,
        "content_preview": call.content_preview,
    }


def _iteration(query: QueryEntry, last_offset: float) -> dict[str, Any]:
    # A query without an end was cut off by a crash: it lasted until the last event.
    duration = last_offset - query.offset if query.end is None else query.end.duration_ms / 1000
    return {
        "iteration": query.iteration,
        "query": query.text,
        "duration_seconds": round(duration, 3),
        "tool_calls": query.tool_calls,
        "needs_user_input": query.needs_user_input,
        "auth_link": query.auth_link,
    }
