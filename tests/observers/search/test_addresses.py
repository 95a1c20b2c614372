"""Addresses of results that have none, or only a part of one; `answers/identifiers.json` has those of each service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.observers.conftest import NOON
from ua_tui.core.observation import ToolCall
from ua_tui.observers.decoding.decode import decode_text
from ua_tui.observers.search.lists import recognise

CASES = json.loads(Path(__file__).with_name("addresses.json").read_text(encoding="utf-8"))
B = "https://two.example/b"
RYE = {"title": "Rye", "snippet": "A grass."}


def found(tool: str, body: Any, **arguments: Any) -> list[tuple[str | None, str | None]]:
    """The titles and addresses of the rows of an answer."""
    call = ToolCall(tool_use_id="t", name=f"mcp__{tool}", input=arguments)
    text = body if isinstance(body, str) else json.dumps(body)
    return [
        (row["title"], row["url"])
        for page in recognise(call, decode_text(text), NOON).pages
        for row in page.rows
    ]


@pytest.mark.parametrize(("tool", "arguments", "url"), CASES["wikis"])
def test_a_wiki_is_not_guessed(tool: str, arguments: dict[str, str], url: str | None) -> None:
    page = {"query": {"search": [{"ns": 0, **RYE, "pageid": 7}]}}
    assert found(tool, page, **arguments) == [("Rye", url)]


@pytest.mark.parametrize(("tool", "arguments", "fields"), CASES["other identifiers"])
def test_an_identifier_of_something_else_gives_no_address(
    tool: str, arguments: dict[str, str], fields: dict[str, Any]
) -> None:
    row = (RYE if "name" not in fields else {}) | fields
    assert found(tool, {"results": [row]}, **arguments) == [("Rye", None)]


@pytest.mark.parametrize(("given", "url"), CASES["parts"])
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
