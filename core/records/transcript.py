"""transcript.md: a session from beginning to end, as Markdown for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import assert_never
from urllib.parse import quote

import msgspec

from ua_tui.core.events.continuation import occasion_of
from ua_tui.core.events.describe import describe_folder
from ua_tui.core.records.digest import CallEntry, MessageEntry, NoteEntry, QueryEntry, SessionRecord

_RUN_OF_TICKS = re.compile(r"`+")


def build_transcript(record: SessionRecord) -> Iterator[str]:
    """Make the transcript of a session part by part; results of tools are in fenced blocks, shortened."""
    before = ""
    for part in _parts(record):
        yield f"{before}{part}\n"
        before = "\n"


def _parts(record: SessionRecord) -> Iterator[str]:
    started = record.started
    yield f"# Session {started.session_id}" if started else "# Session"
    if started is not None:
        demo = ["- Demo: scripted model, no network"] if started.demo else []
        yield "\n".join(
            [
                f"- Started: {started.at.isoformat(timespec='seconds')}",
                f"- Model: {started.model or 'default'}",
                f"- Permissions: {started.permission_mode}",
                *demo,
                *(f"- {each[:1].upper()}{each[1:]}" for each in describe_folder(started)),
            ]
        )
    open_query: QueryEntry | None = None
    for entry in record.entries:
        match entry:
            case QueryEntry():
                if open_query is not None:
                    yield _ending(open_query)
                open_query = entry
                yield from _query(entry)
            case MessageEntry():
                yield _message(entry)
            case CallEntry():
                yield from _call(entry)
            case NoteEntry():
                yield _note(entry)
            case _:
                assert_never(entry)
    if open_query is not None:
        yield _ending(open_query)
    if record.finished is not None:
        yield f"---\n\nSession ended ({record.finished.reason}) at {_time(record.finished.at)}."


def _query(query: QueryEntry) -> Iterator[str]:
    yield f"## {query.iteration}. Query at {_time(query.at)}"
    if occasion := occasion_of(query.text):
        yield f"*Sent automatically by the program: {occasion}.*"
    yield _quoted(query.text)
    if query.decision is not None:
        yield f"*{query.decision}, decided by {query.source}.*"


def _ending(query: QueryEntry) -> str:
    end = query.end
    if end is None:
        return "*This query never ended.*"
    facts = [f"{end.duration_ms / 1000:.1f} s", f"{end.turns} turns", f"{query.tool_calls} tool calls"]
    if end.usage is not None:
        facts.append(f"{end.usage.total} tokens")
    if end.cost_usd is not None:
        facts.append(f"${end.cost_usd:.4f}")
    elif end.unpriced:
        facts.append("cost unknown")
    error = f"\n\n{_fenced(end.error)}" if end.error else ""
    return f"*{end.status.capitalize()}: {', '.join(facts)}.*{error}"


def _message(message: MessageEntry) -> str:
    text = message.text.strip() + ("\n\n*[unfinished]*" if message.unfinished else "")
    return _quoted(text, ">" * message.depth) if message.depth else text


def _call(call: CallEntry) -> Iterator[str]:
    outcome = "no result" if call.status is None else f"{call.status}, {call.duration_ms / 1000:.2f} s"
    nesting = "↳ " * call.depth
    yield f"### {nesting}{_code(call.name)} ({outcome}) at {_time(call.at)}"
    yield _fenced(_pretty(call.input_preview), "json")
    if call.stored_at is not None:
        yield f"Full result: {_link(call.stored_at)}"
    if call.content_preview:
        size = f"{call.content_size} bytes"
        yield f"Result ({size}):\n\n{_fenced(call.content_preview)}"


def _note(note: NoteEntry) -> str:
    files = "".join(f" {_link(path)}" for path in note.files)
    return f"- **{note.kind}**{files} {_code(note.text)}"


def _time(at: datetime) -> str:
    return f"{at.astimezone():%H:%M:%S}"


def _quoted(text: str, mark: str = ">") -> str:
    return "\n".join(f"{mark} {line}".rstrip() for line in text.splitlines() or [""])


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUN_OF_TICKS.findall(text)), default=0)


def _fenced(text: str, language: str = "text") -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """Show any text unchanged, on one line."""
    line = " ".join(text.split())
    ticks = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _link(path: str) -> str:
    return f"[{_code(path)}]({quote(path)})"


def _pretty(json_text: str) -> str:
    try:
        return msgspec.json.format(json_text, indent=2)
    except msgspec.DecodeError:
        return json_text
