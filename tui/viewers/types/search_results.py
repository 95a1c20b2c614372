"""Artifacts of search results as a table, with the text of the selected result below."""

from __future__ import annotations

from ua_tui.core.events.units import quantity
from ua_tui.tui.viewers.articles.results import LISTS, hits_in, results_table
from ua_tui.tui.viewers.bodies.json_text import complete_json, style_json_line
from ua_tui.tui.viewers.bodies.json_values import members_of
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import Declined, Sample, View, Viewer

_MAX_BYTES = 16 * 1024 * 1024
_PREVIEWED = 1024 * 1024


def _view(sample: Sample) -> View:
    data = sample.data.removeprefix(b"\xef\xbb\xbf")
    value = members_of(data if sample.complete else complete_json(data), LISTS)
    hits = hits_in(value)
    if value is None or hits is None:
        raise Declined
    count = quantity(len(hits), "result")
    more = [] if sample.complete else [(f"… The first {count}; the file has more.", "warn")]
    raw = TextBody(sample.beginning, style=style_json_line)
    facts = (count if sample.complete else f"at least {count}",)
    table = results_table(value, hits, *more)
    return View("Search results", raw, table, facts, all_rendered=sample.complete)


def _accepts(sample: Sample) -> bool:
    if sample.suffix != ".json":
        return False
    return any(f'"{key}"'.encode() in sample.data for key in LISTS)


VIEWER = Viewer("search results", _accepts, _view, priority=60, limit=_MAX_BYTES, preview_limit=_PREVIEWED)
