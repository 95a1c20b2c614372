from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.packed import pack
from tests.tui.viewers.test_viewers import THEME, do, lines, shown
from ua_tui.core.events.types import ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.text import is_unsafe
from ua_tui.core.toolkit.articles import Article, Reference, article_path, encode_article
from ua_tui.core.view.calls import FullCall
from ua_tui.tui.viewers.articles.page import article_body, article_in, find_article, session_of
from ua_tui.tui.viewers.articles.results import ResultsTable
from ua_tui.tui.viewers.bodies.table import FILTER_KEY
from ua_tui.tui.viewers.cursor_body import BackgroundWork, BodyCommand, CopyText, OpenArticle, OpenLink
from ua_tui.tui.viewers.registry import load
from ua_tui.tui.viewers.tool_call.body import call_body
from ua_tui.tui.viewers.tool_call.sections import SectionsBody
from ua_tui.tui.viewers.view.links import links_in

RESULTS = json.loads(Path(__file__).with_name("results.json").read_text(encoding="utf-8"))
URL = "https://wire.example/chips/h7"
ARTICLE: dict[str, Any] = RESULTS["article"]
CORPUS: dict[str, Any] = RESULTS["corpus"]
SERPER: dict[str, Any] = RESULTS["serper"]
PAGE = [
    "Halden unveils *H7*", "Compute Wire · 2026-11-22 · by Noor Rahimi · 381 words", "wire.example/chips/h7",
    "Chips", "The part has 288 gigabytes.",
]  # fmt: skip


def put(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def text_rows(rows: list[str]) -> list[str]:
    return [row.strip() for row in rows if row.strip("─ ")]


def call(
    result: object, name: str = "mcp__s__search", *, as_text: bool = False, **given: object
) -> SectionsBody:
    started = ToolCallStarted(query_id="q", tool_use_id="t", name=name, input=given)
    content = (TextContent(result if isinstance(result, str) else json.dumps(result)),)
    observation = McpObservation(tool_name=name, tool_use_id="t", server="s", content=content)
    end = ToolCallFinished(tool_use_id="t", status="success", observation=observation)
    return call_body(FullCall(started, end), as_text=as_text)


class TestPages:
    """An article opens as a page, and its JSON is the raw form."""

    def test_an_article_of_the_session_and_of_the_crawler(self, tmp_path: Path) -> None:
        document = load(put(tmp_path, "a.json", ARTICLE))
        assert (document.kind, document.facts) == ("Article", ("381 words",))
        assert '"author": "Noor Rahimi"' in "\n".join(lines(document.raw, 2000))
        article = article_in(ARTICLE)
        assert article is not None
        for each in (document, load(put(tmp_path, "crawl_a.md", encode_article(article)))):
            assert each.kind == "Article"
            assert text_rows(lines(each.best)) == PAGE

    def test_the_answer_of_a_web_reader(self, tmp_path: Path) -> None:
        read = {"title": "T", "url": URL, "content": "Some text.", "metadata": {"author": "A. Writer"}}
        for value in ({"reader_result": read}, {"data": {"reader_result": read}}):
            document = load(put(tmp_path, "r.json", value))
            assert text_rows(lines(document.best)) == [
                "T", "wire.example · by A. Writer · 2 words", "wire.example/chips/h7", "Some text.",
            ]  # fmt: skip

    def test_the_links_of_an_article_are_links(self, tmp_path: Path) -> None:
        text = (
            "See [the part] and [here], [here][1], [\\[note\\]][2]; cited\\[1\\] [sic]: x.\n\n"
            "| Part | Maker |\n|---|---|\n| [cell] | y |\n\n[here]: https://evil.example/\n"
        )
        labels = ("the part", "here", "1", "2", "cell")
        addresses = {label: f"https://a.example/{label[-4:]}" for label in labels}
        links = tuple(Reference(label, address) for label, address in addresses.items())
        article = Article(title="T", url="", text=text, links=links)
        path = put(tmp_path, "crawl_a.md", encode_article(article))
        named = [{"label": label, "url": url} for label, url in addresses.items()]
        record = {**ARTICLE, "url": "", "content": text, "links": named}
        for document in (load(path), load(put(tmp_path, "a.json", record))):
            rows = document.best.lay_out(80, THEME)
            shown = ("the part", "here", "here", "[note]", "cell")
            found = [(link.text, link.url) for link in links_in(rows)]
            assert found == list(zip(shown, addresses.values(), strict=True))
            assert "cited[1] [sic]: x." in "\n".join(lines(document.best))

    def test_a_long_list_of_links_is_complete(self, tmp_path: Path) -> None:
        links = tuple(Reference(f"part {n}", f"https://a.example/{n}/{'x' * 150}") for n in range(500))
        text = "\n\n".join(f"See [{link.label}] there." for link in links)
        article = Article(title="T", url="", text=text, links=links)
        document = load(put(tmp_path, "crawl_a.md", encode_article(article)))
        found = links_in(document.best.lay_out(80, THEME))
        assert [link.url for link in found] == [link.url for link in links]

    def test_a_hostile_page_is_shown_literally(self, tmp_path: Path) -> None:
        hostile = {
            **ARTICLE, "title": "[x](vscode://x) \x1b]52;c;eA==\x07", "author": "\u202eevil <b>",
            "url": "https://a.example/) [y](vscode://y", "content": "\x1b[2Jtext",
        }  # fmt: skip
        document = load(put(tmp_path, "h.json", hostile))
        rows = document.best.lay_out(80, THEME)
        assert "[x](vscode://x)" in "\n".join(lines(document.best))
        assert not any(is_unsafe(character) for row in lines(document.best) for character in row)
        assert [link.url for link in links_in(rows)] == []

    def test_what_is_missing_takes_no_room(self) -> None:
        rows = text_rows(lines(article_body(Article(title="", url=""))))
        assert rows == ["Untitled", "This article has no text."]

    @pytest.mark.parametrize("value", [
        {"url": URL, "content": "x"},
        {"type": "post", "url": URL, "title": "t", "content": "x"},
        {"url": URL, "title": "t", "content": {"x": 1}},
        {"articles": []},
        {"articles": [{"title": "t", "url": URL}, 1], "content": ""},
        {"articles": [{"title": "t", "url": URL, "price": 3}], "content": ""},
    ])  # fmt: skip
    def test_other_json_stays_json(self, tmp_path: Path, value: object) -> None:
        document = load(put(tmp_path, "o.json", value))
        assert (document.kind, document.notice) == ("JSON", None)


class TestLists:
    """A corpus opens as a list, and a row opens its article."""

    def table(self, tmp_path: Path) -> ResultsTable:
        document = load(put(tmp_path, "expanded_corpus.json", CORPUS))
        assert (document.kind, document.facts) == ("Articles", ("2 articles",))
        assert isinstance(document.best, ResultsTable)
        return document.best

    def test_the_corpus_as_a_table_and_as_cards(self, tmp_path: Path) -> None:
        table = self.table(tmp_path)
        wide = lines(table, 120)
        assert wide[0].startswith("2 articles · 1,581 words · saved 2026-11-2")
        assert wide[1].split() == ["#", "Title", "Source", "Date", "Words"]
        assert wide[3].rstrip().endswith("2026-11-22      381")
        assert "Compute Wire · 2026-11-22 · 381 words" in "\n".join(lines(table, 50))

    def test_a_row_opens_its_article_with_the_text_of_the_corpus(self, tmp_path: Path) -> None:
        table = self.table(tmp_path)
        for key in ("open", "article"):
            opened = table.execute(BodyCommand(key))
            assert isinstance(opened, OpenArticle)
            assert (opened.path, opened.page.text) == ("search_results/crawl_a.md", ARTICLE["content"])
            assert opened.page.author == "Noor Rahimi"
        assert table.execute(BodyCommand("copy")) == CopyText("link", URL)
        do(table, BodyCommand("filter", "rahimi"))
        assert table.entries == 1
        detail = table.detail()
        assert detail is not None
        assert lines(detail, 120)[1:] == [PAGE[1], URL, "Chips The part has 288 gigabytes."]


class TestFiles:
    """The file of an article is found by its path and by its address, inside of the session only."""

    def test_by_path_then_by_address(self, tmp_path: Path) -> None:
        crawled = put(tmp_path, article_path("https://a.example/1"), "x")
        read = put(tmp_path, "extracted_articles/b.json", ARTICLE)
        packed = tmp_path / "extracted_articles/c.json.zst"
        packed.write_bytes(pack(json.dumps({**ARTICLE, "url": "https://c.example/"}).encode()))
        assert find_article(tmp_path, "extracted_articles/b.json", "") == read
        assert find_article(tmp_path, "gone.json", "https://a.example/1") == crawled
        assert find_article(tmp_path, "", URL.replace("wire", "WIRE")) == read
        assert find_article(tmp_path, "../b.json", "https://c.example") == packed
        assert find_article(tmp_path, "", "https://other.example/") is None
        assert find_article(None, "extracted_articles/b.json", URL) is None

    def test_articles_in_a_linked_folder_are_not_read(self, tmp_path: Path) -> None:
        put(tmp_path, "elsewhere/b.json", ARTICLE)
        session = tmp_path / "session"
        session.mkdir()
        (session / "extracted_articles").symlink_to(tmp_path / "elsewhere")
        assert find_article(session, "", URL) is None

    def test_the_session_of_an_artifact(self, tmp_path: Path) -> None:
        assert session_of(tmp_path / "s/search_results/a.json", None) == tmp_path / "s"
        assert session_of(tmp_path / "s/expanded_corpus.json", tmp_path / "s") == tmp_path / "s"


class TestToolCalls:
    """Results of tools in the same forms; their JSON is folded below, and text on request."""

    def test_search_results_are_a_table_with_a_cursor(self) -> None:
        body = call(SERPER)
        rows = lines(body, 100)
        assert "  search · web · 2 results" in rows
        assert rows[-1] == "▸ JSON"
        first = next(y for y, row in enumerate(rows) if "Beta" in row)
        laid = body.lay_out(100, THEME)
        entry = laid.entry_at(first)
        assert entry is not None
        assert laid.entry_at(first - 1) is None, "the cursor is never on the head"
        assert laid.span(entry) == (first - 4, 5), "the head comes into view with the first row"
        body.cursor = entry
        assert body.execute(BodyCommand("open")) == OpenLink("https://b.example/1")
        found = body.find_places("alpha")
        body.reveal(found[0])
        assert body.cursor_place() == found[0]
        assert body.execute(BodyCommand("copy")) == CopyText("link", "https://a.example/2")
        sorting = body.execute(BodyCommand("sort", column=1))
        assert isinstance(sorting, BackgroundWork)
        sorting.prepare()()
        sorted_rows = "\n".join(lines(body, 100))
        assert sorted_rows.index("Alpha") < sorted_rows.index("Beta")
        detail = body.detail()
        assert detail is not None
        assert "a.example" in "\n".join(lines(detail))
        for _ in ("to the first column", "to the heading", "the section"):
            body.execute(BodyCommand("fold"))
        assert "▸ Result" in "\n".join(lines(body, 100))

    def test_the_table_that_the_cursor_is_in_is_filtered(self) -> None:
        body = call(SERPER)
        rows = lines(body, 100)
        assert body.filter is None, "the cursor is on a heading"
        laid = body.lay_out(100, THEME)
        entry = laid.entry_at(next(y for y, row in enumerate(rows) if "Beta" in row))
        assert entry is not None
        body.cursor = entry
        assert body.filter == ""
        assert FILTER_KEY in body.keys
        do(body, BodyCommand("filter", "beta"))
        assert body.state == "1 with “beta”"
        assert "Alpha" not in "\n".join(lines(body, 100))
        assert body.execute(BodyCommand("open")) == OpenLink("https://b.example/1")
        do(body, BodyCommand("filter", "nothing has this"))
        assert "No row contains “nothing has this”." in "\n".join(lines(body, 100))
        # No row is left for the cursor: it is on the heading, from where the filter can be changed.
        assert body.filter == "nothing has this"
        assert FILTER_KEY in body.keys
        do(body, BodyCommand("filter", ""))
        assert "Alpha" in "\n".join(lines(body, 100))
        assert body.state == ""

    def test_what_a_crawl_and_a_corpus_report_are_lists_of_articles(self) -> None:
        crawl = {
            "articles": [{"title": "T", "url": URL, "path": "search_results/c.md", "words": 3, "date": None}],
            "failed": [{"url": "https://x.example", "error": "gone", "code": "http_404"}],
            "saved": 1,
        }
        body = call(crawl, "mcp__local_toolkit__crawl_parallel")
        rows = lines(body, 100)
        assert "  1 article · 3 words" in rows
        at = rows.index("  … 1 page could not be read.")
        assert rows[at + 1] == "  x.example: gone"
        body.cursor = 3
        opened = body.execute(BodyCommand("open"))
        assert isinstance(opened, OpenArticle)
        assert opened.path == "search_results/c.md"

    def test_a_page_that_was_read_is_a_page(self) -> None:
        read = {"reader_result": {"title": "T", "url": URL, "content": "Some text."}}
        assert "  Some text." in lines(call(read, "mcp__zai__webReader"), 100)
        text = f"Title: Story\n\nURL Source: {URL}\n\nMarkdown Content:\n# Story\n\nSome *text*."
        shown = lines(call(text, "mcp__jina__jina_reader"), 100)
        assert "  Some text." in shown
        assert "  Markdown Content:" not in shown
        assert "▸ Text" in shown
        several = {
            "results": [{"url": f"{URL}{n}", "title": f"Page {n}", "raw_content": "Text."} for n in range(2)]
        }
        assert "  2 articles · 2 words" in lines(call(several, "mcp__tavily__tavily_extract"), 100)

    def test_text_on_request_and_other_results_as_before(self) -> None:
        assert '"organic"' in "\n".join(lines(call(SERPER, as_text=True), 100))
        assert "JSON" not in "\n".join(lines(call(SERPER, as_text=True), 100))
        assert "JSON" not in "\n".join(lines(call({"data": {"rows": 3}}), 100))
        mail = {"data": {"messages": [{"title": "t", "url": URL}]}}
        assert "results" not in "\n".join(lines(call(mail, "mcp__composio__GMAIL_FETCH_EMAILS"), 100))

    def test_a_result_that_is_too_long_to_be_searched_is_a_table_of_its_records(self) -> None:
        long = {"organic": [{**SERPER["organic"][0], "snippet": "x" * 1000}] * 300}
        head = next(line for line in lines(call(long), 100) if "snippet" in line)
        assert head.split() == ["title", "link", "snippet", "position"]


def test_a_result_says_that_its_page_can_be_read(tmp_path: Path) -> None:
    results = {"query": "q", "results": [{"title": "A", "url": URL, "raw_content": "All of it."}]}
    document = load(put(tmp_path, "s.json", results))
    assert isinstance(document.best, ResultsTable)
    assert ("a", "read page") in {(key.key, key.label) for key in document.best.keys}
    opened = document.best.execute(BodyCommand("article"))
    assert isinstance(opened, OpenArticle)
    assert opened.page.text == "All of it."
    assert "A" in shown(document)


@pytest.mark.parametrize("width", [100, 40])
def test_the_addresses_of_results_are_links_to_choose_from(tmp_path: Path, width: int) -> None:
    results = {"query": "q", "results": [
        {"title": "A", "url": URL},
        {"title": "B"},
        {"title": "C", "url": "https://c.example/"},
        {"title": "A again", "url": URL},
    ]}  # fmt: skip
    body = load(put(tmp_path, "s.json", results)).best
    found = links_in(body.lay_out(width, THEME))
    assert [(link.text, link.url) for link in found] == [("A", URL), ("C", "https://c.example/")]


@pytest.mark.parametrize("width", [100, 40])
def test_a_date_whose_year_is_inferred_has_a_question_mark(tmp_path: Path, width: int) -> None:
    results = {"query": "q", "results": [
        {"title": "A", "url": URL, "date": "2025-11-05", "date_inferred": True},
        {"title": "B", "url": "https://c.example/", "date": "2025-11-06T10:00:00"},
    ]}  # fmt: skip
    drawn = shown(load(put(tmp_path, "s.json", results)), width)
    assert "2025-11-05?" in drawn
    assert "2025-11-06?" not in drawn
