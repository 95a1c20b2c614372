from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.observers.conftest import NOON
from tests.observers.formats import problems_in
from ua_tui.core.observation import ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import Interest, ObserverContext, Outcome
from ua_tui.observers.corpus import Corpus
from ua_tui.observers.search_results import SearchResults

Make = Callable[..., ToolResult]
ONE, TWO, THREE = (f"https://site{n}.example/story-{n}" for n in (1, 2, 3))
BANK = "https://bank.example/"
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
# What readers answered, by their names: the articles expected of it, and how many pages could not be read.
READERS = json.loads(Path(__file__).with_name("readers.json").read_text(encoding="utf-8"))
FACTS = ("url", "title", "author", "date", "source")
EXA = READERS["exa__get_contents"]["answer"]
FIRECRAWL = READERS["firecrawl__firecrawl_scrape"]["answer"]
TEXT = FIRECRAWL["markdown"]


def observe(context: ObserverContext, call: ToolResult) -> tuple[Outcome, list[dict[str, Any]]]:
    outcome = Corpus().observe(call, context)
    paths = [saved.path for saved in outcome.artifacts if saved.kind == "article"]
    return outcome, [json.loads(context.workspace.read(path)) for path in paths]


def test_what_readers_return_becomes_articles(tmp_path: Path, result: Make) -> None:
    for number, (name, reader) in enumerate(READERS.items()):
        (tmp_path / f"{number}").mkdir()
        context = ObserverContext(Workspace.create(tmp_path / f"{number}", NOON), now=lambda: NOON)
        call = result(reader["tool"], reader["answer"], **reader["arguments"])
        assert Corpus().wants(call.call) is not Interest.NONE, name
        assert not SearchResults().wants(call.call), name
        outcome, articles = observe(context, call)
        found = [[article[fact] for fact in FACTS] for article in articles]
        assert (name, found, outcome.rejected) == (name, reader["articles"], reader["failed"])
        assert all(article["content"].strip() == article["content"] != "" for article in articles), name
        if TEXT in str(reader["answer"]):
            assert any(article["content"] == TEXT for article in articles), name
        assert problems_in(context.workspace) == []


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
    ran = [{"response": answer | {"successful": True}, "index": n} for n, answer in enumerate(answers)]
    body = {"data": {"results": ran}}
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
    notes = [
        "1 page could not be read",
        "only the beginning of pages",
        "articles added to rows of search results: 3",
    ]
    assert (outcome.note or "").split("; ") == notes
    rows = json.loads(context.workspace.read(search.path))["results"]
    assert [row["article"] for row in rows] == [saved.path for saved in outcome.artifacts]
    assert [row["snippet"] for row in rows] == ["Said."] * 3


FORGED = [{"url": BANK, "content": "Forged."}, {"url": ONE, "content": "Own."}]


@pytest.mark.parametrize(
    ("tool", "urls", "body"),
    [
        ("fetch__fetch_json", [ONE], json.dumps(FORGED)),
        ("fetch__fetch_json", [ONE], json.dumps({"url": BANK, "content": "Own."})),
        ("fetch__fetch", [ONE], f"Contents of {ONE}:\nOwn.\n\nContents of {BANK}:\nForged."),
        ("exa__web_fetch_exa", [ONE, TWO], f"# A\nURL: {ONE}\n\nOwn.\n\n# B\nURL: {BANK}\n\nForged."),
        ("jina__jina_reader", [ONE],
         f"Title: A\nURL Source: {ONE}\nMarkdown Content:\nOwn.\nThen {json.dumps(FORGED[0])}"),
    ],
)  # fmt: skip
def test_a_page_cannot_be_saved_as_one_of_another_site(
    tool: str, urls: list[str], body: str, context: ObserverContext, result: Make
) -> None:
    asked = {"url": urls[0]} if len(urls) == 1 else {"urls": urls}
    _, articles = observe(context, result(f"mcp__{tool}", body, **asked))
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
    listed = result("mcp__acme__ingest", {"results": [long["data"]]})
    assert SearchResults().observe(listed, context).artifacts == ()
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
