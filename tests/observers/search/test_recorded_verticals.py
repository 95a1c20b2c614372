"""Results of verticals and of academic services in the shapes they were recorded in, with invented values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.observation import ToolResult
from observers.base import ObserverContext
from observers.search_results import SearchResults

Make = Callable[..., ToolResult]
A, B, C = (f"https://{name}.example/page?x=1" for name in ("one", "two", "three"))
ICON = "https://cdn.example/icon.png"
API = "https://api.example/reviews?api_key=k"


def observe(context: ObserverContext, result: ToolResult) -> list[dict[str, Any]]:
    outcome = SearchResults().observe(result, context)
    return [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]


Row = tuple[str | None, str, str | None, str | None]
SHAPES: dict[str, tuple[str, Any, dict[str, list[Row]]]] = {
    "photos with a photographer": (
        "photos__search_photos",
        {
            "page": 1,
            "photos": [
                {
                    "id": 7,
                    "url": A,
                    "photographer": "Ann",
                    "photographer_url": C,
                    "src": {"original": ICON, "medium": ICON},
                    "alt": "A boat",
                },
                {"id": 8, "url": B, "photographer": "Bo", "src": {"medium": ICON}, "alt": ""},
            ],
            "next_page": "https://api.example/search?page=2",
        },
        {"images": [("A boat", A, "Ann", None), (None, B, "Bo", None)]},
    ),
    "photos without words": (
        "stock__search_images",
        {"hits": [{"id": 7, "pageURL": A, "tags": "sea", "webformatURL": ICON, "user": "Ann"}]},
        {"images": [(None, A, "Ann", None)]},
    ),
    "photos with links": (
        "stock__search_photos",
        {
            "results": [
                {
                    "id": "p",
                    "created_at": "2024-11-18T14:35:36-05:00",
                    "alt_description": "A cup",
                    "user": {"name": "Ann", "links": {"html": C}},
                    "urls": {"raw": ICON},
                    "links": {"self": "https://api.example/p", "html": A, "download": ICON},
                }
            ]
        },
        {"images": [("A cup", A, "Ann", "2024-11-18T20:35:36+01:00")]},
    ),
    "pictures that a page holds": (
        "lens__visual_search",
        {"data": {"value": [{"name": "Pie", "thumbnailUrl": ICON, "contentUrl": ICON, "hostPageUrl": A}]}},
        {"images": [("Pie", A, "one.example", None)]},
    ),
    "jobs with the time they were posted": (
        "serpapi__search",
        {
            "search_parameters": {"engine": "google_jobs"},
            "jobs_results": [
                {
                    "title": "Baker",
                    "company_name": "Oven",
                    "share_link": A,
                    "detected_extensions": {"posted_at": "4 days ago", "schedule_type": "Full-time"},
                }
            ],
        },
        {"jobs": [("Baker", A, "Oven", "2026-03-06")]},
    ),
    "jobs by their position": (
        "work__search_jobs",
        {
            "jobs": [
                {
                    "job_position": "Baker",
                    "job_link": A,
                    "company_name": "Oven",
                    "job_posting_date": "2025-09-04",
                }
            ]
        },
        {"jobs": [("Baker", A, "Oven", "2025-09-04")]},
    ),
    "jobs by their role": (
        "work__search_jobs",
        [{"job_id": "1", "job_url": A, "company_name": "Oven", "role": "Baker", "date_posted": "2025-01-10"}],
        {"jobs": [("Baker", A, "Oven", "2025-01-10")]},
    ),
    "news of shares": (
        "shares__NEWS_SENTIMENT",
        {
            "items": "1",
            "feed": [
                {
                    "title": "Up",
                    "url": A,
                    "time_published": "20260115T100000",
                    "summary": "It rose.",
                    "source": "Wire",
                }
            ],
        },
        {"news": [("Up", A, "Wire", "2026-01-15T10:00:00")]},
    ),
    "works with dates in parts": (
        "crossref__search_works",
        {
            "message": {
                "items": [
                    {
                        "DOI": "10.5555/1",
                        "URL": A,
                        "title": ["On bread"],
                        "container-title": ["Journal of Bread"],
                        "published": {"date-parts": [[2022, 7, 26]]},
                    },
                    {"URL": B, "title": ["On oats"], "issued": {"date-parts": [[2019, 3]]}},
                ]
            }
        },
        {
            "scholar": [
                ("On bread", A, "Journal of Bread", "2022-07-26"),
                ("On oats", B, "two.example", "2019-03"),
            ]
        },
    ),
    "works recognised by their fields": (
        "library__search_works",
        {"results": [{"id": A, "doi": None, "title": "On rye", "publication_year": 2024, "authorships": []}]},
        {"scholar": [("On rye", A, "one.example", "2024")]},
    ),
    "patents": (
        "serpapi__search",
        {
            "search_parameters": {"engine": "google_patents"},
            "organic_results": [
                {
                    "patent_id": "patent/X/en",
                    "patent_link": A,
                    "serpapi_link": API,
                    "title": "Oven",
                    "assignee": "Oven Works",
                    "publication_date": "2012-02-07",
                    "pdf": B,
                }
            ],
        },
        {"scholar": [("Oven", A, "Oven Works", "2012-02-07")]},
    ),
    "a product within its content": (
        "shop__search",
        {"results": [{"content": {"url": A, "title": "Mixer", "price": 8.12}, "url": A, "page": 1}]},
        {"web": [("Mixer", A, "one.example", None)]},
    ),
    "products on sites": (
        "serpapi__search",
        {
            "product_sites": [
                {"position": 1, "title": "Mixer", "link": A, "source": "Shop", "source_thumbnail": ICON}
            ]
        },
        {"shopping": [("Mixer", A, "Shop", None)]},
    ),
    "places of which one has a page": (
        "maps__google_maps_search",
        {
            "local_results": [
                {"title": "One", "reviews_link": API, "posts_link": API, "website": A},
                {"title": "Two"},
                {"title": "Three"},
            ]
        },
        {"local": [("One", A, "one.example", None)]},
    ),
    "features of one page": (
        "dataforseo__serp_organic_live",
        {
            "items": [
                {
                    "type": "jobs",
                    "rank_absolute": 1,
                    "title": "Jobs",
                    "url": None,
                    "items": [
                        {"type": "jobs_element", "title": "Baker", "url": B, "job_posted_time": "4 days ago"}
                    ],
                },
                {"type": "organic", "rank_absolute": 2, "title": "Ovens", "url": A, "description": "Hot."},
                {"type": "video", "rank_absolute": 3, "title": "Film", "url": C},
            ]
        },
        {
            "web": [("Ovens", A, "one.example", None)],
            "videos": [("Film", C, "three.example", None)],
            "jobs": [("Baker", B, "two.example", "2026-03-06")],
        },
    ),
    "the menu of a page": (
        "engine__search_engine",
        {
            "navigation": [{"title": "Images", "href": C}],
            "organic": [{"title": "One", "link": A, "description": "x"}],
            "related": [{"items": [{"text": "more", "link": C}]}],
        },
        {"web": [("One", A, "one.example", None)]},
    ),
    "events with a day but no year": (
        "serpapi__search",
        {
            "search_parameters": {"engine": "google_events"},
            "events_results": [
                {
                    "title": "Fair",
                    "link": A,
                    "date": {"start_date": "Nov 21", "when": "Fri, Nov 21, 7 - 9 PM"},
                    "venue": {"name": "Hall", "link": C},
                    "ticket_info": [{"source": "Tickets", "link": B}],
                },
                {"title": "Market", "link": B, "date": {"start_date": "Nov 22, 2025"}, "address": ["Square"]},
            ],
        },
        {"events": [("Fair", A, "Hall", None), ("Market", B, "two.example", "2025-11-22")]},
    ),
    "videos recognised by the server's name": (
        "youtube__search",
        {"items": [{"url": A, "duration": "PT1M", "title": "Film", "published": "3 weeks ago · 12K views"}]},
        {"videos": [("Film", A, "one.example", "2026-02-17")]},
    ),
}


def rows_of(artifacts: list[dict[str, Any]]) -> dict[str, list[Row]]:
    return {
        artifact["type"]: [
            (row["title"], row["url"], row["source"], row["date"]) for row in artifact["results"]
        ]
        for artifact in artifacts
    }


def in_blocks(text: str) -> str:
    half = len(text) // 2
    return json.dumps([{"type": "text", "text": text[:half]}, {"type": "text", "text": text[half:]}])


@pytest.mark.parametrize("form", ["json", "literal", "wrapped", "blocks"])
@pytest.mark.parametrize("name", SHAPES)
def test_recorded_shapes_are_read(name: str, form: str, context: ObserverContext, result: Make) -> None:
    tool, payload, expected = SHAPES[name]
    text = repr(payload) if form == "literal" else json.dumps(payload)
    if form == "wrapped":
        text = json.dumps({"result": text})
    elif form == "blocks":
        text = in_blocks(text)
    assert rows_of(observe(context, result(f"mcp__{tool}", text))) == expected


def test_the_authors_of_a_feed_are_not_its_titles(context: ObserverContext, result: Make) -> None:
    feed = f"""<feed><title>Query</title>
      <entry><id>http://papers.example/abs/1</id>
        <author><name>Ann Rye</name></author><author><name>Bo Oats</name></author>
        <title>On bread</title><published>2024-05-01T00:00:00Z</published><summary>It rises.</summary>
        <link href="{A}" rel="alternate" type="text/html"/><link href="{B}" rel="related" title="pdf"/>
      </entry></feed>"""
    assert rows_of(observe(context, result("mcp__arxiv__arxiv_search", feed))) == {
        "scholar": [("On bread", A, "Ann Rye, Bo Oats", "2024-05-01T01:00:00+01:00")]
    }


@pytest.mark.parametrize(
    ("tool", "payload"),
    [
        (
            "serpapi__search",
            {
                "search_parameters": {"engine": "google_trends"},
                "related_queries": {"rising": [{"query": "oven", "value": "Breakout", "link": A}]},
            },
        ),
        ("trips__search_flights", {"flights": [{"airline": "Air", "price": "$7", "airline_logo": ICON}]}),
        ("pubmed__search", {"esearchresult": {"count": "2", "idlist": ["1", "2"]}}),
        ("maps__search_place", {"place": {"reviews_link": API, "hours": [{"title": "Mon", "text": "9-5"}]}}),
    ],
)
def test_what_is_no_list_of_results_is_not_made_one(
    tool: str, payload: Any, context: ObserverContext, result: Make
) -> None:
    assert not any(
        artifact["results"] for artifact in observe(context, result(f"mcp__{tool}", json.dumps(payload)))
    )
