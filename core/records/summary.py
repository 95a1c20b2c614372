"""summary.txt: what a session did, on one screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ua_tui.core.records.counters import RunMetrics
from ua_tui.core.records.digest import SessionRecord
from ua_tui.core.text import clean_line

_ANSWER = 1_500


def build_summary(record: SessionRecord) -> str:
    """Make the summary of a session, as plain text."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: SessionRecord) -> Iterator[str]:
    started, queries, calls = record.started, record.queries, record.calls
    if started is not None:
        yield f"Session   {started.session_id}{' (demo)' if started.demo else ''}"
        yield f"Started   {started.at.astimezone():%Y-%m-%d %H:%M:%S}"
        yield f"Model     {started.model or 'default'}"
    if record.finished is not None:
        yield f"Ended     {record.finished.at.astimezone():%Y-%m-%d %H:%M:%S} ({record.finished.reason})"
    ends = [query.end for query in queries if query.end is not None]
    costs = [end.cost_usd for end in ends if end.cost_usd is not None]
    unpriced = dict.fromkeys(clean_line(model, 100) for end in ends for model in end.unpriced)
    if unpriced:
        yield f"Cost      unknown (no price is set for {', '.join(unpriced)})"
    elif costs:
        yield f"Cost      ${sum(costs):.4f}"
    tokens = sum(end.usage.total for end in ends if end.usage is not None)
    if tokens:
        yield f"Tokens    {tokens}"

    yield from ("", f"Queries ({len(queries)})")
    for query in queries:
        end = query.end
        ended = "never ended" if end is None else f"{end.status} in {end.duration_ms / 1000:.1f} s"
        path = f", {query.decision}" if query.decision else ""
        yield f"  {query.iteration}. {clean_line(query.text, 100)}"
        yield f"     {ended}{path}, {query.tool_calls} tool calls"
        if end is not None and end.error:
            yield f"     {clean_line(end.error, 200)}"

    if calls:
        yield from ("", f"Tool calls ({len(calls)})")
        failed = Counter(call.name for call in calls if call.is_error)
        for name, count in Counter(call.name for call in calls).most_common():
            seconds = sum(call.duration_ms for call in calls if call.name == name) / 1000
            errors = f", {failed[name]} failed" if failed[name] else ""
            yield f"  {count:4d} x {clean_line(name, 80)} ({seconds:.1f} s{errors})"

    if record.observers:
        yield from ("", f"Observers ({len(record.observers)})", *_table(record.observers))

    titles = {"Artifacts": "artifact", "Checks": "check", "Compliance": "compliance", "Errors": "error"}
    for title, kind in titles.items():
        notes = record.notes(kind)
        if notes:
            yield from ("", f"{title} ({len(notes)})")
            for note in notes:
                yield "  " + clean_line("  ".join([*note.files, note.text]), 200)

    answer = next((end.text for end in reversed(ends) if end.text.strip()), "")
    if answer:
        yield from ("", "Answer", *_indented(answer))


def _table(observers: Mapping[str, RunMetrics]) -> Iterator[str]:
    """A header and a line per observer, numbers aligned under their titles."""
    head = ("runs", "saved", "skipped", "failed", "items", "p50", "p95")
    rows: list[tuple[str, ...]] = [("", *head)]
    for name, each in observers.items():
        counts = (each.runs, each.saved, each.skipped, each.failed, each.items)
        rows.append((name, *map(str, counts), _time(each.p50_ms), _time(each.p95_ms)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        numbers = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        yield "  " + "  ".join([f"{name:<{widths[0]}}", *numbers])


def _time(milliseconds: float) -> str:
    return f"{milliseconds:.1f} ms" if milliseconds else "-"


def _indented(answer: str) -> Iterator[str]:
    shown = answer.strip()[:_ANSWER]
    for line in shown.splitlines():
        yield f"  {line}".rstrip()
    if len(answer.strip()) > _ANSWER:
        yield "  [… the full answer is in transcript.md …]"
