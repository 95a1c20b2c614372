"""JSON and JSON Lines: similar records as a table, anything else as a tree that folds."""

from __future__ import annotations

import re

import msgspec

from ua_tui.core.events.units import quantity
from ua_tui.tui.viewers.bodies.json_text import json_body, style_json_line
from ua_tui.tui.viewers.bodies.json_tree import JsonTree
from ua_tui.tui.viewers.bodies.json_values import Value, open_level
from ua_tui.tui.viewers.bodies.record_table import record_table
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import FULL_LIMIT, LARGE_LIMIT, Sample, View, Viewer


def _view_json_lines(sample: Sample) -> View:
    raw = TextBody(sample.beginning, style=style_json_line, numbers=True)
    # Unless the file is complete, its last line may not be.
    lines = sample.data.split(b"\n")[: None if sample.complete else -1]
    records: list[Value] = [line for each in lines if (line := each.strip())]
    if not records:
        return View("JSON Lines", raw)
    facts = [f"{'' if sample.complete else 'at least '}{quantity(len(records), 'record')}"]
    checked = records if len(sample.data) <= FULL_LIMIT else ()
    bad = sum(1 for record in checked if not _valid(record))
    if bad:
        facts.append(f"{bad:,} not JSON")
    level = None, records
    shown = record_table(level) or JsonTree(level, first_number=1)
    return View("JSON Lines", raw, shown, tuple(facts), all_rendered=sample.complete)


def _valid(record: Value) -> bool:
    try:
        msgspec.json.decode(memoryview(record), type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True


JSON_LINES = Viewer(
    "JSON Lines", lambda sample: sample.suffix in {".jsonl", ".ndjson"}, _view_json_lines, limit=LARGE_LIMIT
)


_TEXT = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?=\S)")


def _view_json(sample: Sample) -> View:
    raw = TextBody(sample.beginning, style=style_json_line)
    if not sample.complete:
        return View("JSON", raw)
    text = _TEXT.match(sample.data)
    if text is None:
        return View("JSON", raw, notice="This file is empty.")
    if sample.data.count(b",") > 4_000_000:
        return View("JSON", raw, notice="This file has too many values for a tree.")
    data: Value = memoryview(sample.data)[text.end() :]
    level = open_level(data)
    if level is None:
        # A single string of megabytes would be formatted in one step, which blocks every other thread.
        return View("JSON", raw, json_body(bytes(data)) if len(data) <= FULL_LIMIT else None)
    if (table := record_table(level)) is not None:
        fact = quantity(len(table.records), "record")
    else:
        fact = quantity(len(level[1]), "item" if level[0] is None else "key")
    return View("JSON", raw, table or JsonTree(level), (fact,), all_rendered=True)


JSON = Viewer(
    "JSON",
    lambda sample: (
        sample.suffix in {".json", ".geojson", ".webmanifest"}
        or (not sample.suffix and sample.data[:64].lstrip()[:1] in {b"{", b"["})
    ),
    _view_json,
    limit=LARGE_LIMIT,
    preview_limit=FULL_LIMIT,
)
