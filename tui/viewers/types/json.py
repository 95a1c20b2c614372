"""JSON as a tree that folds."""

from __future__ import annotations

import re

from ua_tui.core.events.units import quantity
from ua_tui.tui.viewers.bodies.json_text import complete_json, json_body, style_json_line
from ua_tui.tui.viewers.bodies.json_tree import JsonTree
from ua_tui.tui.viewers.bodies.json_values import Value, open_level
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import FULL_LIMIT, LARGE_LIMIT, Sample, View, Viewer

_TEXT = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?=\S)")


def _accepts(sample: Sample) -> bool:
    if sample.suffix in {".json", ".geojson", ".webmanifest"}:
        return True
    return not sample.suffix and sample.data[:64].lstrip()[:1] in {b"{", b"["}


def _view(sample: Sample) -> View:
    raw = TextBody(sample.beginning, style=style_json_line)
    text = _TEXT.match(sample.data)
    if text is None:
        return View("JSON", raw, notice="This file is empty.")
    data: Value = memoryview(sample.data)[text.end() :]
    notice = None
    if not sample.complete:
        data = complete_json(bytes(data))
        notice = "The tree contains only the beginning of this file."
    level = open_level(data)
    if level is None:
        # A single string of megabytes would be formatted in one step, which blocks every other thread.
        return View("JSON", raw, json_body(bytes(data)) if len(data) <= FULL_LIMIT else None)
    word = "item" if level[0] is None else "key"
    facts = (f"{'at least ' if notice else ''}{quantity(len(level[1]), word)}",)
    return View("JSON", raw, JsonTree(level), facts, notice, all_rendered=sample.complete)


VIEWER = Viewer("JSON", _accepts, _view, limit=LARGE_LIMIT)
