"""The files derived from the view of a session: trace.json, transcript.md and summary.txt, written after each query."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from urllib.parse import quote

import msgspec

from ua_tui.core.concurrency.threads import Schedule, in_loop
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.continuation import occasion_of
from ua_tui.core.events.describe import describe_folder
from ua_tui.core.events.types import Event, QueryFinished, SessionFinished, Usage
from ua_tui.core.json_values import JsonObject
from ua_tui.core.log import log
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line
from ua_tui.core.view.records import Call, Message, Note, ObserverRuns, Query
from ua_tui.core.view.session import SessionView

_ANSWER = 1_500
_RUN_OF_TICKS = re.compile(r"`+")


class TraceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts in the trace that are in no event of the session."""

    url: str | None = None
    user_id: str | None = None
    logfire_enabled: bool = False
    trace_id: str | None = None


def build_trace(view: SessionView, info: TraceInfo) -> JsonObject:
    """Make the trace of a session.

    The lists are iterators, as a long session has many entries: `Workspace.write_json_members` writes them. Every time
    offset is in seconds from the session's first query. An iteration is one query, counted
    over the whole session; the `iteration` of a tool call names the one it belongs to.
    """
    queries, calls = view.queries, view.calls
    first = queries[0] if queries else None
    last = queries[-1] if queries else None
    end = view.last_at if last is None or last.end is None else last.end.at
    end_offset = view.last_offset if last is None or last.ended_offset is None else last.ended_offset
    usage = sum((query.end.usage or Usage() for query in queries if query.end is not None), Usage())
    return {
        "session_info": {
            "url": info.url,
            "user_id": info.user_id,
            "timestamp": view.started.at.isoformat() if view.started else None,
        },
        "query": first.text if first else None,
        "start_time": first.at.isoformat() if first else None,
        "end_time": end.isoformat() if first and end else None,
        "total_duration_seconds": round(end_offset, 3) if first else None,
        "tool_calls": (
            {
                "iteration": call.number,
                "name": call.name,
                "id": call.id,
                "time_offset_seconds": round(call.offset, 3),
                "input_size_bytes": call.input_size,
                "input_preview": call.input_preview,
            }
            for call in calls
        ),
        "tool_results": (
            {
                "tool_use_id": call.id,
                "time_offset_seconds": round(call.ended_offset or 0.0, 3),
                "is_error": call.is_error,
                "content_size_bytes": call.result_size,
                "content_preview": call.result_preview,
            }
            for call in sorted(calls, key=lambda call: call.ended_offset or 0.0)
            if call.status
        ),
        "iterations": (_iteration(query, view.last_offset) for query in queries),
        "token_usage": {"input": usage.read, "output": usage.output_tokens, "total": usage.total},
        "logfire_enabled": info.logfire_enabled,
        "trace_id": info.trace_id,
    }


def _iteration(query: Query, last_offset: float) -> JsonObject:
    # A query without an end was cut off by a crash: it lasted until the last event.
    duration = last_offset - query.offset if query.end is None else query.end.duration_ms / 1000
    return {
        "iteration": query.number,
        "query": query.text,
        "duration_seconds": round(duration, 3),
        "tool_calls": query.calls,
        "needs_user_input": query.needs_person,
        "auth_link": query.auth_link,
        **({"undone": True} if query.undone else {}),
    }


def build_transcript(view: SessionView) -> Iterator[str]:
    """Make the transcript of a session part by part; results of tools are in fenced blocks, shortened."""
    before = ""
    for part in _parts(view):
        yield f"{before}{part}\n"
        before = "\n"


def _parts(view: SessionView) -> Iterator[str]:
    started = view.started
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
    open_query: Query | None = None
    for entry in view.entries.values():
        match entry:
            case Query():
                if open_query is not None:
                    yield _ending(open_query)
                open_query = entry
                yield from _query(entry)
            case Message():
                text = entry.text.strip() + ("\n\n*[unfinished]*" if entry.unfinished else "")
                yield _quoted(text, ">" * entry.depth) if entry.depth else text
            case Call():
                yield from _call(entry)
            case Note():
                files = "".join(f" {_link(path)}" for path in entry.files)
                yield f"- **{entry.kind}**{files} {_code(entry.text)}"
    if open_query is not None:
        yield _ending(open_query)
    if view.finished is not None:
        yield f"---\n\nSession ended ({view.finished.reason}) at {_time(view.finished.at)}."


def _query(query: Query) -> Iterator[str]:
    yield f"## {query.number}. Query at {_time(query.at)}{' (undone)' if query.undone else ''}"
    if occasion := occasion_of(query.text):
        yield f"*Sent automatically by the program: {occasion}.*"
    yield _quoted(query.text)
    if query.decision is not None:
        answer = "Direct answer" if query.decision == "SIMPLE" else "Full agent"
        yield f"*{answer}, chosen by {'a rule' if query.source == 'rule' else query.source}.*"


def _ending(query: Query) -> str:
    end = query.end
    if end is None:
        return "*This query did not finish.*"
    facts = [f"{end.duration_ms / 1000:.1f} s", f"{end.turns} turns", f"{query.calls} tool calls"]
    if end.usage is not None:
        facts.append(f"{end.usage.total} tokens")
    if end.cost_usd is not None:
        facts.append(f"${end.cost_usd:.4f}")
    elif end.unpriced:
        facts.append("cost unknown")
    error = f"\n\n{fenced(end.error)}" if end.error else ""
    return f"*{end.status.capitalize()}: {', '.join(facts)}.*{error}"


def _call(call: Call) -> Iterator[str]:
    outcome = "no result" if call.status is None else f"{call.status}, {call.duration_ms / 1000:.2f} s"
    nesting = "↳ " * call.depth
    yield f"### {nesting}{_code(call.label)} ({outcome}) at {_time(call.at)}"
    yield fenced(pretty_json(call.input_preview), "json")
    if call.stored_at is not None:
        yield f"Full result: {_link(call.stored_at)}"
    if call.result_preview:
        size = f"{call.result_size} bytes"
        yield f"Result ({size}):\n\n{fenced(call.result_preview)}"


def _time(at: datetime) -> str:
    return f"{at.astimezone():%H:%M:%S}"


def _quoted(text: str, mark: str = ">") -> str:
    return "\n".join(f"{mark} {line}".rstrip() for line in text.splitlines() or [""])


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUN_OF_TICKS.findall(text)), default=0)


def fenced(text: str, language: str = "text") -> str:
    """Write a text as a block of code, so that nothing of it is markup."""
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


def pretty_json(json_text: str) -> str:
    """Indent a text of JSON; any other text is unchanged."""
    try:
        return msgspec.json.format(json_text, indent=2)
    except msgspec.DecodeError:
        return json_text


def build_summary(view: SessionView) -> str:
    """Make the summary of a session, as plain text."""
    return "\n".join(_summary_lines(view)) + "\n"


def _summary_lines(view: SessionView) -> Iterator[str]:
    started, queries, calls = view.started, view.queries, view.calls
    if started is not None:
        yield f"Session   {started.session_id}{' (demo)' if started.demo else ''}"
        yield f"Started   {started.at.astimezone():%Y-%m-%d %H:%M:%S}"
        yield f"Model     {started.model or 'default'}"
    if view.finished is not None:
        yield f"Ended     {view.finished.at.astimezone():%Y-%m-%d %H:%M:%S} ({view.finished.reason})"
    ends = [query.end for query in queries if query.end is not None]
    unpriced = dict.fromkeys(clean_line(model, 100) for end in ends for model in end.unpriced)
    if unpriced:
        yield f"Cost      unknown (no price is set for {', '.join(unpriced)})"
    elif view.costs.spent is not None:
        yield f"Cost      ${view.costs.spent:.4f}"
    tokens = sum(end.usage.total for end in ends if end.usage is not None)
    if tokens:
        yield f"Tokens    {tokens}"

    yield from ("", f"Queries ({len(queries)})")
    for query in queries:
        end = query.end
        ended = "did not finish" if end is None else f"{end.status} in {end.duration_ms / 1000:.1f} s"
        path = f", {query.decision}" if query.decision else ""
        yield f"  {query.number}. {clean_line(query.text, 100)}"
        yield f"     {'undone, ' if query.undone else ''}{ended}{path}, {query.calls} tool calls"
        if end is not None and end.error:
            yield f"     {clean_line(end.error, 200)}"

    if calls:
        yield from ("", f"Tool calls ({len(calls)})")
        failed = Counter(call.name for call in calls if call.is_error)
        for name, count in Counter(call.name for call in calls).most_common():
            seconds = sum(call.duration_ms for call in calls if call.name == name) / 1000
            errors = f", {failed[name]} failed" if failed[name] else ""
            yield f"  {count:4d} x {clean_line(name, 80)} ({seconds:.1f} s{errors})"

    if view.observers:
        yield from ("", f"Observers ({len(view.observers)})", *_table(view.observers))

    titles = {"Artifacts": "artifact", "Checks": "check", "Compliance": "compliance", "Errors": "error"}
    for title, kind in titles.items():
        notes = view.notes(kind)
        if notes:
            yield from ("", f"{title} ({len(notes)})")
            for note in notes:
                yield "  " + clean_line("  ".join([*note.files, note.text]), 200)

    answer = next((end.text for end in reversed(ends) if end.text.strip()), "")
    if answer:
        yield from ("", "Answer", *_indented(answer))


def _table(observers: Mapping[str, ObserverRuns]) -> Iterator[str]:
    """A header and a line per observer, numbers aligned under their titles."""
    head = ("runs", "saved", "skipped", "failed", "items", "p50", "p95")
    rows: list[tuple[str, ...]] = [("", *head)]
    for name, each in observers.items():
        counts = (each.runs, each.saved, each.skipped, each.failed, each.items)
        rows.append((name, *map(str, counts), _milliseconds(each.p50_ms), _milliseconds(each.p95_ms)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        numbers = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        yield "  " + "  ".join([f"{name:<{widths[0]}}", *numbers])


def _milliseconds(milliseconds: float) -> str:
    return f"{milliseconds:.1f} ms" if milliseconds else "-"


def _indented(answer: str) -> Iterator[str]:
    shown = answer.strip()[:_ANSWER]
    for line in shown.splitlines():
        yield f"  {line}".rstrip()
    if len(answer.strip()) > _ANSWER:
        yield "  [… the full answer is in transcript.md …]"


TRACE = "trace.json"
TRANSCRIPT = "transcript.md"
SUMMARY = "summary.txt"


class DerivedFiles:
    """Writes the derived files at the end of each query and of the session; a subscriber of the bus.

    Collecting events is cheap and done as they happen; a thread builds and writes the files, and one write serves all
    requests made in the meantime. In a session of hundreds of queries a write takes a tenth of a second, so that the
    next one waits for `interval` seconds. If a write fails, the old files stay unchanged.

    Args:
        workspace: where the files go.
        info: returns what no event has; called for each write.
        on_failure: called once when the files cannot be written, until they can be written again.
        view: has the earlier events of a resumed session.
        interval: the seconds between two writes; the end of the session does not wait for them.
    """

    def __init__(
        self,
        workspace: Workspace,
        info: Callable[[], TraceInfo] = TraceInfo,
        *,
        on_failure: Callable[[WorkspaceError], object] = lambda _error: None,
        view: SessionView | None = None,
        interval: float = 2.0,
    ) -> None:
        self._workspace = workspace
        self._info = info
        self._on_failure = in_loop(on_failure)
        self._failing = False
        self.view = view or SessionView(workspace.redactor, workspace.root)
        self.view.follow_clock(time.monotonic, time.time())
        self._latest: tuple[SessionView, TraceInfo] | None = None
        self._writer = Schedule("derived files", interval)

    def __call__(self, event: Event) -> None:
        """Handle one event of the bus."""
        self.view.add(event)
        if isinstance(event, (QueryFinished, SessionFinished)):
            self.request()

    def request(self) -> None:
        """Request that the files are written with the current state."""
        self._latest = (self.view.then(()), self._info())
        self._writer.plan(self._write_latest)

    async def drain(self, deadline: float = 5.0) -> bool:
        """Wait until the files are written; False if `deadline` seconds were not enough."""
        return await asyncio.to_thread(self._writer.finish, deadline)

    def _write_latest(self) -> None:
        latest = self._latest
        if latest is None:
            return
        try:
            write_derived(self._workspace, *latest)
            self._failing = False
        except WorkspaceError as error:
            log.warning("the derived files could not be written: %s", error)
            failed_before, self._failing = self._failing, True
            if not failed_before:
                self._on_failure(error)


def write_derived(workspace: Workspace, view: SessionView, info: TraceInfo) -> None:
    """Write the three files, each completely or not at all.

    Raises:
        WorkspaceError: one of them cannot be written.
    """
    workspace.write_json_members(TRACE, build_trace(view, info))
    workspace.write_parts(TRANSCRIPT, build_transcript(view))
    workspace.write(SUMMARY, build_summary(view))
