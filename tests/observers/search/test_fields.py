"""The journal, the year and the source of a row, and what does not stay in its fields."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.observation import ToolResult
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.search_results import SearchResults

Make = Callable[..., ToolResult]
A = "https://www.one.example/a"
# Fields of rows with their journal and date, and with the column that they become.
CASES = json.loads(Path(__file__).with_name("fields.json").read_text(encoding="utf-8"))
BLOB = base64.b64encode(bytes(range(256)) * 8).decode()


def row_of(context: ObserverContext, result: ToolResult) -> dict[str, Any]:
    (saved,) = SearchResults().observe(result, context).artifacts
    row: dict[str, Any] = json.loads(context.workspace.read(saved.path))["results"][0]
    return row


@pytest.mark.parametrize(("fields", "source", "date"), CASES["journal"])
def test_journal_year_and_host(
    fields: dict[str, Any], source: str, date: str | None, context: ObserverContext, result: Make
) -> None:
    row = {"title": "On rye", "link": A, "snippet": "s", **fields}
    found = row_of(context, result("mcp__x__scholar_search", json.dumps({"organic_results": [row]})))
    assert (found["source"], found["date"]) == (source, date)
    assert all(
        found["extra"].get(key) == value
        for key, value in fields.items()
        if key[:4] == "publ" and date != "2026-01"
    )


@pytest.mark.parametrize(("tool", "fields", "column", "expected"), CASES["columns"])
@pytest.mark.parametrize("rows", [1, 20])
def test_a_field_becomes_its_column(
    tool: str, fields: dict[str, Any], column: str, expected: Any, rows: int,
    context: ObserverContext, result: Make,
) -> None:  # fmt: skip
    row = {"title": "Rye", "link": A, "body": "s", **fields}
    if {"abstract", "abstractText"} & fields.keys():
        del row["body"]
    assert row_of(context, result(f"mcp__x__{tool}", json.dumps([row] * rows))).get(column) == expected


def test_controls_and_marks_of_direction_do_not_stay(context: ObserverContext, result: Make) -> None:
    rows = [
        {"title": "\x1b[31mR\0ye\u202e \u2067bread\u2069\x07", "link": A, "snippet": "a\x1b]0;t\x07b\nc\x9f"},
        {"title": "می\u200cخواهم 👩\u200d🌾", "link": f"{A}2"},
        {"title": "\0", "link": f"{A}3", "snippet": "s"},
    ]  # fmt: skip
    (saved,) = SearchResults().observe(result("mcp__x__web_search", json.dumps(rows)), context).artifacts
    first, second, third = json.loads(context.workspace.read(saved.path))["results"]
    assert (first["title"], first["snippet"]) == ("Rye bread", "ab\nc")
    assert (second["title"], third["title"]) == ("می\u200cخواهم 👩\u200d🌾", None)


@pytest.mark.parametrize("rows", [1, 20])
def test_encoded_data_is_replaced_by_its_size(rows: int, context: ObserverContext, result: Make) -> None:
    row = {
        "title": "Rye", "snippet": "s", "encrypted_content": BLOB,
        "thumbnail": f"data:image/png;base64,{BLOB}", "images": [{"data": BLOB}],
        "raw_content": "A grass. " * 500, "redirect": f"https://one.example/?{BLOB[:1200]}",
        "digits": "9" * 2000,
    }  # fmt: skip
    items = [row | {"link": f"{A}{number}"} for number in range(rows)]
    extra = row_of(context, result("mcp__x__web_search", json.dumps(items)))["extra"]
    note = f"[{len(BLOB):,} characters of encoded data]"
    assert (extra["encrypted_content"], extra["images"]) == (note, [{"data": note}])
    assert len(extra["thumbnail"]) < 60
    assert all(extra[key] == row[key] for key in ("raw_content", "redirect", "digits"))
