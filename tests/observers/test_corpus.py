from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.observers.conftest import NOON
from ua_tui.core.observation import McpObservation, ToolResult
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.toolkit.articles import Article, Reference, article_path, encode_article
from ua_tui.core.web_reader import Blacklist
from ua_tui.observers import enrichment
from ua_tui.observers.base import Interest, ObserverContext, Outcome
from ua_tui.observers.corpus import Corpus
from ua_tui.observers.search_results import SearchResults

Make = Callable[..., ToolResult]
READER = "mcp__web_reader__webReader"
CRAWL = "mcp__local_toolkit__crawl_parallel"
SAVE = "mcp__local_toolkit__save_corpus"
PAGE = "https://papers.example/one"


def transport(code: str, message: str = "Network error, error id: 20260310") -> str:
    return (
        f'MCP error -500: 500 Internal Server Error: "{{"error":{{"code":"{code}","message":"{message}"}}}}"'
    )


def read(url: str = PAGE, content: str = "Text of it.", **more: Any) -> dict[str, Any]:
    return {"reader_result": {"title": "P", "url": url, "content": content, **more}}


def observe(call: ToolResult, context: ObserverContext, after: float = 0.0) -> Outcome:
    """Observe a call that ended `after` seconds from noon."""
    ended = msgspec.structs.replace(call.observation, ended_at=NOON + timedelta(seconds=after))
    return Corpus().observe(msgspec.structs.replace(call, observation=ended), context)


def strikes(context: ObserverContext) -> dict[str, int]:
    entries = Blacklist.for_session(context.workspace, context.now).entries()
    return {entry.host: len(entry.strikes) for entry in entries}


def save_corpus(context: ObserverContext, *entries: dict[str, Any]) -> None:
    corpus = {"saved_at": NOON.isoformat(), "count": len(entries), "articles": list(entries)}
    context.workspace.write_json("expanded_corpus.json", corpus)


def corpus_of(context: ObserverContext) -> dict[str, Any]:
    corpus: dict[str, Any] = json.loads(context.workspace.read("expanded_corpus.json"))
    assert corpus["count"] == len(corpus["articles"])
    return corpus


def crawl(
    context: ObserverContext,
    url: str,
    text: str = "Crawled text.",
    *links: Reference,
    fetched_at: str | None = None,
) -> dict[str, Any]:
    path = article_path(url)
    article = Article(title="Crawled", url=url, words=2, fetched_at=fetched_at, text=text, links=links)
    context.workspace.write(path, encode_article(article))
    return {"articles": [{"title": "Crawled", "url": url, "path": path, "words": 2}], "failed": []}


@pytest.mark.parametrize(
    ("name", "interest"),
    [
        (READER, Interest.SURE), ("mcp__x__web_reader", Interest.SURE), (CRAWL, Interest.SURE),
        (SAVE, Interest.CURIOUS), ("mcp__local_toolkit__knowledge_read", Interest.NONE),
        ("mcp__web_reader__other", Interest.NONE), ("Read", Interest.NONE),
    ],
)  # fmt: skip
def test_which_tools_are_observed(name: str, interest: Interest, result: Make) -> None:
    assert Corpus().wants(result(name, "").call) is interest


def test_a_time_out_is_worth_another_try_and_no_strike(
    context: ObserverContext, result: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    outcome = observe(result(READER, transport("1234"), url=PAGE), context)
    assert outcome.note == "the web reader timed out (code 1234); the page is worth another try"
    assert outcome.rejected == 1
    assert PAGE in caplog.text
    other = observe(result(READER, transport("1302"), "t2", error=transport("1302"), url=PAGE), context)
    assert other.note == "the web reader failed (code 1302)"
    assert strikes(context) == {}


def test_a_refusal_puts_a_site_on_the_list_for_a_day_and_three_for_a_month(
    context: ObserverContext, result: Make
) -> None:
    notes = []
    for number, text in enumerate(
        [
            transport("1214", "Parameter error"),
            'MCP error -400: {"error":{"code":"1214","message":"bad url"}}',
            '{"error":{"code":1214,"message":"bad url"}}',
        ]
    ):
        call = result(READER, text, f"t{number}", error=text, url=f"https://www.papers.example/{number}")
        notes.append(observe(call, context).note or "")
        again = observe(call, context).note or ""
        assert "already counted" in again
    ends = [note.rpartition("papers.example is on the blacklist until ")[2] for note in notes]
    assert ends == ["2026-03-11", "2026-03-11", "2026-04-09"]
    assert strikes(context) == {"papers.example": 3}


@pytest.mark.parametrize(
    "content",
    [
        read(content=transport("1214")), read(content='{"error":{"code":"1214","message":"x"}}'),
        f"Here is the page: {transport('1214')}", f"{transport('1214')}\nAnd more of the page.",
        '{"error":{"code":"1214","message":"x"}}', {"title": "error", "code": "1214", "content": "x"},
        ["Some text", transport("1214")], transport("1234", 'x","code":"1214'),
        '{"error":{"code":"1234","message":"x","code":"1214"}}', "1214",
    ],
)  # fmt: skip
def test_a_text_of_a_page_is_never_a_strike(content: Any, context: ObserverContext, result: Make) -> None:
    for number in range(3):
        observe(result(READER, content, f"t{number}", url=PAGE), context)
    assert strikes(context) == {}


@pytest.mark.parametrize(
    "arguments", [{}, {"url": ""}, {"url": 5}, {"url": "file:///etc/passwd"}, {"urls": [PAGE]}]
)
def test_an_error_without_a_web_address_strikes_nobody(
    arguments: dict[str, Any], context: ObserverContext, result: Make
) -> None:
    outcome = observe(result(READER, transport("1214"), error=transport("1214"), **arguments), context)
    assert "1214" in (outcome.note or "")
    assert strikes(context) == {}


def test_a_list_that_cannot_be_written_does_not_hide_the_error(
    context: ObserverContext, result: Make
) -> None:
    (context.workspace.path.parent / ".webReader_blacklist.lock").mkdir()
    outcome = observe(result(READER, transport("1214"), error=transport("1214"), url=PAGE), context)
    assert "could not be counted: cannot lock " in (outcome.note or "")


def test_rows_in_any_spelling_get_the_article_and_others_are_not_touched(
    context: ObserverContext, result: Make
) -> None:
    search = "mcp__a__web_search"
    hit = {"results": [{"title": "T", "url": "https://www.Papers.example:443/one/?utm_source=x#top"}]}
    miss = {"results": [{"title": "U", "url": "https://papers.example/one-more"}]}
    (with_it,) = SearchResults().observe(result(search, hit, "s1"), context).artifacts
    (without,) = SearchResults().observe(result(search, miss, "s2"), context).artifacts
    before = (context.workspace.path / without.path).stat()
    outcome = observe(result(READER, read(), "r1", url=PAGE), context)
    (row,) = json.loads(context.workspace.read(with_it.path))["results"]
    assert (row["content"], row["article"]) == ("Text of it.", outcome.artifacts[0].path)
    after = (context.workspace.path / without.path).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert context.ledger.rows_of[without.path] == {"papers.example/one-more"}


def test_a_page_read_after_the_corpus_belongs_in_it(context: ObserverContext, result: Make) -> None:
    save_corpus(context, {"url": "https://a.example/", "title": "A", "content": "A text", "extra": 1})
    # What was read before the corpus was saved is left out by the agent, and stays out.
    observe(result(CRAWL, crawl(context, "https://early.example/x"), "c0"), context, after=-5.0)
    assert corpus_of(context)["count"] == 1
    metadata = {
        "author": "Ada Example", "og:site_name": "Papers", "article:published_time": "2026-03-01T08:00:00Z",
    }  # fmt: skip
    call = result(READER, read(metadata=metadata), url=PAGE)
    outcome = observe(call, context, after=-5.0)
    assert [saved.kind for saved in outcome.artifacts] == ["article", "corpus"]
    first, added = corpus_of(context)["articles"]
    assert first == {"url": "https://a.example/", "title": "A", "content": "A text", "extra": 1}
    assert added["content"] == "Text of it."
    assert (added["author"], added["source"], added["date"]) == ("Ada Example", "Papers", "2026-03-01")
    assert (added["words"], added["path"]) == (3, outcome.artifacts[0].path)
    later = crawl(context, "https://late.example/x")
    observe(result(CRAWL, later, "c1"), context, after=5.0)
    assert [entry["title"] for entry in corpus_of(context)["articles"]] == ["A", "P", "Crawled"]
    before = context.workspace.read("expanded_corpus.json")
    observe(call, context, after=-5.0)
    observe(result(CRAWL, later, "c1"), context, after=5.0)
    # A page that was not fetched again was read before the corpus was saved, and left out.
    cached = crawl(context, "https://cached.example/x", fetched_at="2025-03-09T12:00:00+00:00")
    cached["articles"][0] |= {"fetched_at": "2025-03-09T12:00:00+00:00", "cached": True}
    (record,) = observe(result(CRAWL, cached, "c2"), context, after=5.0).artifacts
    assert json.loads(context.workspace.read(record.path))["timestamp"].startswith("2025-03-09T12:00:00")
    assert context.workspace.read("expanded_corpus.json") == before


def test_the_record_of_an_article_has_its_links(context: ObserverContext, result: Make) -> None:
    save_corpus(context)
    url = "https://late.example/x"
    found = crawl(context, url, "Read [the details].", Reference("the details", "https://late.example/y"))
    outcome = observe(result(CRAWL, found), context, after=5.0)
    record = json.loads(context.workspace.read_artifact(outcome.artifacts[0].path, 1 << 20))
    assert record["content"] == "Read [the details]."
    assert record["links"] == [{"label": "the details", "url": "https://late.example/y"}]
    (entry,) = corpus_of(context)["articles"]
    assert entry["content"] == "Read [the details]."
    assert "late.example/y" not in json.dumps(entry)


def test_an_entry_gets_only_what_it_lacks(context: ObserverContext, result: Make) -> None:
    empty = {"url": f"{PAGE}/?utm_source=x", "title": "Mine", "author": None, "words": 9, "content": ""}
    save_corpus(context, empty, {"url": PAGE, "title": "", "content": "Theirs", "words": 1}, {"url": None})
    observe(result(READER, read(metadata={"author": "Ada"}), url=PAGE), context)
    filled, kept, other = corpus_of(context)["articles"]
    facts = [filled[name] for name in ("title", "content", "words", "author")]
    assert facts == ["Mine", "Text of it.", 3, "Ada"]
    assert (kept["title"], kept["content"], kept["words"]) == ("P", "Theirs", 1)
    assert other == {"url": None}


def test_what_was_read_before_the_corpus_is_added_when_it_is_saved(
    context: ObserverContext, result: Make
) -> None:
    observe(result(READER, read(), url=PAGE), context, after=-5.0)
    observe(result(CRAWL, crawl(context, "https://early.example/x"), "c1"), context, after=-4.0)
    assert not context.workspace.exists("expanded_corpus.json")
    save_corpus(context, {"url": "https://a.example/", "content": "A text"})
    call = result(SAVE, '{"path": "expanded_corpus.json"}', "s1")
    outcome = observe(call, context)
    assert [saved.path for saved in outcome.artifacts] == ["expanded_corpus.json"]
    assert [entry["url"] for entry in corpus_of(context)["articles"]] == ["https://a.example/", PAGE]
    assert observe(call, context).artifacts == ()
    assert corpus_of(context)["count"] == 2


def test_a_large_corpus_keeps_its_form(context: ObserverContext, result: Make) -> None:
    save_corpus(context, {"url": "https://a.example/", "content": "long text " * 200_000})
    observe(result(READER, read(), url=PAGE), context)
    assert corpus_of(context)["count"] == 2
    packed = ObserverContext(Workspace.open(context.workspace.path / "downloads"), now=lambda: NOON)
    packed.workspace.write_json_artifact("expanded_corpus.json", corpus_of(context))
    observe(result(READER, read("https://papers.example/two"), url=PAGE), packed)
    assert not packed.workspace.exists("expanded_corpus.json")
    assert json.loads(packed.workspace.read_artifact("expanded_corpus.json"))["count"] == 3


@pytest.mark.parametrize("content", ["", "[]", "{", '{"articles": {}}', '{"articles": ' + "[" * 5_000])
def test_a_corpus_of_another_form_is_left_alone(content: str, context: ObserverContext, result: Make) -> None:
    context.workspace.write("expanded_corpus.json", content)
    assert len(observe(result(READER, read(), url=PAGE), context).artifacts) == 1
    assert context.workspace.read("expanded_corpus.json").decode() == content


def test_a_replacement_meanwhile_is_not_undone(
    context: ObserverContext, result: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_corpus(context, {"url": "https://a.example/", "content": "old"})
    merge = enrichment._merge

    def merge_late(corpus: dict[str, Any], *rest: Any) -> int:
        changed = merge(corpus, *rest)
        if corpus["articles"][0]["content"] == "old":
            save_corpus(context, {"url": "https://b.example/", "content": "new"})
        return changed

    monkeypatch.setattr(enrichment, "_merge", merge_late)
    observe(result(READER, read(), url=PAGE), context)
    assert [entry["url"] for entry in corpus_of(context)["articles"]] == ["https://b.example/", PAGE]


def test_secrets_are_masked_and_their_pages_found_all_the_same(result: Make, tmp_path: Any) -> None:
    workspace = Workspace.create(tmp_path, NOON, Redactor(["hunter2hunter2"]))
    context = ObserverContext(workspace, now=lambda: NOON)
    save_corpus(context)
    url = "https://papers.example/one?pass=hunter2hunter2"
    for number in range(2):
        observe(result(READER, read(url, "It is hunter2hunter2."), f"t{number}", url=url), context)
    assert corpus_of(context)["count"] == 1
    assert b"hunter2" not in workspace.read("expanded_corpus.json")
    page = {"reader_result": {"url": "https://a.example/hunter2hunter2/x", "content": "Text."}}
    saved = observe(result(READER, page, "t2"), context).artifacts[0].path
    assert "hunter2" not in saved
    assert "a_example" in saved


def test_a_failed_saving_is_no_corpus(context: ObserverContext, result: Make) -> None:
    call = result(SAVE, "nothing to save", error="nothing to save")
    assert isinstance(call.observation, McpObservation)
    assert observe(call, context).artifacts == ()


def test_an_odd_address_costs_no_other_article(context: ObserverContext, result: Make) -> None:
    urls = ["http://[a.example/", "https://a.example/", "http://[::1", "https://b.example:x/"]
    pages = [crawl(context, url, f"Text {number}.")["articles"][0] for number, url in enumerate(urls)]
    outcome = observe(result(CRAWL, {"articles": pages, "failed": []}, "t1"), context)
    assert outcome.items == 4
    kept = [json.loads(context.workspace.read(saved.path))["url"] for saved in outcome.artifacts]
    assert kept == urls


def test_articles_are_saved_and_found_from_the_search_results(context: ObserverContext, result: Make) -> None:
    url = "https://news.example/story?id=1"
    rows = [
        {"title": "T", "url": f"{url}&utm_source=feed", "snippet": "s"},
        {"title": "U", "url": "https://other.example/", "snippet": "s"},
    ]
    search = SearchResults().observe(result("mcp__a__web_search", {"results": rows}), context)
    answer = crawl(context, url, "The whole story.")
    answer["failed"] = [{"url": "https://x.example/", "error": "no", "code": "status"}]
    call = result(CRAWL, answer, "t2", urls=[url])
    outcome = Corpus().observe(call, context)
    article = json.loads(context.workspace.read(outcome.artifacts[0].path))
    assert (article["title"], article["content"], outcome.rejected) == ("Crawled", "The whole story.", 1)
    first, second = json.loads(context.workspace.read(search.artifacts[0].path))["results"]
    assert first["content"] == "The whole story."
    assert first["article"] == outcome.artifacts[0].path
    assert "article" not in second
    before = {path: path.read_bytes() for path in context.workspace.path.rglob("*.json")}
    assert Corpus().observe(call, context).artifacts == ()
    assert {path: path.read_bytes() for path in context.workspace.path.rglob("*.json")} == before
