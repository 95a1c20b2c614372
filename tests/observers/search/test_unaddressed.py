"""Rows that a provider gives no address for."""

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


def observe(context: ObserverContext, result: ToolResult) -> list[dict[str, Any]]:
    outcome = SearchResults().observe(result, context)
    return [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]


PLACE = {"title": "Two Ovens", "address": "2 Mill Lane", "rating": 4.1, "phone": "555-0101"}
SHAPES: dict[str, tuple[str, Any, str, list[tuple[str, str | None]]]] = {
    "places": (
        "google_maps_search",
        {"local_results": [{"title": "One Oven", "website": A}, PLACE]},
        "local",
        [("One Oven", A), ("Two Ovens", None)],
    ),
    "places of which none has a page": (
        "google_maps_search",
        [{"title": "One Oven", "address": "1 Mill Lane"}, PLACE],
        "local",
        [("One Oven", None), ("Two Ovens", None)],
    ),
    "hotels": (
        "serpapi_search",
        {
            "search_parameters": {"engine": "google_hotels"},
            "properties": [{"name": "Inn", "property_token": "t", "rate_per_night": {"lowest": "$41"}}],
        },
        "hotels",
        [("Inn", None)],
    ),
    "jobs": (
        "job_search",
        {"jobs_results": [{"title": "Baker", "company_name": "Oven", "location": "Here"}]},
        "jobs",
        [("Baker", None)],
    ),
    "papers recognised by a part": (
        "search_papers",
        {
            "data": [
                {"snippet": {"text": "bread"}, "score": 1, "paper": {"title": "On bread", "corpusId": "1"}}
            ]
        },
        "scholar",
        [("On bread", "https://api.semanticscholar.org/CorpusID:1")],
    ),
    "films under numbers": (
        "youtube_search",
        {"items": [{"id": {"videoId": "x"}, "snippet": {"title": "Bake", "channelTitle": "Oven"}}]},
        "videos",
        [("Bake", None)],
    ),
    "papers under their numbers": (
        "pubmed_search",
        {
            "result": {
                "uids": ["7", "9"],
                "7": {"uid": "7", "title": "Rye"},
                "9": {"uid": "9", "title": "Oats"},
            }
        },
        "scholar",
        [("Rye", "https://pubmed.ncbi.nlm.nih.gov/7/"), ("Oats", "https://pubmed.ncbi.nlm.nih.gov/9/")],
    ),
    "pages in a list that only pages are in": (
        "web_search",
        {"organic_results": [{"title": "One", "link": A}, {"title": "Two", "snippet": "Said"}]},
        "web",
        [("One", A), ("Two", None)],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_row_without_an_address_stays_in_a_list_of_results(
    name: str, context: ObserverContext, result: Make
) -> None:
    tool, payload, kind, rows = SHAPES[name]
    (artifact,) = observe(context, result(f"mcp__provider__{tool}", json.dumps(payload)))
    assert artifact["type"] == kind
    assert [(row["title"], row["url"]) for row in artifact["results"]] == rows
    assert artifact["rejected"] == 0
    assert artifact["url_count"] == sum(1 for _, url in rows if url)


def test_rows_without_addresses_are_never_duplicates(context: ObserverContext, result: Make) -> None:
    rows = [PLACE, PLACE | {"title": "Three Ovens"}, {"title": "One", "website": A}]
    observe(context, result("mcp__p__google_maps_search", {"local_results": rows}, "toolu_1"))
    (again,) = observe(context, result("mcp__p__google_maps_search", {"local_results": rows[1:]}, "toolu_2"))
    assert [row.get("duplicate") for row in again["results"]] == [None, True]
    assert (again["duplicates"], again["url_count"]) == (1, 1)


@pytest.mark.parametrize(
    ("tool", "payload"),
    [
        ("web_search", {"results": [{"title": "One", "note": "no address"}]}),
        ("list_places", {"places": [PLACE]}),
        ("search_employees", {"results": [{"name": "Ada", "description": "Bakes.", "salary": 9}]}),
        ("search_transactions", [{"name": "Rent", "description": "May", "amount": 9}]),
        ("job_search", {"jobs": [{"name": "build", "status": "failed", "branch": "main"}]}),
        ("google_maps_search", {"local_results": [{"title": "Only a title"}]}),
        ("google_maps_search", {"place": {"name": "One", "reviews": [{"title": "Fine", "text": "Good"}]}}),
    ],
)
def test_what_only_resembles_such_a_row_is_none(
    tool: str, payload: Any, context: ObserverContext, result: Make
) -> None:
    assert not any(
        artifact["results"] for artifact in observe(context, result(f"mcp__p__{tool}", json.dumps(payload)))
    )


def test_an_address_that_was_cut_is_none(context: ObserverContext, result: Make) -> None:
    text = json.dumps({"organic_results": [{"title": "One", "link": A}, {"title": "Two", "link": B}]})
    (artifact,) = observe(context, result("mcp__p__web_search", text[: text.index(B) + 14]))
    assert [row["url"] for row in artifact["results"] if row["url"]] == [A]
