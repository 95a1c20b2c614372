"""JSON Lines as a tree that folds: every record is a row under its number."""

from __future__ import annotations

import msgspec

from tui.viewers.json_style import style_json_line
from tui.viewers.json_tree import JsonTree
from tui.viewers.json_values import Value
from tui.viewers.registry import LARGE_LIMIT, Sample, View, Viewer
from tui.viewers.text_body import TextBody

__all__ = ["VIEWER"]

_CHECKED_BYTES = 4 * 1024 * 1024


def _wants(sample: Sample) -> bool:
    return sample.suffix in {".jsonl", ".ndjson"}


def _view(sample: Sample) -> View:
    raw = TextBody(sample.beginning, style=style_json_line, numbers=True)
    lines = sample.data.split(b"\n")
    torn = not sample.complete
    if torn:
        lines.pop()
    records: list[Value] = [line for each in lines if (line := each.strip())]
    if not records:
        return View("JSON Lines", raw)
    facts = [f"{'at least ' if torn else ''}{len(records):,} record{'' if len(records) == 1 else 's'}"]
    checked = records if len(sample.data) <= _CHECKED_BYTES else ()
    bad = sum(1 for record in checked if not _valid(record))
    if bad:
        facts.append(f"{bad:,} not JSON")
    tree = JsonTree((None, records), first_number=1)
    return View("JSON Lines", raw, tree, tuple(facts), all_rendered=sample.complete)


def _valid(record: Value) -> bool:
    try:
        msgspec.json.decode(memoryview(record), type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True


VIEWER = Viewer("JSON Lines", _wants, _view, limit=LARGE_LIMIT)
