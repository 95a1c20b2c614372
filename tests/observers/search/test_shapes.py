"""Results in the shapes that providers and servers give them, with invented values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.observation import ToolCall, ToolResult
from observers.base import ObserverContext
from observers.search_results import SearchResults

Make = Callable[..., ToolResult]
A, B, C, D = (f"https://{name}.example/page?x=1" for name in ("one", "two", "three", "four"))
ICON = "https://cdn.example/icon.png"
API = "https://serpapi.example/search.json?q=x"
T = {"title": "One", "link": A}
U = {"title": "Two", "link": B}


def observe(context: ObserverContext, result: ToolResult) -> list[dict[str, Any]]:
    outcome = SearchResults().observe(result, context)
    return [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]


def pages_of(context: ObserverContext, result: ToolResult) -> dict[str, list[tuple[Any, ...]]]:
    return {
        artifact["type"]: [(row["title"], row["url"]) for row in artifact["results"]]
        for artifact in observe(context, result)
    }


ONE, TWO = ("One", A), ("Two", B)
JSON_SHAPES: dict[str, tuple[str, Any, dict[str, list[tuple[Any, ...]]]]] = {
    "jobs with a share link": (
        "serpapi_search",
        {
            "search_parameters": {"engine": "google_jobs", "q": "baker"},
            "jobs_results": [
                {"title": "One", "company_name": "Oven", "share_link": A, "apply_options": [U]},
                {
                    "title": "Two",
                    "company_name": "Oven",
                    "via": "Board",
                    "apply_options": [{"title": "Board", "link": B}],
                },
            ],
            "filters": [{"name": "Pay", "link": C}],
        },
        {"jobs": [ONE, TWO]},
    ),
    "jobs with prefixed fields": (
        "job_search",
        {
            "status": "OK",
            "parameters": {"query": "baker"},
            "data": [
                {
                    "job_id": "1",
                    "job_title": "One",
                    "employer_name": "Oven",
                    "employer_logo": ICON,
                    "employer_website": C,
                    "job_apply_link": A,
                    "job_description": "Bakes.",
                    "job_highlights": {"Benefits": ["Bread"]},
                }
            ],
        },
        {"jobs": [ONE]},
    ),
    "shopping in groups": (
        "shopping_search",
        {"shopping_results": [{"title": "Nearby", "items": [T | {"price": "$1"}, U | {"price": "$2"}]}]},
        {"shopping": [ONE, TWO]},
    ),
    "products with a page address": (
        "serpapi_search",
        {
            "search_parameters": {"engine": "walmart"},
            "organic_results": [
                {
                    "title": "One",
                    "thumbnail": ICON,
                    "primary_offer": {"offer_price": 1},
                    "serpapi_product_page_url": API,
                    "product_page_url": A,
                }
            ],
        },
        {"shopping": [ONE]},
    ),
    "apps in groups": (
        "serpapi_search",
        {"organic_results": [{"title": "Top", "items": [T | {"rating": 4, "thumbnail": ICON}]}, U]},
        {"web": [ONE, TWO]},
    ),
    "places with links": (
        "google_maps_search",
        {
            "local_results": [
                {
                    "position": 1,
                    "title": "One",
                    "place_id_search": API,
                    "links": {"directions": C, "website": A},
                },
                {"position": 2, "title": "Two", "website": B, "thumbnail": ICON},
            ]
        },
        {"local": [ONE, TWO]},
    ),
    "finance": (
        "COMPOSIO_SEARCH_FINANCE",
        {
            "data": {
                "markets": {
                    "us": [{"stock": "X", "name": "One", "link": A, "serpapi_link": API, "price": 1}]
                },
                "news_results": [{"title": "N", "items": [{"title": "Two", "link": B, "source": "Daily"}]}],
            },
            "successful": True,
        },
        {"finance": [ONE], "news": [TWO]},
    ),
    "patents": (
        "serpapi_search",
        {"organic_results": [{"title": "One", "patent_link": A, "serpapi_link": API, "pdf": C}]},
        {"web": [ONE]},
    ),
    "short videos and questions": (
        "serpapi_search",
        {
            "organic_results": [T],
            "short_videos": [{"title": "Two", "link": B, "clip": C}],
            "related_questions": [{"question": "Why?", "title": "Two", "link": B, "snippet": "So."}],
            "ai_overview": {"text_blocks": [{"snippet": "It is."}], "references": [U | {"index": 0}]},
            "top_stories": [U | {"source": "Daily", "date": "1 day ago"}],
        },
        {"web": [ONE], "videos": [TWO], "questions": [TWO], "web_answer": [TWO], "news": [TWO]},
    ),
    "a list per vertical with pictures": (
        "bocha_web_search",
        {
            "data": {
                "queryContext": {"originalQuery": "q"},
                "webPages": {
                    "value": [
                        {"id": API, "name": "One", "url": A, "displayUrl": "one.example", "snippet": "s"}
                    ]
                },
                "images": {
                    "value": [{"name": "Two", "hostPageUrl": B, "contentUrl": ICON, "thumbnailUrl": ICON}]
                },
                "relatedSearches": {"value": [{"text": "more", "webSearchUrl": C}]},
                "rankingResponse": {
                    "mainline": {"items": [{"answerType": "WebPages", "value": {"id": API}}]}
                },
            }
        },
        {"web": [ONE], "images": [TWO]},
    ),
    "news as values": (
        "bing_news_search",
        {
            "_type": "News",
            "value": [
                {"name": "One", "url": A, "provider": [{"name": "Daily"}], "datePublished": "2026-01-02"}
            ],
        },
        {"news": [ONE]},
    ),
    "grounding by kind, and again by address": (
        "brave_llm_context",
        {
            "grounding": {"generic": [{"url": A, "title": "One", "snippets": ["a"]}], "map": []},
            "sources": {A: {"title": "One", "hostname": "one.example"}},
        },
        {"web": [ONE]},
    ),
    "rows under their own addresses": (
        "web_search",
        {"sources": {A: {"title": "One", "hostname": "one.example"}, B: {"title": "Two"}}},
        {"web": [ONE, TWO]},
    ),
    "pictures that are only addresses": (
        "tavily_search",
        {"query": "q", "results": [T | {"content": "c"}], "images": [C, D], "follow_up_questions": None},
        {"web": [ONE], "images": [(None, C), (None, D)]},
    ),
    "an answer and its sources": (
        "linkup_search",
        {"answer": "So it is.", "sources": [{"name": "One", "url": A, "snippet": "s"}]},
        {"web_answer": [ONE]},
    ),
    "an answer that cites addresses twice": (
        "perplexity_ask_search",
        {
            "choices": [{"message": {"content": "So it is [1]."}}],
            "citations": [A, B],
            "search_results": [{"title": "One", "url": A, "date": "2026-01-02"}, {"title": "Two", "url": B}],
        },
        {"web": [ONE, TWO]},
    ),
    "an answer that cites bare addresses": (
        "perplexity_search",
        {"choices": [{"message": {"content": "So."}}], "citations": [A, B]},
        {"web_answer": [(None, A), (None, B)]},
    ),
    "results with other things between them": (
        "kagi_search",
        {"meta": {"ms": 1}, "data": [{"t": 0, "rank": 1, "url": A, "title": "One"}, {"t": 1, "list": ["x"]}]},
        {"web": [ONE]},
    ),
    "an answer as output": (
        "kagi_fastgpt_search",
        {"data": {"output": "So.", "references": [{"title": "One", "url": A, "snippet": "s"}]}},
        {"web_answer": [ONE]},
    ),
    "videos with the address as content": (
        "ddg_video_search",
        [
            {
                "content": A,
                "title": "One",
                "description": "d",
                "embed_url": C,
                "images": {"large": ICON},
                "duration": "1:00",
            }
        ],
        {"videos": [ONE]},
    ),
    "topics in groups": (
        "duckduckgo_search",
        {
            "Heading": "H",
            "RelatedTopics": [
                {"FirstURL": A, "Text": "One", "Icon": {"URL": ""}},
                {"Name": "More", "Topics": [{"FirstURL": B, "Text": "Two"}]},
            ],
        },
        {"web": [(None, A), (None, B)]},
    ),
    "pictures with nested addresses": (
        "searchapi_search",
        {
            "images": [
                {
                    "title": "One",
                    "source": {"name": "S", "link": A},
                    "original": {"link": C},
                    "thumbnail": ICON,
                }
            ]
        },
        {"images": [ONE]},
    ),
    "typed items and groups": (
        "dataforseo_serp",
        {
            "status_code": 20000,
            "tasks": [
                {
                    "id": "1",
                    "status_code": 20000,
                    "data": {"keyword": "q"},
                    "result": [
                        {
                            "keyword": "q",
                            "check_url": D,
                            "items": [
                                {
                                    "type": "organic",
                                    "rank_group": 1,
                                    "position": "left",
                                    "title": "One",
                                    "url": A,
                                },
                                {
                                    "type": "people_also_ask",
                                    "items": [
                                        {
                                            "type": "people_also_ask_element",
                                            "title": "Why?",
                                            "expanded_element": [
                                                {"url": B, "title": "Two", "description": "So."}
                                            ],
                                        }
                                    ],
                                },
                                {
                                    "type": "video",
                                    "items": [{"type": "video_element", "title": "Two", "url": B}],
                                },
                                {"type": "related_searches", "items": ["more"]},
                            ],
                        }
                    ],
                }
            ],
        },
        {"web": [ONE], "questions": [("Why?", B)], "videos": [TWO]},
    ),
    "verticals between the results": (
        "zenserp_search",
        {
            "query": {"q": "q"},
            "organic": [{"position": 1, "title": "One", "url": A}, {"videos": [{"title": "Two", "url": B}]}],
        },
        {"web": [ONE], "videos": [TWO]},
    ),
    "results in a page's content": (
        "oxylabs_search",
        {
            "results": [
                {
                    "content": {
                        "url": D,
                        "results": {"organic": [{"pos": 1, "title": "One", "url": A, "desc": "d"}]},
                    }
                }
            ]
        },
        {"web": [ONE]},
    ),
    "wrapped rows": (
        "rag_web_search",
        [
            {
                "crawl": {"status": 200},
                "searchResult": {"title": "One", "url": A, "description": "d"},
                "markdown": "m",
            }
        ],
        {"web": [ONE]},
    ),
    "rows wrapped twice": (
        "vertex_search",
        {"results": [{"id": "1", "document": {"id": "1", "derivedStructData": {"title": "One", "link": A}}}]},
        {"web": [ONE]},
    ),
    "posts": (
        "reddit_search",
        {
            "kind": "Listing",
            "data": {"children": [{"kind": "t3", "data": {"title": "One", "url": A, "selftext": "s"}}]},
        },
        {"discussions": [ONE]},
    ),
    "chunks of an answer": (
        "google_grounded_search",
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": "So."}]},
                    "groundingMetadata": {
                        "webSearchQueries": ["q"],
                        "groundingChunks": [
                            {"web": {"uri": A, "title": "One"}},
                            {},
                            {"web": {"uri": B, "title": "Two"}},
                        ],
                        "groundingSupports": [{"segment": {"text": "So."}}],
                    },
                }
            ]
        },
        {"web_answer": [ONE, TWO]},
    ),
    "annotations of an answer": (
        "openai_web_search",
        {
            "output": [
                {"type": "web_search_call", "action": {"type": "search", "query": "q"}},
                {
                    "type": "message",
                    "content": [
                        {
                            "type": "output_text",
                            "text": "So.",
                            "annotations": [
                                {"type": "url_citation", "start_index": 0, "url": A, "title": "One"}
                            ],
                        }
                    ],
                },
            ]
        },
        {"web_answer": [ONE]},
    ),
    "annotations one level deeper": (
        "openai_web_search",
        {
            "choices": [
                {
                    "message": {
                        "content": "So.",
                        "annotations": [{"type": "url_citation", "url_citation": {"url": A, "title": "One"}}],
                    }
                }
            ]
        },
        {"web_answer": [ONE]},
    ),
    "blocks of a model's message": (
        "anthropic_web_search",
        {
            "content": [
                {"type": "text", "text": "I will look."},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s",
                    "content": [
                        {"type": "web_search_result", "title": "One", "url": A, "encrypted_content": "x"}
                    ],
                },
            ]
        },
        {"web": [ONE]},
    ),
    "papers": (
        "search_papers",
        {
            "total_results": 1,
            "papers": [{"id": "2601.1", "title": "One", "authors": ["A"], "abstract": "a", "url": A}],
        },
        {"scholar": [ONE]},
    ),
    "works": (
        "openalex_search",
        {
            "meta": {"count": 1},
            "results": [{"id": C, "doi": A, "display_name": "One", "publication_date": "2026-01-02"}],
        },
        {"scholar": [ONE]},
    ),
    "messages of works": (
        "crossref_search",
        {
            "status": "ok",
            "message": {"items": [{"DOI": "10.1/x", "URL": A, "title": ["One"], "container-title": ["J"]}]},
        },
        {"scholar": [ONE]},
    ),
    "documents of an index": (
        "site_search",
        {
            "hits": {
                "total": 1,
                "hits": [{"_index": "i", "_id": "1", "_score": 1.5, "_source": {"title": "One", "url": A}}],
            }
        },
        {"web": [ONE]},
    ),
    "pages by number": (
        "wiki_search",
        {
            "query": {
                "pages": {
                    "1": {"title": "One", "fullurl": A, "extract": "e"},
                    "2": {"title": "Two", "fullurl": B},
                }
            }
        },
        {"web": [ONE, TWO]},
    ),
    "documents written as text": (
        "web_search",
        {
            "Response": {
                "Pages": [json.dumps({"title": "One", "url": A}), json.dumps({"title": "Two", "url": B})]
            }
        },
        {"web": [ONE, TWO]},
    ),
    "headlines of a paper": (
        "guardian_search",
        {
            "response": {
                "status": "ok",
                "results": [{"webTitle": "One", "webUrl": A, "apiUrl": API, "sectionName": "S"}],
            }
        },
        {"web": [ONE]},
    ),
    "docs of a paper": (
        "nyt_article_search",
        {
            "response": {
                "docs": [
                    {"headline": {"main": "One"}, "web_url": A, "snippet": "s", "pub_date": "2026-01-02"}
                ]
            }
        },
        {"web": [ONE]},
    ),
    "columns side by side": ("wiki_search", ["q", ["One", "Two"], ["", ""], [A, B]], {"web": [ONE, TWO]}),
    "categories of products": (
        "shopping_search",
        {"categorized_shopping_results": [{"title": "Kind", "shopping_results": [T, U]}, {"title": "Other"}]},
        {"shopping": [ONE, TWO]},
    ),
    "only one row": ("web_search", {"title": "One", "url": A, "snippet": "s"}, {"web": [ONE]}),
    "some rows lack an address": (
        "web_search",
        {"results": [{"title": "x"}, {"title": "y"}, {"title": "z"}, T, "s", None, U, U | {"link": C}]},
        {"web": [ONE, TWO, ("Two", C)]},
    ),
}


@pytest.mark.parametrize("name", JSON_SHAPES)
def test_shapes_of_json(context: ObserverContext, result: Make, name: str) -> None:
    tool, body, pages = JSON_SHAPES[name]
    assert pages_of(context, result(f"mcp__x__{tool}", json.dumps(body))) == pages


TEXT_SHAPES: dict[str, tuple[str, dict[str, list[tuple[Any, ...]]]]] = {
    "numbered with the address below": (
        f"1. One\n   {A}\n   Said of it.\n\n2. Two\n   {B}\n   Said.",
        {"web": [ONE, TWO]},
    ),
    "numbered with a colon": (
        f'-----\nResults for search query "q":\n-----\n1: One\n{A}\nPublished Date: 2026\nSaid.\n\n2: Two\n{B}\nSaid.',
        {"web": [ONE, TWO]},
    ),
    "links on lines of their own": (
        f"## Search Results\n\n[One]({A})\nSaid.\n\n[Two]({B})\nSaid.",
        {"web": [ONE, TWO]},
    ),
    "bold titles": (f"**1. One**\n🔗 {A}\nSaid.\n\n**2. Two**\n🔗 {B}\nSaid.", {"web": [ONE, TWO]}),
    "titles as headings": (f"### 1. [One]({A})\nSaid.\n\n### 2. [Two]({B})\nSaid.", {"web": [ONE, TWO]}),
    "titles in bullets": (
        f"Top (2 articles):\n- One\n  Source: Daily\n  Date: 2026\n  Link: {A}\n\n- Two\n  Source: Daily\n  Link: {B}",
        {"web": [ONE, TWO]},
    ),
    "labels with numbers": (
        f"[1] Title: One\n[1] URL Source: {A}\n[1] Description: Said.\n\n[2] Title: Two\n[2] URL Source: {B}\n",
        {"web": [ONE, TWO]},
    ),
    "the address first": (
        f"URL: {A}\nTitle: One\nContent: Said.\n\nURL: {B}\nTitle: Two\nContent: Said.",
        {"web": [ONE, TWO]},
    ),
    "the address last": (
        f"Title: One\nDescription: d\nURL: {A}\n\nTitle: Two\nDescription: d\nURL: {B}",
        {"web": [ONE, TWO]},
    ),
    "yaml": (
        f'title: "One"\nurl: {A}\nsnippet: >-\n  Said\n  of it.\n---\ntitle: Two\nurl: {B}\n',
        {"web": [ONE, TWO]},
    ),
    "pictures after the pages": (
        f"Answer: So.\nResults:\n\nTitle: One\nURL: {A}\nContent: c\n\nImages:\n\n[1] URL: {C}\n   Description: d",
        {"web": [ONE], "images": [(None, C)]},
    ),
    "verticals under headings": (
        f"WEB RESULTS:\n\nTitle: One\nURL: {A}\n\n====\n\nNEWS RESULTS:\n\nTitle: Two\nURL: {B}",
        {"web": [ONE], "news": [TWO]},
    ),
    "an answer and its citations": (
        f"It is so [1].\n\nCitations:\n[1] {A}\n[2] {B}\n",
        {"web_answer": [(None, A), (None, B)]},
    ),
    "a table": (
        f"| Position | Title | Link | Snippet |\n|---|---|---|---|\n| 1 | One | {A} | s |\n| 2 | [Two]({B}) | | s |",
        {"web": [ONE, TWO]},
    ),
    "elements": (
        f'<r><result><title>One</title><url>{A}</url></result><result><title>Two</title><link href="{B}"/></result>',
        {"web": [ONE, TWO]},
    ),
    "one line": (
        f"[snippet: a, b, title: One, link: {A}, snippet: c, title: Two, link: {B}]",
        {"web": [ONE, TWO]},
    ),
    "title and address on one line": (f"- One - {A}\n- Two ({B})", {"web": [ONE, TWO]}),
    "links and labels": (
        f"1. [One]({A})\n   URL: {A}\n   Snippet: s\n\n2. [Two]({B})\n   URL: {B}\n   Snippet: t\n\nREMINDER: cite",
        {"web": [ONE, TWO]},
    ),
    "a title over the links": (
        f"Title: Web search results for query: x\nContent: Links:\n1. [One]({A})\n2. [Two]({B})\n\n- said",
        {"web": [ONE, TWO]},
    ),
    "documents between announcements": (
        'Web search results for query: "q"\n\n**Tool: search**\n\n**Input:**\n```json\n{"search_query": "q"}\n```\n\n'
        f"**Output:**\n**summary:** {json.dumps([{'text': [T, U], 'type': 'text'}])}\n\nSo.",
        {"web": [ONE, TWO]},
    ),
    "sources as labels": (f"1. One\nSource: {A}\n\n2. Two\nSource: {B}", {"web": [ONE, TWO]}),
}


@pytest.mark.parametrize("name", TEXT_SHAPES)
def test_shapes_of_text(context: ObserverContext, result: Make, name: str) -> None:
    text, pages = TEXT_SHAPES[name]
    assert pages_of(context, result("mcp__x__web_search", text)) == pages


def test_the_text_about_a_result_stays_with_it(context: ObserverContext, result: Make) -> None:
    text = (
        f"Title: One\nURL: {A}\nPublished: 2026-01-02\nHighlights:\nfirst\n\n1. a list\n2. in it\nsee {C}\n\n---\n\n"
        f"Title: Two\nURL: {B}\nText: second"
    )
    (artifact,) = observe(context, result("mcp__exa__web_search_exa", text))
    first, second = artifact["results"]
    assert (first["snippet"].split()[0], first["snippet"].split()[-1]) == ("first", C)
    assert first["date"].startswith("2026-01-02")
    assert (second["title"], second["snippet"]) == ("Two", "second")


def test_rows_that_come_as_a_block_each(context: ObserverContext, result: Make) -> None:
    blocks = [
        "Summarizer key: x",
        json.dumps({"url": A, "title": "One", "description": "d", "extra_snippets": ["e"]}),
        json.dumps({"url": B, "title": "Two", "description": "d"}),
        json.dumps({"url": C, "title": "Three", "question": "Why?", "answer": "So."}),
        json.dumps({"url": D, "title": "Four", "description": "d", "age": "1 day ago", "breaking": False}),
    ]
    assert pages_of(context, result("mcp__brave__brave_web_search", blocks)) == {
        "web": [ONE, TWO],
        "questions": [("Three", C)],
        "news": [("Four", D)],
    }


def test_a_document_a_line(context: ObserverContext, result: Make) -> None:
    text = "\n".join(json.dumps({"title": f"T{n}", "url": f"{A}&n={n}"}) for n in range(100))
    (artifact,) = observe(context, result("mcp__x__web_search", text))
    assert len(artifact["results"]) == 100


def test_each_of_several_searches_has_its_query(context: ObserverContext, result: Make) -> None:
    body = [
        {"searchParameters": {"q": "first", "type": "search"}, "organic": [T]},
        {"searchParameters": {"q": "second", "type": "news"}, "news": [U]},
        {"searchParameters": {"q": "third", "type": "search"}, "organic": []},
    ]
    artifacts = observe(context, result("mcp__x__serper_search", json.dumps(body)))
    assert {(artifact["query"], artifact["type"], len(artifact["results"])) for artifact in artifacts} == {
        ("first", "web", 1),
        ("second", "news", 1),
        ("third", "web", 0),
    }


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"hits": []},
        {"web": {"results": []}, "query": {"original": "q"}},
        {"articles": [], "totalArticles": 0},
        {"data": []},
        {"searchInformation": {"totalResults": "0"}},
        "No results found.",
        "No results were found for your search query. Please try again.",
    ],
)
def test_nothing_found_is_an_empty_page(context: ObserverContext, result: Make, body: Any) -> None:
    (artifact,) = observe(
        context, result("mcp__x__web_search", body if isinstance(body, str) else json.dumps(body))
    )
    assert (artifact["type"], artifact["results"], artifact.get("error")) == ("web", [], None)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"message": "Unauthorized.", "statusCode": 403}, "Unauthorized."),
        ({"detail": {"error": "Unauthorized: missing key."}}, "Unauthorized: missing key."),
        ({"type": "ErrorResponse", "error": {"status": 429, "detail": "Too fast."}}, "Too fast."),
        ({"status": "error", "code": "apiKeyInvalid", "message": "Bad key."}, "Bad key."),
        ({"errors": ["Bad key."]}, "Bad key."),
        ({"_type": "ErrorResponse", "errors": [{"code": "1", "message": "Bad key."}]}, "Bad key."),
        ({"success": False, "error": "Out of credits"}, "Out of credits"),
        ("Error: Rate limit exceeded", "Error: Rate limit exceeded"),
        ("Search failed: timed out", "Search failed: timed out"),
    ],
)
def test_a_failed_search_is_an_error(context: ObserverContext, result: Make, body: Any, error: str) -> None:
    (artifact,) = observe(
        context, result("mcp__x__web_search", body if isinstance(body, str) else json.dumps(body))
    )
    assert (artifact["type"], artifact["results"], artifact["error"]) == ("error", [], error)


FOREIGN: dict[str, tuple[str, Any]] = {
    "mail": (
        "office__recent",
        {"value": [{"title": "T", "url": A, "subject": "S", "from": "a@b.example", "body": "b"}]},
    ),
    "files": (
        "store__list",
        {"items": [{"name": "n", "url": A, "mimeType": "text/plain", "createdAt": "2026-01-02"}]},
    ),
    "code": (
        "forge__hits",
        {"items": [{"name": "n", "html_url": A, "path": "a/b.py", "repository": {}, "score": 1}]},
    ),
    "tasks": (
        "desk__open",
        [{"title": "T", "url": A, "status": "open", "assignee": "x", "description": "d"}],
    ),
    "deployments": (
        "host__list",
        {"deployments": [{"name": "n", "url": A, "state": "READY", "createdAt": 1}]},
    ),
    "tools": (
        "registry__list",
        {"servers": [{"name": "n", "url": A, "description": "d", "inputSchema": {}}]},
    ),
    "people": (
        "crm__list",
        {"people": [{"name": "n", "url": A, "email": "a@b.example", "description": "d"}]},
    ),
    "pages that were read": ("pages__get", [{"title": "T", "url": A, "markdown": "# T", "description": "d"}]),
    "names and addresses": ("links__list", [{"name": "n", "url": A}]),
    "text about it": ("notes__get", f"1. One\n   {A}\n"),
    "a spreadsheet": ("GOOGLESHEETS_LOOKUP_SPREADSHEET_ROW", {"items": [{"title": "T", "url": A}]}),
    "documents of one's own": ("GOOGLEDOCS_SEARCH_DOCUMENTS", {"items": [{"title": "T", "url": A}]}),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_page_of_results(context: ObserverContext, result: Make, name: str) -> None:
    tool, body = FOREIGN[name]
    call = result(f"mcp__{tool}", body if isinstance(body, str) else json.dumps(body))
    assert not SearchResults().wants(call.call) or observe(context, call) == []


@pytest.mark.parametrize(
    "tool", ["mcp__serpapi__event_search", "mcp__composio__COMPOSIO_SEARCH_EVENT_SEARCH"]
)
def test_searches_for_events(tool: str) -> None:
    assert SearchResults().wants(ToolCall(tool_use_id="t", name=tool))


@pytest.mark.parametrize(
    "body",
    [
        {"entries": [{"title": "One", "link": A, "published": "2026-01-02"}, U | {"summary": "s"}]},
        {
            "feed": {
                "children": [
                    {"kind": "t3", "data": {"title": "One", "url": A, "selftext": "s"}},
                    U | {"source": "S"},
                ]
            }
        },
        f"1. One\n   URL: {A}\n   Summary: s\n\n2. Two\n   URL: {B}\n   Summary: s",
    ],
)
def test_results_of_a_tool_nobody_knows(context: ObserverContext, result: Make, body: Any) -> None:
    call = result("mcp__unheard_of__do_it", body if isinstance(body, str) else json.dumps(body))
    assert pages_of(context, call) == {"web": [ONE, TWO]}


def test_fields_under_other_names(context: ObserverContext, result: Make) -> None:
    item = {
        "display_name": "One",
        "landing_page_url": A,
        "container-title": ["Journal"],
        "publication_date": "2026-01-02",
        "trailText": "said",
        "position_on_page": 0,
    }
    (artifact,) = observe(context, result("mcp__x__web_search", json.dumps({"results": [item]})))
    (row,) = artifact["results"]
    assert (row["title"], row["url"], row["source"], row["date"], row["snippet"], row["position"]) == (
        "One", A, "Journal", "2026-01-02", "said", 0
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        f"Title: One\nURL: {A}\nContent: s\n\n... [truncated]",
        json.dumps({"results": [T, U]})[:100] + "\n\n[OUTPUT TRUNCATED - exceeded 25000 token limit]",
        json.dumps({"result": json.dumps({"data": json.dumps({"results": [T, U]})})})[:-40],
    ],
)
def test_a_cut_is_noticed(context: ObserverContext, result: Make, text: str) -> None:
    (artifact,) = observe(context, result("mcp__x__web_search", text))
    assert artifact["truncated"] is True
    assert artifact["results"][0]["url"] == A


@pytest.mark.parametrize(
    "wrap", [lambda rows: {"results": rows}, lambda rows: {"data": rows}, lambda rows: rows]
)
@pytest.mark.parametrize(
    "bad",
    [["no row", None, 7, {}, [1], {"error": "e"}, {"url": 17}], [{"title": "no address"}] * 7, [None] * 7],
    ids=["mixed", "titles", "nulls"],
)
def test_two_good_rows_among_seven_bad_ones_are_saved(
    context: ObserverContext, result: Make, wrap: Callable[[list[Any]], Any], bad: list[Any]
) -> None:
    rows = [*bad[:3], T, *bad[3:5], U, *bad[5:]]
    outcome = SearchResults().observe(result("mcp__x__web_search", json.dumps(wrap(rows))), context)
    (saved,) = outcome.artifacts
    artifact = json.loads(context.workspace.read_artifact(saved.path))
    assert [row["url"] for row in artifact["results"]] == [A, B]
    assert (outcome.items, outcome.rejected, artifact["rejected"]) == (2, 7, 7)
    assert outcome.note == "7 items are not results and were skipped"
