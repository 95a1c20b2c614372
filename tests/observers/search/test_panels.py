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
    "boxes alone": ({"infoboxes": [{"infobox": "Rye", "content": "A grass.", "id": B}]}, RYE, []),
    "a panel that says nothing": ({"organic": [ROW], "knowledgeGraph": {"title": "Rye"}}, None, []),
    "nothing": ({"organic": [ROW], "knowledgeGraph": None, "relatedSearches": []}, None, []),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_the_panel_and_further_searches_are_kept(name: str, context: ObserverContext, result: Make) -> None:
    payload, panel, related = SHAPES[name]
    outcome = SearchResults().observe(result("mcp__x__web_search", json.dumps(payload)), context)
    (artifact,) = [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]
    found = artifact.get("knowledge_panel")
    assert (found and (found["title"], found["url"], found["snippet"])) == panel
    assert artifact.get("related_searches", []) == related
    assert [row["url"] for row in artifact["results"]] == ([] if name == "boxes alone" else [A])


def test_an_answer_is_no_row_as_well(context: ObserverContext, result: Make) -> None:
    page = {"results": [ROW], "answers": [{"answer": "A grass.", "url": B, "template": "answer/legacy.html"}]}
    (saved,) = SearchResults().observe(result("mcp__x__web_search", json.dumps(page)), context).artifacts
    artifact = json.loads(context.workspace.read(saved.path))
    assert (artifact["answer"], [row["url"] for row in artifact["results"]]) == ("A grass.", [A])


def test_each_of_several_searches_has_its_own(context: ObserverContext, result: Make) -> None:
    pages = [
        {"searchParameters": {"q": "rye"}, "organic": [ROW], "relatedSearches": [{"query": "rye bread"}]},
        {"searchParameters": {"q": "oats"}, "organic": [ROW | {"link": B}]},
    ]
    outcome = SearchResults().observe(result("mcp__x__web_search", json.dumps(pages)), context)
    found = [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]
    assert [artifact.get("related_searches") for artifact in found] == [["rye bread"], None]
