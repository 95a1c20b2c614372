from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.observers.conftest import NOON
from ua_tui.core.observation import ToolCall
from ua_tui.observers.decoding.decode import Decoded, decode_text
from ua_tui.observers.search.lists import recognise

WEB = "https://site.example/page"
PAGE = {"title": "T", "url": WEB}
# What searches answered with records, and what looks like results of the web, by their names.
ANSWERS = json.loads(Path(__file__).with_name("records.json").read_text(encoding="utf-8"))
RECORDS, PAGES = ANSWERS["records"], ANSWERS["pages"]


class Compared(str):
    """A text that counts how often it is compared."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def urls(tool: str, body: Any) -> list[str]:
    found = recognise(ToolCall(tool_use_id="t", name=tool), decode_text(json.dumps(body)), NOON)
    return [row["url"] for page in found.pages for row in page.rows]


@pytest.mark.parametrize("name", PAGES)
def test_rows_that_look_like_pages_are_results_of_any_known_tool(name: str) -> None:
    assert urls("mcp__hackernews__get_things", PAGES[name]) == [WEB]


@pytest.mark.parametrize("name", RECORDS)
def test_a_known_search_keeps_its_rows(name: str) -> None:
    assert len(urls("mcp__acme__web_search", RECORDS[name])) == 1


def test_an_object_of_any_depth_does_not_stop_the_search() -> None:
    wrapped: dict[str, Any] = {"url": "https://site.example/a b", "title": "T"}
    for _ in range(900):
        wrapped = {"web": wrapped}
    found = recognise(
        ToolCall(tool_use_id="t", name="mcp__x__web_search"), Decoded(values=([wrapped],)), NOON
    )
    assert [page.kind for page in found.pages] == ["unread"]


def test_lists_that_begin_alike_are_not_compared_with_one_another() -> None:
    Compared.times = 0
    pages = tuple({"results": [PAGE | {"snippet": Compared(number)}]} for number in range(40))
    call = ToolCall(tool_use_id="t", name="mcp__x__web_search")
    found = recognise(call, Decoded(values=(*pages, *pages)), NOON)
    assert (len(found.pages), Compared.times) == (40, 0)
