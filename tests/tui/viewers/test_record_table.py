"""Lists of like records are tables; anything else stays a tree."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from ua_tui.tui.viewers.bodies.json_tree import JsonTree
from ua_tui.tui.viewers.bodies.record_table import RecordTable
from ua_tui.tui.viewers.bodies.table import Table
from ua_tui.tui.viewers.cursor_body import BackgroundWork, BodyCommand, SaveCsv
from ua_tui.tui.viewers.registry import load

ROWS: list[dict[str, Any]] = [
    {"day": "2026-11-02", "close": 9.5, "note": "=SUM(A1)\x1b[2J", "tags": ["a"]},
    {"day": "2026-11-01", "close": 10, "note": None, "volume": 12345678901234567890},
    {"day": "2026-11-03", "close": -1, "note": "a, \"b\"\nc", "tags": []},
]  # fmt: skip


def table_of(path: Path, value: Any) -> RecordTable | None:
    (path / "data.json").write_text(json.dumps(value))
    shown = load(path / "data.json").rendered
    assert isinstance(shown, RecordTable | JsonTree)
    return shown if isinstance(shown, RecordTable) else None


@pytest.mark.parametrize("value", [
    [{"a": 1, "b": 2}],
    [{"a": 1, "b": 2}, {"c": 1, "d": 2}, {"e": 1, "f": 2}],
    [{"a": 1, "b": 2}, 5],
    [{"a": {}, "b": {}}, {"a": {}, "b": {}}],
    [{"a": 1}, {"a": 2}],
    {"x": ROWS, "y": ROWS},
    {"name": "x", "deps": {"a": "1", "b": "2"}},
    [],
])  # fmt: skip
def test_other_values_stay_trees(tmp_path: Path, value: Any) -> None:
    assert table_of(tmp_path, value) is None


def test_a_wrapped_list_is_a_table_below_what_else_the_object_says(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"status": "ok", "count": 3, "data": {"rows": ROWS, "next": None}})
    assert table is not None
    assert table.notes == [("status: ok · count: 3", "dim")]
    assert [column.title for column in table.columns] == ["day", "close", "note", "tags", "volume"]
    assert "\x1b" not in "".join("".join(table.records[number]) for number in range(3))
    assert table.records[1][4] == "12345678901234567890"
    assert table.records[1][2] == ""


def test_the_rows_that_are_shown_are_exported_in_their_order(tmp_path: Path) -> None:
    table = table_of(tmp_path, ROWS)
    assert table is not None
    for command in (BodyCommand("sort", column=1), BodyCommand("filter", text="2026")):
        work = table.execute(command)
        assert isinstance(work, BackgroundWork)
        work.prepare()()
    saved = table.execute(BodyCommand("export"))
    assert isinstance(saved, SaveCsv)
    titles, *rows = csv.reader(io.StringIO(saved.text()))
    assert titles == ["day", "close", "note", "tags", "volume"]
    assert [row[0] for row in rows] == ["2026-11-03", "2026-11-02", "2026-11-01"]
    # A spreadsheet would run the formula.
    assert rows[1][2].startswith("'=SUM(A1)")
    assert rows[0][2] == 'a, "b"\nc'


def test_an_export_has_the_whole_of_long_cells(tmp_path: Path) -> None:
    long = "a line\n" * 500
    table = table_of(tmp_path, [{"n": 1, "text": long}, {"n": -2, "text": "short"}])
    assert table is not None
    saved = table.execute(BodyCommand("export"))
    assert isinstance(saved, SaveCsv)
    assert list(csv.reader(io.StringIO(saved.text()))) == [["n", "text"], ["1", long], ["-2", "short"]]


def test_a_file_of_cells_is_exported_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('name;text\nA;"x\n y"\nB;' + "z" * 900 + "\n")
    shown = load(tmp_path / "a.csv").rendered
    assert isinstance(shown, Table)
    saved = shown.execute(BodyCommand("export"))
    assert isinstance(saved, SaveCsv)
    rows = list(csv.reader(io.StringIO(saved.text())))
    assert rows == [["name", "text"], ["A", "x\n y"], ["B", "z" * 900]]


def test_an_export_of_search_results_has_their_addresses(tmp_path: Path) -> None:
    rows = [{"title": "A", "url": "https://a.example/x?y=1", "date": "2026-11-02T10:00:00Z"}]
    (tmp_path / "s.json").write_text(json.dumps({"query": "q", "results": rows}))
    shown = load(tmp_path / "s.json").best
    assert isinstance(shown, Table)
    saved = shown.execute(BodyCommand("export"))
    assert isinstance(saved, SaveCsv)
    assert "https://a.example/x?y=1" in saved.text()


def test_keys_of_late_records_are_exported(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": number, "b": number} for number in range(250)]
    table = table_of(tmp_path, [*rows, {"a": 1, "b": 2, "late": "here"}])
    assert table is not None
    saved = table.execute(BodyCommand("export"))
    assert isinstance(saved, SaveCsv)
    titles, *exported = csv.reader(io.StringIO(saved.text()))
    assert titles == ["a", "b", "late"]
    assert exported[-1] == ["1", "2", "here"]
