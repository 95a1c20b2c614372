"""Tests of the documents that the files of a session give."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.packed import pack
from ua_tui.core.knowledge.records import KnowledgeDocument
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.text import is_unsafe
from ua_tui.core.toolkit.articles import Article, encode_article
from ua_tui.observers.knowledge.cleaning import LONGEST_TEXT
from ua_tui.observers.knowledge.contents import LARGEST, read_content
from ua_tui.observers.knowledge.documents import ANSWER_PART, PANEL_PART, SavedFile, documents_of

SECRET = "correct-horse-battery-7731"
KEY = "sk-ant-api03-" + "Ab1" * 30
AT = 1_773_144_000.0
PATHS = {
    "search_results": "search_results/news.json", "article": "extracted_articles/page.json",
    "workbench_activity": "workbench_activity/run.json", "upload": "uploads/upload.json",
    "work_product": "work_products/report.html", "written": "notes/idea.md",
    "unparsed": "search_results/unparsed/search.txt", "corpus": "expanded_corpus.json",
}  # fmt: skip


def documents(
    folder: Path, kind: str, content: Any, path: str = "", redactor: Redactor | None = None
) -> list[KnowledgeDocument]:
    """The documents of a file with this content."""
    path = path or PATHS[kind]
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes | str) else json.dumps(content)
    (folder / path).write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    return read(folder, kind, path, redactor)


def read(folder: Path, kind: str, path: str, redactor: Redactor | None = None) -> list[KnowledgeDocument]:
    """The documents of a file that is there, or is not."""
    file = SavedFile(path=path, kind=kind, at=AT, tool_use_id="toolu_event")
    return list(documents_of(Root(folder), file, redactor or Redactor([SECRET])))


def search(**more: Any) -> dict[str, Any]:
    row = {"position": 1, "title": "Fabs", "url": "https://www.a-b.example/new/fab-map?p=7", "source": "Chip News",
           "date": "2026-03-09", "snippet": "Where they are built.", "extra": {"id": "77"}}  # fmt: skip
    top = {"type": "news", "tool": "X_NEWS", "query": "map of fabs", "timestamp": "2026-03-10T10:00:00+01:00",
           "tool_use_id": "toolu_file", "results": [row]}  # fmt: skip
    return {**top, **more}


def test_a_row_of_search_results_is_a_document_with_the_query_that_found_it(tmp_path: Path) -> None:
    (row,) = documents(tmp_path, "search_results", search())
    assert row == KnowledgeDocument(
        kind="search_row", path="search_results/news.json", part=1, title="Fabs", text="Where they are built.",
        context="map of fabs\nChip News\na b example new fab map p 7", made_at=1_773_133_200.0, trust="web",
        url="https://www.a-b.example/new/fab-map?p=7", date="2026-03-09", tool_use_id="toolu_file",
    )  # fmt: skip
    # The signature of a public page stays in its address.
    url = "https://cdn.example/photo.jpg?sig=0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    (signed,) = documents(tmp_path, "search_results", search(results=[{"title": "Photo", "url": url}]))
    assert signed.url == url


def test_the_answer_and_the_panel_of_a_provider_are_documents(tmp_path: Path) -> None:
    panel = {"title": "Fab", "url": "https://w.example/fab", "snippet": "A plant.", "extra": {}}
    found = documents(tmp_path, "search_results", search(answer="In Dresden.", knowledge_panel=panel))
    assert [(each.part, each.title, each.text) for each in found] == [
        (ANSWER_PART, "map of fabs", "In Dresden."),
        (PANEL_PART, "Fab", "A plant."),
        (1, "Fabs", "Where they are built."),
    ]


def test_the_sentences_in_the_further_fields_of_a_row_are_in_its_text(tmp_path: Path) -> None:
    extra = {
        "highlights": ["They are in Dresden and Hsinchu.", "id-1"],
        "more": {"text": "Two are being built now."},
        "related_titles": ["Four words of others"],
    }
    row = {
        "title": None, "url": None, "snippet": None, "extra": extra,
        "content": "The text of the page that was read.",
    }  # fmt: skip
    (found,) = documents(tmp_path, "search_results", search(results=[row]))
    assert found.text == "They are in Dresden and Hsinchu.\n\nTwo are being built now."
    assert (found.title, found.url) == ("They are in Dresden and Hsinchu.", "")


def test_the_rows_of_a_large_file_that_is_cut_off_are_read(tmp_path: Path) -> None:
    rows = [{"title": f"Row {number}", "snippet": "word " * 300} for number in range(1_000)]
    data = json.dumps(search(results=rows))
    assert len(data) > 1 << 20
    assert len(documents(tmp_path, "search_results", data)) == 1_000
    cut = documents(tmp_path, "search_results", data[: len(data) // 2])
    assert 450 < len(cut) < 550
    assert cut[-1].title == f"Row {len(cut) - 1}"


def test_an_article_is_a_document_made_when_it_was_fetched(tmp_path: Path) -> None:
    page = {"type": "article", "url": "https://a.example/x-ray", "title": "X", "author": "Ann", "source": "A",
            "date": "2026-01-02", "timestamp": "2026-03-10T10:00:00+01:00", "tool_use_id": "toolu_file",
            "markdown": "search_results/crawl_x.md", "content": "# X\n\nThe text.", "links": []}  # fmt: skip
    (found,) = documents(tmp_path, "article", page)
    assert (found.kind, found.title, found.text, found.author) == ("article", "X", "# X\n\nThe text.", "Ann")
    assert (found.made_at, found.date, found.url) == (
        1_773_133_200.0, "2026-01-02", "https://a.example/x-ray",
    )  # fmt: skip
    assert (found.context, found.tool_use_id) == ("A\na example x ray", "toolu_file")
    # A page of the crawler is one, too.
    at = "2026-03-10T09:00:00+00:00"
    article = Article(title="X", url="https://a.example/x", site="A", text="The text.", fetched_at=at)
    (found,) = documents(tmp_path, "written", encode_article(article), "search_results/crawl_x.md")
    assert (found.kind, found.url, found.text) == ("article", "https://a.example/x", "The text.")
    assert found.made_at == 1_773_133_200.0


def test_a_run_in_the_workbench_is_a_document(tmp_path: Path) -> None:
    run = {"tool": "REMOTE_WORKBENCH", "timestamp": None, "tool_use_id": 7,
           "input": {"code": "print(42)", "thought": "Count the fabs", "current_step": "x"},
           "output": {"stdout": "42\n", "results": {"fabs": 42}, "error": None, "stderr": ""}}  # fmt: skip
    (found,) = documents(tmp_path, "workbench_activity", run)
    assert (found.kind, found.trust, found.title) == ("workbench", "tool", "Count the fabs")
    assert found.text == "print(42)\n\n42\n\nfabs: 42"
    assert (found.made_at, found.tool_use_id) == (AT, "toolu_event")


def test_a_report_in_html_is_read_as_text(tmp_path: Path) -> None:
    page = (
        "<!doctype html><title>Chips &amp; power</title><style>p{}</style><h1>One</h1><p>First <a href='https://a.example/1'>"
        "source</a>.</p><script>var hidden</script><p>See https://b.example/2.</p><a href='/x'>here</a>"
    )
    (found,) = documents(tmp_path, "work_product", page)
    assert (found.kind, found.trust, found.title) == ("report", "own", "Chips & power")
    assert found.text == "# One\n\nFirst source.\n\nSee https://b.example/2.\n\nhere"
    assert found.context == "report"


def test_texts_of_the_agent_are_reports_or_notes_by_their_folder(tmp_path: Path) -> None:
    (note,) = documents(tmp_path, "written", "# My idea\n\nText.")
    (draft,) = documents(tmp_path, "written", "Text.", "work_products/draft_report.md")
    (other,) = documents(tmp_path, "of a plug-in", '{"a": 1}', "plugin/a.json")
    assert (note.kind, note.title, note.trust) == ("note", "My idea", "own")
    assert (draft.kind, draft.context) == ("report", "draft report")
    assert (other.kind, other.trust) == ("note", "tool")


def test_only_the_names_of_files_that_are_no_texts_are_found(tmp_path: Path) -> None:
    (binary,) = documents(tmp_path, "work_product", b"\x89PNG\0\0", "work_products/market-map.png")
    (pdf,) = documents(tmp_path, "download", "plain text", "downloads/annual_report_2025.txt")
    (packed,) = documents(tmp_path, "media", pack(b"x" * 10), "work_products/media/talk.txt.zst")
    (other,) = documents(tmp_path, "work_product", gzip.compress(b"text"), "work_products/data.csv.gz")
    assert (binary.kind, binary.title, binary.text) == ("report", "market-map.png", "")
    assert (pdf.kind, pdf.title, pdf.text) == ("file", "annual_report_2025.txt", "")
    assert pdf.context == "downloads annual report 2025 txt"
    assert (packed.title, other.title, other.text) == ("talk.txt", "data.csv.gz", "")
    files = [
        {"name": "q3-sales.csv", "path": "downloads/q3-sales.csv", "destination": "drive/Finance"},
        "x",
        {"name": 3},
    ]
    given = {"tool": "UP", "timestamp": None, "tool_use_id": "t", "files": files}
    (upload,) = documents(tmp_path, "upload", given)
    # The record of an upload is text.
    assert (upload.kind, upload.title) == ("note", "upload.json")
    assert {"q3-sales.csv", "drive/Finance"} <= {*upload.text.split()}
    # Of the corpus the pages are found as articles only.
    assert documents(tmp_path, "corpus", {"articles": [{"content": "Text of a page."}]}) == []


def test_compressed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "work_products").mkdir()
    (tmp_path / "work_products/long.md.zst").write_bytes(pack(b"# Long report\n\nText."))
    for path in ("work_products/long.md", "work_products/long.md.zst"):
        (found,) = read(tmp_path, "work_product", path)
        assert (found.title, found.context) == ("Long report", "long")


def test_a_long_text_is_cut_and_said_to_be_partial(tmp_path: Path) -> None:
    (short,) = documents(tmp_path, "written", "word " * 10)
    assert not short.partial
    (written,) = documents(tmp_path, "written", "word " * 1_000_000)
    (page,) = documents(tmp_path, "article", {"title": "X", "content": "word " * 500_000})
    for found in (written, page):
        assert found.partial
        assert len(found.text) <= LONGEST_TEXT


def test_of_a_huge_file_only_the_beginning_is_read(tmp_path: Path) -> None:
    path = tmp_path / "work_products/huge.txt"
    path.parent.mkdir()
    with open(path, "wb") as file:
        file.write(b"beginning " * 100 + b"\n" * LARGEST)
        file.truncate(10 * LARGEST)
    (found,) = read(tmp_path, "work_product", "work_products/huge.txt")
    assert found.partial
    assert found.text.startswith("beginning")


@pytest.mark.parametrize("missing", [1, 6, len(SECRET) - 1])
def test_half_of_a_secret_at_the_end_of_what_is_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int
) -> None:
    limit = 20_000
    monkeypatch.setattr("ua_tui.observers.knowledge.documents._LONGEST_HTML", limit)
    filling = ("<br>" * limit)[: limit - 11 - len(SECRET) + missing]
    (found,) = documents(tmp_path, "written", f"beginning {filling} {SECRET}", "work_products/report.html")
    assert found.text.startswith("beginning")
    assert SECRET[:4] not in found.text
    assert found.partial


def test_encodings_with_a_mark_are_read(tmp_path: Path) -> None:
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        (found,) = documents(tmp_path, "written", "# Größe\n".encode(encoding))
        assert found.title == "Größe"
    (found,) = documents(tmp_path, "written", b"# caf\xe9 \xff\n")
    assert found.title == "caf\ufffd \ufffd"


def test_planted_secrets_reach_no_document(tmp_path: Path) -> None:
    leak = f"the password is {SECRET} and the key {KEY} ok"
    row = {"title": leak, "url": f"https://a.example/?api_key={KEY}&x={SECRET}", "source": leak, "date": SECRET,
           "snippet": leak, "extra": {"password": "hunter2hunter2", "text": leak}}  # fmt: skip
    content = {
        "query": leak, "tool": leak, "tool_use_id": SECRET, "timestamp": SECRET, "answer": leak, "knowledge_panel": row,
        "results": [row], "files": [{"name": SECRET, "path": leak, "destination": leak}], "articles": [row],
        "input": {"code": leak, "thought": leak}, "output": {"stdout": leak, "results": {"password": "hunter2hunter2"}},
        "content": leak, "url": row["url"], "title": leak, "author": leak, "source": leak, "date": leak,
        "links": [{"label": leak, "url": row["url"]}],
    }  # fmt: skip
    html = f"<title>{leak}</title><a href='{row['url']}'>{leak}</a>"
    texts = {"work_product": html, "written": f"# {leak}\n{row['url']}", "unparsed": leak}
    for kind in PATHS:
        found = documents(tmp_path, kind, texts.get(kind, content))
        assert found or kind == "corpus"
        shown = repr([fields(document) for document in found])
        assert [leaked for leaked in (SECRET, KEY, "hunter2") if leaked in shown] == [], kind
    for kind in ("written", "download"):
        assert documents(tmp_path, kind, "Text.", f"notes/{SECRET}.md") == []


def fields(document: KnowledgeDocument) -> list[tuple[str, Any]]:
    return [(name, getattr(document, name)) for name in document.__struct_fields__]


_NESTED: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("\x1b]0;x\x07\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
_ROW = "title url source author date snippet extra name path code stdout"
_TOP = f"{_ROW} query tool tool_use_id timestamp answer knowledge_panel input output content results files"
_ROWS = st.lists(st.dictionaries(st.sampled_from(_ROW.split()), _NESTED), max_size=3)
_HOSTILE = st.dictionaries(st.sampled_from(_TOP.split()), _NESTED | _ROWS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([*PATHS]),
    _HOSTILE.map(json.dumps) | _NESTED.map(json.dumps) | st.binary(max_size=60),
    st.integers(0, 99),
)
def test_files_of_any_content_give_clean_documents(
    tmp_path: Path, kind: str, content: bytes | str, cut: int
) -> None:
    data = content.encode() if isinstance(content, str) else content
    for document in documents(tmp_path, kind, data[: len(data) - cut] if cut < 50 else data):
        for name, value in fields(document):
            for text in value if isinstance(value, tuple) else (value,):
                assert not isinstance(text, str) or not is_unsafe(text), name
        assert 0 < document.made_at < 1e11
        assert "\n" not in document.title


def test_json_that_parsers_fail_at_is_no_error(tmp_path: Path) -> None:
    rows = '{"results": [{"title": "'
    contents = [
        "[" * 100_000, '{"results": [' + '{"a":' * 50_000, f'{rows}A", "url": 1e999}}, NaN, {{"title": "B"',
    ]  # fmt: skip
    for content in [*contents, rows + "9" * 5_000 + '", "x": ' + "9" * 5_000 + "}]}", "\ufeff{}", "null", ""]:
        for kind in PATHS:
            documents(tmp_path, kind, content)


def test_what_is_no_file_gives_no_document(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("outside")
    folder = tmp_path / "session"
    (folder / "folder").mkdir(parents=True)
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "way").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.txt")
    (folder / "bad.json.zst").write_bytes(b"no zstd data")
    hostile = ["../secret.txt", "/etc/hostname", "", "a\0b", ".env", "x" * 300, "\ud800.txt"]
    paths = ["missing.txt", "link.txt", "way/secret.txt", "folder", "pipe.txt", *hostile]
    for kind in (*PATHS, "download"):
        for path in paths if kind == "download" else [*paths, "bad.json"]:
            assert read(folder, kind, path) == [], (kind, path)


@pytest.mark.parametrize("kind", ["report_check", "written"])
def test_records_of_the_program_are_no_documents(tmp_path: Path, kind: str) -> None:
    check = {"report": "work_products/a.html", "check": {"claims": [{"sentence": "Otters smile."}]}}
    paths = ("report_checks/a.html.json", "tool_results/toolu_1.json", "trace.json", "run.log",
             "spans.jsonl", "expanded_corpus.json", "notes/build.log")  # fmt: skip
    for path in paths:
        assert documents(tmp_path, kind, check, path) == []


SENTENCE = (
    "The plant in Dresden is built by several companies together, and opens in the spring of the next year."
)
POST = f"Fab news of the day. {SENTENCE} {SENTENCE}"
TITLES: dict[tuple[str, str], tuple[Any, str]] = {
    # The rows of searches.
    ("search_results", ""): (search(results=[{"title": "Fabs", "snippet": SENTENCE}]), "Fabs"),
    ("search_results", "1"): (
        search(results=[{"title": None, "url": "https://www.a.example/maps/fab.png?x=1", "snippet": SENTENCE}]),
        "",
    ),
    ("search_results", "2"): (
        search(results=[{"title": "https://a.example/maps/", "url": "https://a.example/maps/", "snippet": SENTENCE}]),
        "",
    ),
    ("search_results", "3"): (search(results=[{"title": "", "snippet": SENTENCE}]), ""),
    ("search_results", "4"): (
        search(results=[{"title": POST, "snippet": ""}]),
        f"Fab news of the day. {SENTENCE} The plant in Dresden is…",
    ),
    ("search_results", "5"): (search(query=None, answer=SENTENCE, results=[]), "Answer to a search"),
    # Pages that were read.
    ("article", ""): ({"title": "", "url": "https://a.example/x", "content": f"# X\n\n{SENTENCE}"}, "X"),
    ("article", "1"): ({"title": None, "url": "https://a.example/x", "content": SENTENCE}, ""),
    # Runs, and answers that could not be parsed.
    ("workbench_activity", ""): ({"input": {"code": "a = 1"}, "output": {"stdout": SENTENCE}}, "Run in the workbench"),
    ("unparsed", ""): (f'cut off\ntool: SEARCH\ntool_use_id: t\n\n{{"a": "{SENTENCE}"', "Answer to a search"),
    # Texts of the agent.
    ("written", ""): (SENTENCE, "idea.md"),
    ("written", "notes/data.json"): ({"a": SENTENCE}, "data.json"),
    ("work_product", ""): (f"<title>Fabs</title><p>{SENTENCE}</p>", "Fabs"),
}  # fmt: skip


@pytest.mark.parametrize("given", TITLES)
def test_a_title_is_no_sentence_address_or_json(tmp_path: Path, given: tuple[str, str]) -> None:
    content, title = TITLES[given]
    (found,) = documents(tmp_path, given[0], content, given[1] if "/" in given[1] else "")
    assert (found.title, len(found.title) <= 150) == (title, True)
    # What is searched and shown is what a person would read.
    assert SENTENCE in found.text
    assert not {"{", '"'} & {*found.text}


def test_dates_and_names_in_the_further_fields_of_a_row_are_no_text(tmp_path: Path) -> None:
    extra = {
        "at": "10/07/2025, 01:06 PM, +0000 UTC",
        "raw": '{"a b c d": "words of it"}',
        "said": "It opens in May.",
    }
    (found,) = documents(tmp_path, "search_results", search(results=[{"title": "Fab", "extra": extra}]))
    assert found.text == "It opens in May."


def test_of_a_film_only_the_beginning_is_read(tmp_path: Path) -> None:
    tmp_path.joinpath("film.mp4").write_bytes(bytes(LARGEST))
    tracemalloc.start()
    try:
        assert read_content(Root(tmp_path), "film.mp4") is None
        assert tracemalloc.get_traced_memory()[1] < LARGEST / 8
    finally:
        tracemalloc.stop()
