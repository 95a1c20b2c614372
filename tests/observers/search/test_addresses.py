"""Addresses of results that have none, or only a part of one; `answers/identifiers.json` has those of each service."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.observation import ToolCall
from observers.decoding.decode import decode_text
from observers.search.detect import recognise
from observers.search.rows import normalise
from tests.observers.conftest import NOON

A, B = "https://one.example/a", "https://two.example/b"
RYE = {"title": "Rye", "snippet": "A grass."}
WIKI = "https://en.wikipedia.org"


def found(tool: str, body: Any, **arguments: Any) -> list[tuple[str | None, str | None]]:
    """The titles and addresses of the rows of an answer."""
    call = ToolCall(tool_use_id="t", name=f"mcp__{tool}", input=arguments)
    text = body if isinstance(body, str) else json.dumps(body)
    return [
        (row["title"], row["url"])
        for page in recognise(call, decode_text(text))
        for row in normalise(page.items, page.kind, NOON, named=page.named).rows
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "url"),
    [
        ("wikipedia__search", {"language": "de"}, "https://de.wikipedia.org/?curid=7"),
        ("wikipedia_it__search", {}, "https://it.wikipedia.org/?curid=7"),
        ("wikipedia__search", {"language": "pt-BR"}, "https://pt.wikipedia.org/?curid=7"),
        ("x__search_de_wikipedia", {}, "https://de.wikipedia.org/?curid=7"),
        ("wikipedia__search_by_id", {}, f"{WIKI}/?curid=7"),
        ("x__wikipedia_search_in_it", {}, f"{WIKI}/?curid=7"), ("wikipedia_it_fr__search", {}, None),
        ("wikipedia__search", {"language": "Klingon"}, None),
        ("wikipedia__search", {"language": "all"}, None), ("wikipedia__search", {"language": "eng"}, None),
        ("wikipedia__search", {"language": "zh-yue"}, None), ("wikipedia__search_wikidata", {}, None),
        ("mediawiki__search", {}, None),
    ],
)  # fmt: skip
def test_a_wiki_is_not_guessed(tool: str, arguments: dict[str, str], url: str | None) -> None:
    page = {"query": {"search": [{"ns": 0, **RYE, "pageid": 7}]}}
    assert found(tool, page, **arguments) == [("Rye", url)]


@pytest.mark.parametrize(
    ("tool", "arguments", "fields"),
    [
        ("x__twitter_search", {}, {"id": "1234567890123456", "name": "Rye", "description": "Bakes."}),
        ("pubchem__web_search", {}, {"cid": 21_000}),
        ("x__news_search", {}, {"cluster_id": "12345"}),
        ("x__search_papers", {}, {"orcid": "0000-0001-0002-000X", "authors": ["Ash"]}),
        ("shop__search_products", {}, {"isbn13": "9780000000002"}),
        ("shop__search_books", {}, {"isbn13": "9780000000002", "price": "$4"}),
        ("google__search_books", {}, {"industryIdentifiers": [{"type": "ISBN_13", "identifier": "9780000000002"}]}),
        ("vimeo__search", {}, {"video_id": "showcase-42"}),
        ("x__search_stackoverflow", {"site": "serverfault"}, {"question_id": 5}),
    ],
)  # fmt: skip
def test_an_identifier_of_something_else_gives_no_address(
    tool: str, arguments: dict[str, str], fields: dict[str, Any]
) -> None:
    row = (RYE if "name" not in fields else {}) | fields
    assert found(tool, {"results": [row]}, **arguments) == [("Rye", None)]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("//one.example/a", A), ("https://one.example/a b", f"{A}%20b"), (f" {A}\n", A),
        ("www.one.example", "https://www.one.example"), ("one.example/a", None), ("//local", None),
        ("https://one example/a", None), ("//one.example/a https://two.example/b", None),
        ("https://one.example/a https://two.example/b", None),
    ],
)  # fmt: skip
def test_an_address_in_part_is_repaired(given: str, url: str | None) -> None:
    rows = [RYE | {"url": given}, RYE | {"title": "Oats", "url": B}]
    assert found("x__web_search", {"results": rows}) == [("Rye", url), ("Oats", B)]


@pytest.mark.parametrize("tool", ["wikipedia__search", "x__search_papers", "x__search_places"])
def test_a_broken_identifier_gives_no_address(tool: str) -> None:
    text = (
        '{"results": [{"title": "Rye \\ud800", "snippet": "s", "doi": "10.1000/\\udfff",'
        ' "place_id": "ChIJ\\udc00234567"}],'
        ' "knowledge_graph": {"title": "\\udc00", "description": "\\ud800"}, "related_searches": ["\\ud800"]}'
    )
    assert [url for _, url in found(tool, text)] == [None]
