"""Web searches, news, answers and servers' texts in the shapes they were recorded in, with invented values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.observation import ToolCall, ToolResult
from observers.base import Interest, ObserverContext
from observers.decoding.decode import decode_text, decode_texts
from observers.search_results import SearchResults

Make = Callable[..., ToolResult]
A, B, C, D = (f"https://{name}.example/page?x=1" for name in ("one", "two", "three", "four"))
ONE, TWO = ("One", A), ("Two", B)


def observe(context: ObserverContext, result: ToolResult) -> list[dict[str, Any]]:
    outcome = SearchResults().observe(result, context)
    return [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]


def pages_of(context: ObserverContext, result: ToolResult) -> dict[str, list[tuple[Any, ...]]]:
    pages: dict[str, list[tuple[Any, ...]]] = {}
    for artifact in observe(context, result):
        rows = pages.setdefault(artifact["type"], [])
        rows += [(row["title"], row["url"]) for row in artifact["results"]]
    return pages


def rows_of(context: ObserverContext, result: ToolResult) -> list[dict[str, Any]]:
    [artifact] = observe(context, result)
    rows: list[dict[str, Any]] = artifact["results"]
    return rows


MESSAGE = {
    "role": "assistant",
    "content": A,
    "annotations": [
        {"type": "url_citation", "url_citation": {"url": A, "title": "One", "content": "# One"}},
        {"type": "url_citation", "url_citation": {"url": B, "title": "Two", "content": ""}},
    ],
}
LICENCE = {"_type": "ContractualRules/LicenseAttribution", "license": {"name": "CC", "url": D}}
SHAPES: dict[str, tuple[str, Any, dict[str, list[tuple[Any, ...]]]]] = {
    "an answer that is an address": (
        "mcp__router__web_search",
        {"choices": [{"finish_reason": "stop", "index": 0, "message": MESSAGE}]},
        {"web_answer": [ONE, TWO]},
    ),
    "an instant answer with topics": (
        "mcp__duckduckgo__instant_answer",
        {
            "Abstract": "A thing.",
            "AbstractURL": C,
            "Heading": "Thing",
            "RelatedTopics": [
                {"FirstURL": A, "Icon": {"URL": ""}, "Text": "One"},
                {"Name": "See also", "Topics": [{"FirstURL": B, "Icon": {}, "Text": "Two"}]},
            ],
        },
        {"web": [("Thing", C), (None, A), (None, B)]},
    ),
    "a page of results that has an address and a title": (
        "mcp__texts__search_web",
        {"title": "thing - Texts", "link": C, "description": "Texts", "items": [{"title": "One", "link": A}]},
        {"web": [ONE]},
    ),
    "a result with pictures that came alone": (
        "mcp__texts__search_web",
        {"title": "One", "link": A, "description": "x", "images": [{"title": "A picture", "link": C}]},
        {"web": [ONE]},
    ),
    "pages beside entities and their rights": (
        "mcp__bing__web_search",
        {
            "_type": "SearchResponse",
            "webPages": {
                "value": [{"id": "https://api.example/api/v7/#WebPages.0", "name": "One", "url": A}]
            },
            "entities": {
                "value": [
                    {
                        "id": "https://api.example/api/v7/#Entities.0",
                        "name": "Thing",
                        "description": "A thing.",
                        "contractualRules": [LICENCE, {"text": "Encyclopedia", "url": D}],
                    }
                ]
            },
            "facts": {"attributions": [{"providerDisplayName": "four", "seeMoreUrl": D}], "value": []},
        },
        {"web": [ONE]},
    ),
    "questions with their page and a search for them": (
        "mcp__searches__search",
        {
            "organic_results": [{"title": "One", "link": A}],
            "related_questions": [
                {
                    "question": "Two",
                    "answer": "So.",
                    "search": {"title": "Search for: Two", "link": D},
                    "source": {"title": "A page", "link": B, "source": "Two"},
                }
            ],
        },
        {"web": [ONE], "questions": [TWO]},
    ),
    "news of a server of news": (
        "mcp__newsdata__latest",
        {"status": "success", "results": [{"title": "One", "link": A, "pubDate": "2026-03-09 22:00:00"}]},
        {"news": [ONE]},
    ),
    "pages that an answer visited": (
        "mcp__model__web_search",
        {"output": [{"type": "web_search_call", "action": {"sources": [{"type": "url", "url": A}]}}]},
        {"web": [(None, A)]},
    ),
    "columns inside another result": (
        "mcp__wiki__search",
        {"data": ["thing", ["One", "Two"], ["", ""], [A, B]]},
        {"web": [ONE, TWO]},
    ),
    "a question with one page and no results": (
        "mcp__wiki__search",
        ["thing", ["One"], [""], [A]],
        {"web": [ONE]},
    ),
    "a list of documents written twice": (
        "mcp__web-search-prime__webSearchPrime",
        json.dumps(json.dumps([{"title": "One", "link": A}, {"title": "Two", "link": B}])),
        {"web": [ONE, TWO]},
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_recorded_shapes(context: ObserverContext, result: Make, name: str) -> None:
    tool, body, expected = SHAPES[name]
    assert pages_of(context, result(tool, body)) == expected


TEXTS: dict[str, tuple[str, str]] = {
    "searches one after the other": (
        "mcp__kagi__kagi_search_fetch",
        f'-----\nResults for search query "a":\n-----\n1: One\n{A}\nPublished Date: Not Available\nSaid of it\n\n'
        f'-----\nResults for search query "b":\n-----\n2: Two\n{B}\nPublished Date: 2026-03-01\nMore',
    ),
    "contents that quote documents": (
        "mcp__model__web_search",
        f"Title: One\nURL: {A}\nContent: {{'place': {{'name': 'Here', 'url': '{C}'}}, 'now': [1]}}\nScore: 0.9\n\n"
        f"Title: Two\nURL: {B}\nContent: plain\nScore: 0.8",
    ),
    "columns after words": (
        "mcp__wiki__search",
        f'This was found:\n["thing", ["One", "Two"], ["", ""], ["{A}", "{B}"]]',
    ),
    "titles in quotes that stay": (
        "mcp__texts__search",
        f'1. One\n   URL: {A}\n   Summary: "Quoted" words\n\n2. Two\n   URL: {B}\n   Summary: x',
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_recorded_texts(context: ObserverContext, result: Make, name: str) -> None:
    tool, text = TEXTS[name]
    assert pages_of(context, result(tool, text)) == {"web": [ONE, TWO]}


def test_titles_as_yaml_folds_and_quotes_them(context: ObserverContext, result: Make) -> None:
    begin, end = "A title of so many words that whoever writes YAML folds it somewhere", "before its end"
    blocks = [
        f"title: {begin}\n  {end}\nurl: {A}\nsnippet: said\n",
        f"title: 'It''s \"one\" of\n  two'\nurl: {B}\nsnippet: said\n",
        f'title: "\\"Hello\\" program"\nurl: {C}\nsnippet: said\n',
        f'title: "Hello, World!" program\nurl: {D}\nsnippet: said\n',
    ]
    rows = rows_of(context, result("mcp__jina__search_web", blocks))
    assert [row["title"] for row in rows] == [
        f"{begin} {end}",
        'It\'s "one" of two',
        '"Hello" program',
        '"Hello, World!" program',
    ]
    assert [row["snippet"] for row in rows] == ["said"] * 4


def test_the_answer_before_the_results(context: ObserverContext, result: Make) -> None:
    text = f"Answer: It is so.\nDetailed Results:\n\nTitle: One\nURL: {A}\nContent: x\n\nTitle: Two\nURL: {B}"
    [artifact] = observe(context, result("mcp__tavily__tavily_search", text))
    assert artifact["answer"] == "It is so."
    assert len(artifact["results"]) == 2


def test_the_name_of_the_site(context: ObserverContext, result: Make) -> None:
    text = f"Title: One\nURL: {A}\nDescription: x\nPublished date: 2026-03-01\nSite name: The Site"
    [row] = rows_of(context, result("mcp__bocha__bocha_web_search", text))
    assert (row["source"], row["date"]) == ("The Site", "2026-03-01")


def test_blocks_written_as_text_inside_a_call_of_several(context: ObserverContext, result: Make) -> None:
    blocks = [
        {"type": "text", "text": json.dumps({"url": A, "title": "One", "description": "x"})},
        {
            "type": "text",
            "text": json.dumps({"mutated_by_goggles": False, "url": B, "title": "Two", "thumbnail_url": C}),
        },
    ]
    body = {
        "successful": True,
        "data": {
            "results": [
                {
                    "tool_slug": "BRAVE_WEB_SEARCH",
                    "index": 0,
                    "response": {"successful": True, "data": json.dumps(blocks)},
                }
            ]
        },
    }
    tools = [{"tool_slug": "BRAVE_WEB_SEARCH", "arguments": {"query": "x"}}]
    made = result("mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL", body, "toolu_2", tools=tools)
    assert pages_of(context, made) == {"web": [ONE], "videos": [TWO]}


def test_a_wrapped_text_that_reports_no_results(context: ObserverContext, result: Make) -> None:
    text = 'Web search results for query: "x"\n\nNo links found.\n\nThere is nothing.'
    [artifact] = observe(context, result("WebSearch", {"result": text}))
    assert (artifact["type"], artifact["results"]) == ("web", [])


def test_an_address_that_was_cut_in_two_is_none(context: ObserverContext, result: Make) -> None:
    whole = json.dumps({"results": [{"title": "One", "url": A}, {"title": "Two", "url": B}]})
    [artifact] = observe(context, result("mcp__texts__search", whole[: whole.index(B) + 12]))
    assert [row["url"] for row in artifact["results"]] == [A]
    assert artifact["truncated"] is True


def test_a_document_written_as_text_and_cut_off(context: ObserverContext, result: Make) -> None:
    whole = json.dumps(json.dumps([{"title": "One", "link": A, "content": "x"}, {"title": "Two", "link": B}]))
    for end in range(whole.index("Two"), whole.index("Two") + 12):
        assert decode_text(whole[:end]).values[0][0]["link"] == A
        assert decode_text(whole[:end]).truncated
    assert not decode_texts([whole[:40], whole[40:]]).truncated
    assert decode_texts([whole[:40], whole[40:]]).values == decode_text(whole).values


def test_a_search_that_fetches_what_it_found_is_a_search() -> None:
    calls = {
        name: ToolCall(tool_use_id="t", name=name, input={})
        for name in ("mcp__k__search_fetch", "mcp__k__fetch")
    }
    assert SearchResults().wants(calls["mcp__k__search_fetch"]) is Interest.SURE
    assert SearchResults().wants(calls["mcp__k__fetch"]) is Interest.NONE


FEED = {
    "feed": {"title": "A diary", "link": C},
    "entries": [{"title": "One", "link": A, "published": "2026-03-01", "summary": "x"}],
}
REPOSITORIES = {
    "items": [
        {
            "node_id": "R_1",
            "name": "One",
            "owner": {"login": "somebody", "html_url": C},
            "html_url": A,
            "description": "x",
            "fork": False,
            "created_at": "2026-03-01T00:00:00Z",
        }
    ]
}
RELEASES = [{"html_url": A, "tag_name": "v1", "name": "One", "published_at": "2026-03-01", "body": "x"}]
SNAPSHOT = f'- Page URL: {A}\n- Page Title: One\n- Snapshot:\n- link "Two":\n  - /url: {B}'


@pytest.mark.parametrize("body", [FEED, REPOSITORIES, RELEASES, SNAPSHOT])
def test_lists_of_a_tool_nobody_knows(context: ObserverContext, result: Make, body: Any) -> None:
    assert observe(context, result("mcp__acme__do_it", body)) == []
