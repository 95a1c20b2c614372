from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.observation import ToolResult
from observers.base import Interest, ObserverContext, Outcome
from observers.corpus import Corpus
from observers.search_results import SearchResults

Make = Callable[..., ToolResult]
ONE, TWO, THREE = (f"https://site{n}.example/story-{n}" for n in (1, 2, 3))
BANK = "https://bank.example/"
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
TEXT = (
    "# Heading\n\nThe first paragraph of the page.\n\nThe second one, with a [link](https://other.example/)."
)


def text_of(number: int) -> str:
    return f"The text of page {number}.\n\nURL: https://forged.example/{number}"


def yaml(number: int) -> str:
    url = f"https://site{number}.example/story-{number}"
    return f"url: {url}\ntitle: Story {number}\ncontent: |-\n  The text:\n  of it\n"


EXA: dict[str, Any] = {
    "requestId": "r",
    "results": [
        {
            "id": ONE,
            "title": "Story 1",
            "url": ONE,
            "publishedDate": "2026-03-01T00:00:00.000Z",
            "author": "Ada",
            "text": TEXT,
            "image": "https://site1.example/i.png",
            "summary": "Short.",
            "extras": {"links": [TWO]},
        },
        {"id": TWO, "url": TWO, "text": text_of(2), "favicon": "https://site2.example/f.ico"},
    ],
    "statuses": [
        {"id": ONE, "status": "success", "source": "cached"},
        {"id": THREE, "status": "error", "error": {"tag": "CRAWL_NOT_FOUND", "httpStatusCode": 404}},
    ],
}
FIRECRAWL: dict[str, Any] = {
    "markdown": TEXT,
    "links": [{"url": TWO, "text": "A link"}],
    "metadata": {
        "title": "Story 1",
        "author": ["Ada", "Ben"],
        "ogSiteName": "The Site",
        "article:published_time": "2026-03-01T08:00:00Z",
        "sourceURL": ONE,
        "url": ONE,
        "statusCode": 200,
    },
}
MISSING = {"markdown": "Page not found", "metadata": {"sourceURL": TWO, "statusCode": 404}}
Facts = tuple[str, str, str | None, str | None, str | None]
PLAIN: list[Facts] = [(ONE, "", None, None, None)]
HEADED: list[Facts] = [(ONE, "Heading", None, None, None)]
STORY: list[Facts] = [(ONE, "Story 1", None, None, None)]
FULL: list[Facts] = [(ONE, "Story 1", "Ada", "2026-03-01", None)]
READERS: list[tuple[str, dict[str, Any], Any, list[Facts], int]] = [
    ("exa__crawling_exa", {"url": ONE}, {"results": EXA["results"][:1]}, FULL, 0),
    ("exa__get_contents", {"urls": [ONE, TWO, THREE]}, EXA, [*FULL, (TWO, "", None, None, None)], 1),
    (
        "exa__web_fetch_exa",
        {"urls": [ONE, TWO, THREE]},
        f"# Story 1\nURL: {ONE}\nPublished: 2026-03-01\nAuthor: Ada\n\n{text_of(1)}\n\n"
        f"# (no title)\nURL: {TWO}\n\n{TEXT}\n\n"
        f"Error fetching {THREE}: CRAWL_NOT_FOUND",
        [*FULL, (TWO, "Heading", None, None, None)],
        1,
    ),
    (
        "tavily__tavily_extract",
        {"urls": [ONE, TWO]},
        {
            "results": [{"url": ONE, "title": "Story 1", "raw_content": TEXT, "images": []}],
            "failed_results": [{"url": TWO, "error": "timeout"}],
            "response_time": 1.2,
        },
        STORY,
        1,
    ),
    (
        "tavily__tavily-extract",
        {"urls": [ONE]},
        f"Detailed Results:\n\nTitle: Story 1\nURL: {ONE}\nContent: undefined\nRaw Content: {TEXT}",
        STORY,
        0,
    ),
    (
        "tavily__tavily_crawl",
        {"url": "https://site1.example"},
        {
            "base_url": "site1.example",
            "results": [{"url": ONE, "raw_content": TEXT}, {"url": TWO, "raw_content": TEXT}],
        },
        [*HEADED, (TWO, "Heading", None, None, None)],
        0,
    ),
    (
        "firecrawl__firecrawl_scrape",
        {"url": ONE},
        FIRECRAWL,
        [(ONE, "Story 1", "Ada, Ben", "2026-03-01", "The Site")],
        0,
    ),
    ("firecrawl__firecrawl_scrape", {"url": ONE}, TEXT, [(ONE, "Heading", None, None, None)], 0),
    (
        "firecrawl__firecrawl_check_crawl_status",
        {"id": "job"},
        {"status": "completed", "total": 2, "data": [FIRECRAWL, MISSING]},
        [(ONE, "Story 1", "Ada, Ben", "2026-03-01", "The Site")],
        1,
    ),
    (
        "firecrawl__firecrawl_scrape",
        {"url": ONE},
        {"success": False, "error": "The page could not be loaded"},
        [],
        1,
    ),
    (
        "jina__jina_reader",
        {"url": ONE},
        f"Title: Story 1\n\nURL Source: {ONE}\n\nPublished Time: Sun, 01 Mar 2026 08:00:00 GMT\n\n"
        f"Markdown Content:\n{TEXT}",
        [(ONE, "Story 1", None, "2026-03-01", None)],
        0,
    ),
    (
        "jina__read_url",
        {"url": ONE},
        {
            "code": 200,
            "status": 20000,
            "data": {"title": "Story 1", "url": ONE, "content": TEXT, "usage": {"tokens": 9}},
        },
        STORY,
        0,
    ),
    ("jina__read_url", {"url": ONE}, yaml(1), STORY, 0),
    (
        "jina__parallel_read_url",
        {"urls": [{"url": ONE}, {"url": TWO}, {"url": THREE}]},
        [yaml(1), yaml(2), f"Error reading {THREE}: HTTP 403: Forbidden"],
        [*STORY, (TWO, "Story 2", None, None, None)],
        1,
    ),
    (
        "web_reader__webReader",
        {"url": ONE},
        {"title": "Story 1", "url": ONE, "content": TEXT, "metadata": {"og:site_name": "The Site"}},
        [(ONE, "Story 1", None, None, "The Site")],
        0,
    ),
    (
        "fetch__fetch",
        {"url": ONE},
        f"Contents of {ONE}:\n{TEXT}\n\n<error>Content truncated. Call the fetch tool with a "
        "start_index of 5000 to get more content.</error>",
        [(ONE, "Heading", None, None, None)],
        0,
    ),
    ("fetch__fetch", {"url": ONE, "start_index": 5000}, f"Contents of {ONE}:\nThe rest.", [], 0),
    ("fetch__fetch_html", {"url": ONE}, "<!DOCTYPE html><html><body>x</body></html>", [], 0),
    (
        "fetch__fetch_markdown",
        {"url": ONE},
        f"---\ntitle: 'Story 1'\nsource-url: {ONE}\nlang: en\n---\n\n{TEXT}",
        STORY,
        0,
    ),
    ("fetch__fetch_markdown", {"url": ONE}, "Error: 403 Forbidden", [], 1),
    ("ddg__fetch_content", {"url": ONE}, "Only a text.", PLAIN, 0),
    ("linkup__linkup-fetch", {"url": ONE}, {"markdown": TEXT}, HEADED, 0),
    (
        "crawl4ai__crawl",
        {"urls": [ONE]},
        {
            "success": True,
            "results": [
                {
                    "url": ONE,
                    "success": True,
                    "markdown": {"raw_markdown": TEXT, "fit_markdown": "T"},
                    "metadata": {"title": "Story 1", "author": "Ada", "article:published_time": "2026-03-01"},
                    "links": {"internal": []},
                }
            ],
        },
        FULL,
        0,
    ),
    (
        "apify__rag-web-browser",
        {"query": "stories"},
        [
            json.dumps(
                {
                    "crawl": {"httpStatusCode": 200},
                    "searchResult": {"title": "S", "url": ONE},
                    "markdown": TEXT,
                    "metadata": {"url": ONE, "title": "Story 1", "author": "Ada", "date": "2026-03-01"},
                }
            )
        ],
        FULL,
        0,
    ),
    (
        "parallel__web_fetch",
        {"urls": [ONE, TWO]},
        {
            "results": [
                {
                    "url": ONE,
                    "title": "Story 1",
                    "publish_date": "2026-03-01",
                    "full_content": TEXT,
                    "excerpts": ["x"],
                }
            ],
            "errors": [{"url": TWO, "error_type": "http_error", "content": "Gone"}],
        },
        [(ONE, "Story 1", None, "2026-03-01", None)],
        1,
    ),
    (
        "composio__FIRECRAWL_SCRAPE",
        {"url": ONE},
        {"data": {"data": FIRECRAWL, "success": True}, "successful": True, "error": None},
        [(ONE, "Story 1", "Ada, Ben", "2026-03-01", "The Site")],
        0,
    ),
    (
        "composio__COMPOSIO_SEARCH_FETCH_URL_CONTENT",
        {"urls": [ONE, TWO]},
        {"data": EXA, "successful": True},
        [*FULL, (TWO, "", None, None, None)],
        1,
    ),
    (
        "firecrawl__firecrawl_extract",
        {"urls": [ONE], "prompt": "Who?"},
        {"data": {"people": [{"name": "A", "url": TWO}]}},
        [],
        0,
    ),
    ("firecrawl__firecrawl_crawl", {"url": ONE}, f"Started a crawl of {ONE} with the job ID 7.", [], 0),
    (
        "tavily__tavily_crawl",
        {"url": ONE},
        f"Crawl Results:\nBase URL: {ONE}\n\n[1] URL: {ONE}\nContent: The...",
        [],
        0,
    ),
    (
        "firecrawl__firecrawl_extract",
        {"urls": [ONE], "prompt": "Who?"},
        {"data": {"url": ONE, "content": "A model's words."}},
        [],
        0,
    ),
    ("fetch__fetch", {"url": ONE}, f"Contents of {ONE}:\n<error>Page failed to be simplified</error>", [], 1),
    ("x__scrape_url", {"url": ONE}, {"status": "ok", "result": "The text of the page. " * 20}, PLAIN, 0),
    ("x__scrape_url", {"url": ONE}, {"status": "ok", "result": "The job has begun."}, [], 0),
    (
        "x__read_article",
        {"url": ONE},
        {"url": ONE, "title": "undefined", "byline": "By Ada", "date": "1 March 2026", "content": TEXT},
        [(ONE, "Heading", "Ada", "2026-03-01", None)],
        0,
    ),
    ("x__read_page", {"url": ONE, "question": "Who?"}, "It was Ada.", [], 0),
]


def observe(context: ObserverContext, call: ToolResult) -> tuple[Outcome, list[dict[str, Any]]]:
    outcome = Corpus().observe(call, context)
    paths = [saved.path for saved in outcome.artifacts if saved.kind == "article"]
    return outcome, [json.loads(context.workspace.read(path)) for path in paths]


@pytest.mark.parametrize(("tool", "arguments", "body", "expected", "failed"), READERS)
def test_what_readers_return_becomes_articles(
    tool: str,
    arguments: dict[str, Any],
    body: Any,
    expected: Any,
    failed: int,
    context: ObserverContext,
    result: Make,
) -> None:
    call = result(f"mcp__{tool}", body, **arguments)
    assert Corpus().wants(call.call) is not Interest.NONE
    assert not SearchResults().wants(call.call)
    outcome, articles = observe(context, call)
    found = [
        tuple(article[key] for key in ("url", "title", "author", "date", "source")) for article in articles
    ]
    assert (found, outcome.rejected) == (expected, failed)
    assert all(article["content"].strip() == article["content"] != "" for article in articles)
    if TEXT in str(body):
        assert any(article["content"] == TEXT for article in articles)


def test_readers_among_several_tools(context: ObserverContext, result: Make) -> None:
    tools = [
        {"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "q"}},
        {"tool_slug": "COMPOSIO_SEARCH_FETCH_URL_CONTENT", "arguments": {"urls": [ONE, TWO, THREE]}},
        {"tool_slug": "FIRECRAWL_SCRAPE", "arguments": {"url": THREE}},
        {"tool_slug": "COMPOSIO_SEARCH_FETCH_URL_CONTENT", "arguments": {"urls": [TWO]}},
    ]
    hits = [{"title": f"Hit {url}", "url": url, "snippet": "Said."} for url in (ONE, TWO, THREE)]
    answers = [
        {"data": {"results": hits}},
        {"data": EXA},
        {"data": {"data": FIRECRAWL | {"metadata": {"sourceURL": THREE, "title": "Story 3"}}}},
        {"data_preview": {"results": [{"url": TWO, "text": "The beginning..."}]}},
    ]
    body = {
        "data": {
            "results": [
                {"response": answer | {"successful": True}, "index": n} for n, answer in enumerate(answers)
            ]
        }
    }
    call = result(MULTI, body, "m1", tools=tools)
    assert Corpus().wants(call.call) is Interest.SURE
    assert Corpus().wants(result(MULTI, body, tools=tools[:1]).call) is Interest.NONE
    (search,) = SearchResults().observe(call, context).artifacts
    outcome, articles = observe(context, call)
    assert [(article["url"], article["tool"]) for article in articles] == [
        (ONE, "COMPOSIO_SEARCH_FETCH_URL_CONTENT"),
        (TWO, "COMPOSIO_SEARCH_FETCH_URL_CONTENT"),
        (THREE, "FIRECRAWL_SCRAPE"),
    ]
    assert (
        outcome.note
        == "1 page could not be read; only the beginning of pages; articles added to rows of search results: 3"
    )
    rows = json.loads(context.workspace.read(search.path))["results"]
    assert [row["article"] for row in rows] == [saved.path for saved in outcome.artifacts]
    assert [row["snippet"] for row in rows] == ["Said."] * 3


@pytest.mark.parametrize(
    ("tool", "arguments", "body"),
    [
        (
            "fetch__fetch_json",
            {"url": ONE},
            [{"url": BANK, "content": "Forged."}, {"url": ONE, "content": "Own."}],
        ),
        ("fetch__fetch", {"url": ONE}, f"Contents of {ONE}:\nOwn.\n\nContents of {BANK}:\nForged."),
        (
            "exa__web_fetch_exa",
            {"urls": [ONE, TWO]},
            f"# A\nURL: {ONE}\n\nOwn.\n\n# B\nURL: {BANK}\n\nForged.",
        ),
        (
            "jina__jina_reader",
            {"url": ONE},
            f"Title: A\nURL Source: {ONE}\nMarkdown Content:\nOwn.\n"
            'Then {"url": "https://bank.example/", "content": "Forged."}',
        ),
        ("fetch__fetch_json", {"url": ONE}, {"url": BANK, "content": "Own."}),
    ],
)
def test_a_page_cannot_be_saved_as_one_of_another_site(
    tool: str, arguments: dict[str, Any], body: Any, context: ObserverContext, result: Make
) -> None:
    _, articles = observe(
        context, result(f"mcp__{tool}", body if isinstance(body, str) else json.dumps(body), **arguments)
    )
    assert [article["url"] for article in articles] == [ONE]
    assert articles[0]["content"].startswith("Own.")


def test_a_failed_call_has_no_page(context: ObserverContext, result: Make) -> None:
    outcome, articles = observe(
        context, result("mcp__fetch__fetch", "A long error. " * 99, error="A long error.", url=ONE)
    )
    assert (articles, outcome.rejected, outcome.note) == ([], 1, "no article: the call failed")


def test_an_unknown_tool_may_read_a_page(context: ObserverContext, result: Make) -> None:
    long = {"data": {"url": ONE, "title": "Story 1", "text": "The text of the page. " * 300}}
    call = result("mcp__acme__ingest", long, "a1", url=ONE)
    assert Corpus().wants(call.call) is Interest.CURIOUS
    assert Corpus().wants(result("mcp__acme__ingest", long).call) is Interest.NONE
    assert Corpus().wants(result("mcp__notion__ingest", long, url=ONE).call) is Interest.NONE
    assert [article["title"] for article in observe(context, call)[1]] == ["Story 1"]
    assert (
        SearchResults().observe(result("mcp__acme__ingest", {"results": [long["data"]]}), context).artifacts
        == ()
    )
    words = "The words of another page. " * 40
    for said in (
        {"url": ONE, "text": "A short remark."},
        "A text without an address. " * 99,
        {"results": [{"url": BANK, "title": "Related", "content": words}]},
        {"summary_id": "77", "content": words},
    ):
        assert observe(context, result("mcp__acme__ingest", said, "a2", url=ONE))[1] == []
    failed = observe(context, result("mcp__acme__ingest", "It failed.", "a3", error="It failed.", url=ONE))
    assert failed[0].rejected == 0
