from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.net.client import Fetcher
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.toolkit.articles import Article, article_path, encode_article
from ua_tui.core.toolkit.calls import ToolContext
from ua_tui.core.toolkit.corpus import save_corpus

NOW = datetime(2026, 3, 12, 8, 30, tzinfo=UTC)


def _no_fetcher() -> Fetcher:
    raise AssertionError("saving a corpus fetches nothing")


def _crawled(workspace: Workspace, number: int) -> str:
    url = f"https://chips.example/story/{number}"
    article = Article(
        title=f"Story {number}",
        url=url,
        site="Chip Daily",
        date="2026-03-11",
        words=3,
        text=f"Text of {number}",
    )
    path = article_path(url)
    workspace.write(path, encode_article(article))
    return path


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    workspace = Workspace.open(tmp_path / "ws")
    yield ToolContext(workspace, _no_fetcher, now=lambda: NOW)
    workspace.close()


def _corpus(context: ToolContext) -> Any:
    return json.loads((context.workspace.path / "expanded_corpus.json").read_text())


async def test_everything_crawled_is_saved(context: ToolContext) -> None:
    paths = {_crawled(context.workspace, number) for number in range(3)}
    context.workspace.write("search_results/news.json", "{}")
    context.workspace.write("search_results/crawl_broken.md", "not an article")
    answer = json.loads(await save_corpus(context))
    corpus = _corpus(context)
    assert corpus["saved_at"] == "2026-03-12T08:30:00+00:00"
    assert corpus["count"] == len(corpus["articles"]) == answer["count"] == 3
    assert {article["path"] for article in corpus["articles"]} == paths
    first = next(article for article in corpus["articles"] if article["title"] == "Story 0")
    expected = {
        "title": "Story 0", "url": "https://chips.example/story/0", "source": "Chip Daily", "date": "2026-03-11",
        "words": 3, "content": "Text of 0",
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    size = (context.workspace.path / "expanded_corpus.json").stat().st_size
    reported = {"path": "expanded_corpus.json", "words": 9, "size": size, "missing": []}
    assert {name: answer[name] for name in reported} == reported


async def test_urls_and_paths_choose_articles(context: ToolContext) -> None:
    kept = _crawled(context.workspace, 1)
    _crawled(context.workspace, 2)
    _crawled(context.workspace, 3)
    context.workspace.write("extracted_articles/notes.md", "# My notes\n\nThree words here")
    lost = ["https://chips.example/never", "search_results/gone.md"]
    absolute = f"{context.workspace.path}/{kept}"
    chosen = ["https://CHIPS.example/story/2#top", kept, absolute, "extracted_articles/notes.md", *lost]
    answer = json.loads(await save_corpus(context, chosen))
    corpus = _corpus(context)
    assert [article["title"] for article in corpus["articles"]] == ["Story 2", "Story 1", "My notes"]
    assert corpus["articles"][2]["words"] == 5
    assert [each["item"] for each in answer["missing"]] == lost
    assert "crawl_parallel" in answer["missing"][0]["error"]


async def test_a_refused_path_refuses_the_whole_call(context: ToolContext) -> None:
    _crawled(context.workspace, 1)
    for path in ("../x", "/etc/passwd", ".env", "../ws_evil/x"):
        with pytest.raises(PathRefused):
            await save_corpus(context, ["https://chips.example/story/1", path])
    assert not context.workspace.exists("expanded_corpus.json")
    await save_corpus(context)


async def test_nothing_to_save_is_an_error_and_leaves_the_old_corpus(context: ToolContext) -> None:
    context.workspace.write("expanded_corpus.json", "old")
    for articles in (None, [], ["https://chips.example/never"]):
        with pytest.raises(WorkspaceError, match="nothing to save"):
            await save_corpus(context, articles)
    assert context.workspace.read("expanded_corpus.json") == b"old"


async def test_a_url_whose_secret_was_masked_is_still_found(context: ToolContext) -> None:
    url = "https://chips.example/a?api_key=0123456789abcdef"
    context.workspace.write(
        article_path(url), encode_article(Article(title="Secret", url=url, words=1, text="Body"))
    )
    answer = json.loads(await save_corpus(context, [url]))
    assert answer["count"] == 1
    assert b"0123456789abcdef" not in context.workspace.read("expanded_corpus.json")
