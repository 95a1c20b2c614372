from __future__ import annotations

import json
from typing import Any

import pytest

from core.observation import ToolCall
from observers.decoding.decode import Decoded, decode_text
from observers.search import detect
from observers.search.detect import recognise
from observers.search.rows import url_of

WEB = "https://site.example/page"
APP = "https://app.acme.example/7"
PAGE = {"title": "T", "url": WEB}
RECORDS = {
    "salesforce": {
        "totalSize": 1,
        "records": [
            {"attributes": {"type": "Account"}, "Id": "001", "Name": "A", "Website": WEB, "Description": "D"}
        ],
    },
    "bigquery": {"schema": {}, "rows": [PAGE | {"id": 1, "published_at": "2026-01-01", "body": "text"}]},
    "snowflake": {"data": [{"TITLE": "T", "URL": WEB, "DESCRIPTION": "D"}]},
    "postgres": [PAGE | {"id": 1, "created_at": "2026-01-01", "description": "D"}],
    "sentry": [
        {
            "title": "TypeError", "permalink": APP, "culprit": "f", "metadata": {"value": "x"},
            "message": "m", "date": "x",
        }
    ],
    "a customer": {
        "results": [{"id": "7", "name": "A", "url": APP, "description": "A customer", "owner_id": 7}]
    },
    "companies": {"data": [{"id": 7, "name": "A", "website": WEB, "description": "Makes things"}]},
    "contacts": {"searchResults": [{"Id": "7", "Name": "Ada", "Website": WEB, "OwnerId": "5"}]},
    "tickets": {"data": [PAGE | {"summary": "It fails", "assignee_id": 3}]},
    "deployments": [PAGE | {"id": "d7", "description": "D", "date": "2026-01-01"}],
    "events": {"events": [PAGE | {"message": "m"}]},
    "courses": {"courses": [PAGE | {"id": 7, "description": "Rye"}]},
    "products": {
        "products": [PAGE | {"id": 7, "body_html": "Rye", "vendor": "V", "created_at": "2026-01-01"}]
    },
    "a site's map": {"links": [PAGE | {"description": "About"}]},
}  # fmt: skip
PAGES = {
    "a text": [PAGE | {"snippet": "Said."}],
    "news": {
        "articles": [
            PAGE | {"id": "a1", "publishedAt": "2026-01-01", "source": {"name": "N"}, "description": "D"}
        ]
    },
    "a name": {"value": [{"id": f"{WEB}#1", "name": "T", "url": WEB, "snippet": "S"}]},
    "a date": {"items": [PAGE | {"source": "N", "date": "2 days ago"}]},
    "organic": {"organic_results": [PAGE]},
}


class Compared(str):
    """A text that counts how often it is compared."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def urls(tool: str, body: Any) -> list[str]:
    pages = recognise(ToolCall(tool_use_id="t", name=tool), decode_text(json.dumps(body)))
    return [item.get("url") or item.get("Website") for page in pages for item in page.items]


@pytest.mark.parametrize("name", RECORDS)
def test_records_of_an_unknown_tool_are_no_web_results(name: str) -> None:
    assert urls("mcp__acme__get_things", RECORDS[name]) == []


@pytest.mark.parametrize("name", PAGES)
def test_rows_that_look_like_pages_are_results_of_any_tool(name: str) -> None:
    assert urls("mcp__acme__get_things", PAGES[name]) == [WEB]


@pytest.mark.parametrize("name", ["a customer", "companies", "postgres"])
def test_a_known_search_keeps_its_rows(name: str) -> None:
    assert len(urls("mcp__acme__web_search", RECORDS[name])) == 1


def test_lists_that_begin_alike_are_not_compared_with_one_another() -> None:
    Compared.times = 0
    pages = tuple({"results": [PAGE | {"snippet": Compared(number)}]} for number in range(40))
    found = recognise(ToolCall(tool_use_id="t", name="mcp__x__web_search"), Decoded(values=(*pages, *pages)))
    assert (len(found), Compared.times) == (40, 0)


def test_lists_that_repeat_are_compared_with_one_set_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def counted(item: Any) -> str | None:
        asked.append(item)
        return url_of(item)

    monkeypatch.setattr(detect, "url_of", counted)
    pages = [{f"{WEB}/{name}/{part}": {"title": "T"} for part in "ab"} for name in range(40)]
    counts = []
    for many in (20, 40):
        asked.clear()
        body = {"results": [PAGE | {"url": f"{WEB}/{name}/a"} for name in range(many)], "more": pages[:many]}
        assert recognise(ToolCall(tool_use_id="t", name="mcp__x__web_search"), decode_text(json.dumps(body)))
        counts.append(len(asked))
    assert counts[1] <= 2.5 * counts[0]
