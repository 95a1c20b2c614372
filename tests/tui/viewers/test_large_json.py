"""Large JSON is shown as a tree."""

from __future__ import annotations

import json
from pathlib import Path

from ua_tui.tui.viewers.bodies.json_tree import JsonTree
from ua_tui.tui.viewers.bodies.record_table import RecordTable
from ua_tui.tui.viewers.contract import FULL_LIMIT
from ua_tui.tui.viewers.registry import load


def test_a_member_that_is_large_is_unfolded_and_found_in(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    items = [
        {"id": number, "title": f"Story, {number}", "tags": ["a", "b"], "a": {}, "b": []}
        for number in range(20_000)
    ]
    path.write_text(json.dumps({"items": items}))
    tree = load(path, FULL_LIMIT).rendered
    assert isinstance(tree, JsonTree)
    assert tree.entries == 20_001, "the one large member is open"
    assert list(tree.find_places("Story, 19999")) == [(0, 19_999, 1)]


def test_json_lines_are_records_without_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    records = [{"n": number, "text": "x" * (number % 40)} for number in range(50)]
    path.write_text("\n \n" + "\r\n\n".join(json.dumps(record) for record in records))
    table = load(path).rendered
    assert isinstance(table, RecordTable)
    assert [json.loads(bytes(memoryview(value))) for value in table.records.values] == records
    assert list(table.records[7]) == ["7", "x" * 7]
