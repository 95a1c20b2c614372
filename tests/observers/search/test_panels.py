"""What providers show beside their results, in documented shapes with invented values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.observation import ToolResult
from observers.base import ObserverContext
from observers.search_results import SearchResults

Make = Callable[..., ToolResult]
A, B = "https://one.example/a", "https://two.example/b"
ROW = {"title": "One", "link": A, "snippet": "s"}
RYE = ("Rye", B, "A grass.")
SHAPES: dict[str, tuple[Any, tuple[Any, ...] | None, list[str]]] = {
    "a graph with a source": (
        {
            "organic_results": [ROW],
            "knowledge_graph": {"title": "Rye", "type": "Grass", "description": "A grass.",
                "source": {"name": "Book", "link": B}},
            "related_searches": [{"query": "rye bread", "link": A}, {"query": "rye bread"}, {"block": 1}],
        },
        RYE, ["rye bread"],
    ),
    "a graph with a website": (
        {"organic": [ROW], "knowledgeGraph": {"title": "Rye", "website": B, "description": "A grass."},
            "relatedSearches": [{"query": "rye\x1b[1m bread"}]},
        RYE, ["rye bread"],
    ),
    "boxes": (
        {"results": [ROW], "suggestions": ["rye bread"],
            "infoboxes": [{"infobox": "Rye", "content": "A grass.", "id": B, "urls": [{"title": "x", "url": A}]}]},
        RYE, ["rye bread"],
    ),
    "entities": (
        {"webPages": {"value": [ROW]}, "entities": {"value": [{"name": "Rye", "description": "A grass.", "url": B}]},
            "relatedSearches": {"value": [{"text": "rye bread", "webSearchUrl": A}]}},
        RYE, ["rye bread"],
    ),
    "parts among the results": (
        {"tasks": [{"result": [{"keyword": "rye", "items": [
            {"type": "organic", "rank_absolute": 1, "title": "One", "url": A},
            {"type": "knowledge_graph", "rank_absolute": 2, "title": "Rye", "description": "A grass.", "url": B},
            {"type": "related_searches", "rank_absolute": 3, "items": ["rye bread"]},
        ]}]}]},
        RYE, ["rye bread"],
    ),
    "questions to go on with": (
        {"results": [ROW], "follow_up_questions": ["Is rye a grass?"], "related_questions": [{"question": "Why?"}]},
        None, ["Is rye a grass?"],
    ),
    "a panel without an address": (
        {"organic": [ROW], "knowledgeGraph": {"title": "Rye", "description": "A grass."}},
        ("Rye", None, "A grass."), [],
    ),
    "a panel that says nothing": ({"organic": [ROW], "knowledgeGraph": {"title": "Rye"}}, None, []),
    "nothing": ({"organic": [ROW], "knowledgeGraph": None, "relatedSearches": []}, None, []),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_the_panel_and_further_searches_are_kept(name: str, context: ObserverContext, result: Make) -> None:
    payload, panel, related = SHAPES[name]
    outcome = SearchResults().observe(result("mcp__x__web_search", json.dumps(payload)), context)
    artifacts = [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]
    found = artifacts[0].get("knowledge_panel")
    assert (found and (found["title"], found["url"], found["snippet"])) == panel
    assert artifacts[0].get("related_searches", []) == related
    assert artifacts[0]["results"][0]["url"] == A
    assert not any(
        "knowledge_panel" in artifact or "related_searches" in artifact for artifact in artifacts[1:]
    )


def test_each_of_several_searches_has_its_own(context: ObserverContext, result: Make) -> None:
    pages = [
        {"searchParameters": {"q": "rye"}, "organic": [ROW], "relatedSearches": [{"query": "rye bread"}]},
        {"searchParameters": {"q": "oats"}, "organic": [ROW | {"link": B}]},
    ]
    outcome = SearchResults().observe(result("mcp__x__web_search", json.dumps(pages)), context)
    found = [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]
    assert [artifact.get("related_searches") for artifact in found] == [["rye bread"], None]
