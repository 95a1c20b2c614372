"""Writes the trace of a session as a waterfall: a bar for each call, query by query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ua_tui.core.events.units import size
from ua_tui.core.text import clean_line
from ua_tui.tui.export.markup import element, escaped, facts, spoken
from ua_tui.tui.export.records import Call, Export, Query

_UNITS = 1_000
_DEEPEST = 4
_LONGEST = 120
_STATUS = {
    "success": ("✓", "done"),
    "error": ("!", "failed"),
    "denied": ("–", "denied"),
    "cancelled": ("×", "cancelled"),
    "waiting": ("?", "waiting"),
    "blocked": ("–", "blocked"),
    "": ("…", "no end"),
}


def waterfall(export: Export) -> str:
    """The calls of each query on a scale of their own; empty if there are none."""
    queries = {query.number: query for query in export.queries}
    numbers = list(dict.fromkeys(call.query for call in export.calls))
    many = len(numbers) > 1
    return "".join(
        _query(queries.get(number), [call for call in export.calls if call.query == number], many)
        for number in numbers
    )


def _query(query: Query | None, calls: Sequence[Call], many: bool) -> str:
    whole = max([call.offset + call.seconds for call in calls] + ([query.seconds] if query else []))
    heading = ""
    if many and query is not None:
        heading = element("h3", f"{query.number}. {escaped(clean_line(query.text, _LONGEST))}")
    rows = "".join(_row(call, whole or 1.0) for call in calls)
    scale = element(
        "p",
        "<span></span><span>"
        + "".join(f"<span>{escaped(spoken(whole * part))}</span>" for part in (0, 0.25, 0.5, 0.75, 1))
        + "</span>",
        class_="scale",
        aria_hidden="true",
    )
    return f'{heading}{scale}<ol class="calls">{rows}</ol>'


def _row(call: Call, whole: float) -> str:
    glyph, status = _STATUS.get(call.status, ("?", call.status))
    start = min(call.offset / whole, 1.0) * _UNITS
    width = max(min(call.seconds / whole * _UNITS, _UNITS - start), 4.0)
    start = min(start, _UNITS - width)
    bar = (
        f'<svg viewBox="0 0 {_UNITS} 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f'<rect class="lane" width="{_UNITS}" height="10"/>'
        f'<rect class="bar" x="{start:.1f}" width="{width:.1f}" height="10" rx="2"/></svg>'
    )
    name = f"<b>{escaped(call.label or call.name)}</b>"
    about = element("span", escaped(call.about), class_="about") if call.about else ""
    time = element("span", escaped(spoken(call.seconds)), class_="time")
    mark = element("span", f'<span aria-hidden="true">{glyph}</span> {escaped(status)}', class_="status")
    title = element("span", f"{name} {about}", class_="name")
    summary = element("summary", f"{title}{bar}{time}{mark}")
    classes = f"d{min(call.depth, _DEEPEST)} s-{call.status or 'none'}"
    return f'<li class="{classes}"><details>{summary}{"".join(_details(call))}</details></li>'


def _details(call: Call) -> Iterator[str]:
    where = "by a sub-agent" if call.depth else ""
    began = f"began after {spoken(call.offset)}"
    yield element("p", facts([escaped(call.name), began, where]), class_="fine")
    yield f"<h4>Input</h4><pre>{escaped(_pretty(call.input))}</pre>"
    if call.result:
        yield f"<h4>Result ({escaped(size(call.result_size))})</h4><pre>{escaped(call.result)}</pre>"


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
