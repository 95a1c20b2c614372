"""The journal, the year and the source of a row, and what does not stay in its fields."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from core.observation import ToolResult
from observers.base import ObserverContext
from observers.search_results import SearchResults

Make = Callable[..., ToolResult]
A = "https://www.one.example/a"
BLOB = base64.b64encode(bytes(range(256)) * 8).decode()


def row_of(context: ObserverContext, result: ToolResult) -> dict[str, Any]:
    (saved,) = SearchResults().observe(result, context).artifacts
    row: dict[str, Any] = json.loads(context.workspace.read(saved.path))["results"][0]
    return row


@pytest.mark.parametrize(
    ("fields", "source", "date"),
    [
        ({"publication_info": {"summary": "B Ash - Journal of Rye, 2019 - one.example"}}, "Journal of Rye", "2019"),
        ({"publicationInfo": "B Ash - Journal of Rye…, 2019 - one.example"}, "Journal of Rye…", "2019"),
        ({"publication": "C Elm - 2001 - Oven Press"}, "Oven Press", "2001"),
        ({"publication_info": {"summary": "C Elm - oven.example"}}, "C Elm - oven.example", None),
        ({"container-title": ["Rye"], "publisher": "Press", "issued": {"date-parts": [[2026, 1]]}}, "Rye", "2026-01"),
        ({"source": "MED", "journalTitle": "Rye J", "pubYear": "2025"}, "Rye J", "2025"),
        ({"source": "Rye J", "fulljournalname": "Rye Journal", "pubdate": "2025"}, "Rye Journal", "2025"),
        ({}, "one.example", None),
        ({"source": ""}, "one.example", None),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("tool", "fields", "column", "expected"),
    [
        ("web_search", {"title": "Q4"}, "title", "Q4"),
        ("web_search", {"title": "Q12345"}, "title", "Q12345"),
        ("web_search", {"__derived__": "https://other.example"}, "derived", None),
        ("web_search", {"__derived__": "https://other.example", "link": "Rye"}, "url", None),
        ("web_search", {"abstract": "<jats:p>A <jats:italic>grass</jats:italic>.</jats:p>"}, "snippet", "A grass."),
        ("search_papers", {"link": None, "entry_id": "http://arxiv.example/abs/1"}, "url", "http://arxiv.example/abs/1"),
        ("search_papers", {"abstractText": "A grass."}, "snippet", "A grass."),
    ],
)  # fmt: skip
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
