from __future__ import annotations

import csv
import io
import itertools
import json
import os
import socket
import struct
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from tests.pdf_files import pdf_file
from tests.permissions import permissions_obeyed
from ua_tui.core.concurrency.cancellation import Stopped, stoppable
from ua_tui.core.text import is_unsafe
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.screens.files.viewer import joined_pages
from ua_tui.tui.viewers.articles.page import article_path
from ua_tui.tui.viewers.articles.results import ResultsTable, hits_in
from ua_tui.tui.viewers.bodies.json_text import format_json, style_json_line
from ua_tui.tui.viewers.bodies.json_tree import Branch, JsonTree
from ua_tui.tui.viewers.bodies.json_values import open_level
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.bodies.picture import PictureHeader, read_header
from ua_tui.tui.viewers.bodies.table import Table, TableColumn
from ua_tui.tui.viewers.bodies.text import TextBody, fold_points
from ua_tui.tui.viewers.contract import FULL_LIMIT, PAGE, PREVIEW_LIMIT, Declined, Document, Sample
from ua_tui.tui.viewers.cursor_body import (
    BackgroundWork,
    BodyCommand,
    CopyText,
    CursorBody,
    OpenArticle,
    OpenLink,
)
from ua_tui.tui.viewers.document import ROLES, Body, JoinedBody, Rows
from ua_tui.tui.viewers.export import NotExportable, outside_target
from ua_tui.tui.viewers.reader import FileUnviewable, Piece, looks_binary, read_piece
from ua_tui.tui.viewers.registry import load, load_page, viewers
from ua_tui.tui.viewers.safe_html import browser_copy
from ua_tui.tui.viewers.types.csv import Lines, record_starts
from ua_tui.tui.viewers.types.markdown import split_front_matter
from ua_tui.tui.viewers.types.pdf import read_pages

THEME = MarkdownTheme()


def lines(body: Body, width: int = 80) -> list[str]:
    rows = body.lay_out(width, THEME)
    return [text_of(rows, y) for y in range(len(rows))]


def text_of(rows: Rows, y: int) -> str:
    row = rows.row(y)
    return row.plain if isinstance(row, Content) else row.text


def shown(document: Document, width: int = 80) -> str:
    return "\n".join(lines(document.best, width))


def write(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def do(table: CursorBody, command: BodyCommand) -> None:
    """Carry out an order that is prepared in a thread."""
    outcome = table.execute(command)
    assert isinstance(outcome, BackgroundWork)
    outcome.prepare()()


class TestReading:
    """Only regular files are read, and nothing blocks."""

    def test_what_is_no_regular_file_is_refused_with_a_reason(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        (tmp_path / "link").symlink_to("/etc/hostname")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(tmp_path / "socket"))
            reasons = {
                "pipe": "pipe", "folder": "folder", "link": "link", "loop": "link", "dangling": "link",
                "socket": "socket", "gone": "no longer exists",
            }  # fmt: skip
            for name, reason in reasons.items():
                with pytest.raises(FileUnviewable, match=reason):
                    load(tmp_path / name)
        with pytest.raises(FileUnviewable, match="device"):
            load(Path("/dev/null"))
        with pytest.raises(FileUnviewable, match="name"):
            load(tmp_path / "nul\0name")

    def test_a_file_without_permission_has_a_message(self, tmp_path: Path) -> None:
        path = write(tmp_path, "secret.txt", "x")
        path.chmod(0)
        with permissions_obeyed(), pytest.raises(FileUnviewable, match="permission"):
            load(path)

    def test_no_more_is_read_than_asked_for(self, tmp_path: Path) -> None:
        path = tmp_path / "huge.txt"
        with path.open("wb") as file:
            file.write(b"line of text\n" * 100_000)
            file.truncate(1 << 30)
        document = load(path, PREVIEW_LIMIT)
        assert document.size == 1 << 30
        assert document.end <= PREVIEW_LIMIT
        assert not document.complete
        assert read_piece(path, 100, 13).data == (b"line of text\n" * 8)[:100]

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
    def test_a_file_that_lies_about_its_size_is_read_all_the_same(self) -> None:
        document = load(Path("/proc/self/status"))
        assert "Name:" in shown(document)
        assert document.complete

    def test_a_file_that_shrinks_while_it_is_read_is_shown_as_far_as_it_goes(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.txt", "x" * 1000)
        stop = threading.Event()

        def rewrite() -> None:
            while not stop.is_set():
                os.truncate(path, 10)
                os.truncate(path, 1000)

        thread = threading.Thread(target=rewrite)
        thread.start()
        try:
            for _ in range(200):
                assert load(path).size <= 1000
        finally:
            stop.set()
            thread.join()

    def test_text_and_bytes_are_distinguished(self) -> None:
        assert not looks_binary("Grüße, 世界 🙂".encode())
        assert not looks_binary("世".encode()[:2])
        assert not looks_binary("plain".encode("utf-16"))
        assert not looks_binary("Grüße aus Köln".encode("latin-1"))
        assert looks_binary(b"\x00\x01\x02")
        assert looks_binary(bytes(range(128, 256)) * 4)

    def test_pages_join_to_the_whole_file_without_tearing_lines_or_characters(self, tmp_path: Path) -> None:
        text = "".join(f"{number}: größer 世界 🙂\n" for number in range(60_000))
        path = write(tmp_path, "pages.txt", text)
        document = load(path, PAGE)
        body = document.raw
        while document.end < document.size:
            document = load_page(path, document.end)
            joined = joined_pages(body, document.raw)
            assert joined is not None
            body = joined
        assert isinstance(body, TextBody)
        assert body.text == text

    def test_one_line_without_end_is_cut_between_characters(self, tmp_path: Path) -> None:
        path = write(tmp_path, "line.txt", "x" + "世" * 200_000)
        document = load(path, PAGE)
        assert isinstance(document.raw, TextBody)
        assert "\ufffd" not in document.raw.text
        following = load_page(path, document.end)
        assert isinstance(following.raw, TextBody)
        assert "\ufffd" not in following.raw.text


class TestText:
    """Text is folded to the width without losing a character."""

    @example(line="000000 00\u2e80", width=3)
    @given(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Mn", "Me", "Cf"])),
        st.integers(2, 40),
    )
    def test_folding_keeps_every_character_and_the_width(self, line: str, width: int) -> None:
        points = [0, *fold_points(line, width), len(line)]
        parts = [line[a:b] for a, b in itertools.pairwise(points)]
        assert "".join(parts) == line
        assert all(cell_len(part) <= width for part in parts)

    def test_a_line_of_five_megabytes_is_laid_out_and_found_in(self, tmp_path: Path) -> None:
        path = write(tmp_path, "line.txt", "word " * 1_000_000 + "needle")
        document = load(path, FULL_LIMIT)
        rows = document.best.lay_out(80, THEME)
        assert len(rows) > 3000
        assert all(len(text_of(rows, y)) <= 80 for y in range(0, len(rows), 97))
        assert len(rows.find("word")) == 10_000

    def test_a_match_is_found_where_the_line_is_folded(self) -> None:
        assert lines(TextBody("the quick brown fox jumps"), 12) == ["the quick ", "brown fox ", "jumps"]
        rows = TextBody("aaaaaaaaa bbbbbbbbb NEEDLE ccc", numbers=True).lay_out(64, THEME)
        (match,) = rows.find("needle")
        assert text_of(rows, match.row)[match.start : match.end] == "NEEDLE"
        narrow = TextBody("aaaaaaaaa bbbbbbbbb NEEDLE ccc").lay_out(10, THEME)
        (match,) = narrow.find("needle")
        assert text_of(narrow, match.row)[match.start : match.end] == "NEEDLE"

    def test_joined_bodies_are_searched_as_one(self) -> None:
        rows = JoinedBody((TextBody("one\ntwo"), TextBody(""), TextBody("two"))).lay_out(20, THEME)
        assert [match.row for match in rows.find("TWO")] == [1, 3]
        assert len(rows) == 4

    def test_nothing_that_steers_a_terminal_is_left(self, tmp_path: Path) -> None:
        evil = "\x1b]52;c;eA==\x07 \x9b2J \u202egnp \u200b[@click=app.quit]x[/] \r over"
        for name in ("a.txt", "a.log", "a.md", "a.py", "a.csv", "a.html"):
            text = shown(load(write(tmp_path, name, evil)))
            assert not is_unsafe(text), name
            assert "[@click=app.quit]x[/]" in text, name
        for name, data in (("a.json", json.dumps({"k": evil})), ("a.jsonl", json.dumps({"k": evil}) + "\n")):
            assert not is_unsafe(shown(load(write(tmp_path, name, data))))


class TestJson:
    """JSON is a tree that folds and changes nothing of its content."""

    def test_numbers_and_order_stay_as_written(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.json", '{"b":12345678901234567890123,"a":1.10,"c":[]}')
        document = load(path)
        assert lines(document.best) == ["  b: 12345678901234567890123", "  a: 1.10", "▾ c: []"]
        assert document.kind == "JSON"

    @pytest.mark.parametrize(
        "text", ['{"a":', '{"a":NaN}', "{} x", "[" * 100_000, '{"a":' * 5_000, "nothing"]
    )
    def test_what_is_no_json_is_shown_as_it_is(self, tmp_path: Path, text: str) -> None:
        document = load(write(tmp_path, "a.json", text))
        assert document.notice is not None
        assert "Not valid JSON" in document.notice
        assert shown(document, 60).replace("\n", "").count("{") == text.count("{")

    def test_large_json_is_a_tree_and_raw_as_far_as_a_page(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.json", json.dumps({"rows": ["x" * 20] * 300_000, "last": {"k": 1}}))
        document = load(path, FULL_LIMIT)
        assert document.facts == ("2 keys",)
        assert document.all_rendered
        assert document.end <= PAGE < document.size
        tree = document.rendered
        assert isinstance(tree, JsonTree)
        assert tree.find_places("K") == [(1, 0)]
        # Millions of bytes are opened in a thread.
        assert isinstance(tree.execute(BodyCommand("open")), BackgroundWork)

    def test_a_preview_of_very_large_json_shows_its_beginning_as_it_is_written(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "a.json", json.dumps({"rows": ["x" * 20] * 300_000})), PREVIEW_LIMIT)
        assert (document.kind, document.rendered, document.notice) == ("JSON", None, None)
        assert lines(document.best, 100)[0].startswith('{"rows": ["xxx')

    def test_folding_unfolding_and_what_is_counted(self, tmp_path: Path) -> None:
        value = {"a": [{"x": 1, "y": [1, 2]}, {"z": {"deep": "v"}}, 3, 4], "b": "text"}
        tree = load(write(tmp_path, "a.json", json.dumps(value))).rendered
        assert isinstance(tree, JsonTree)
        assert lines(tree)[:3] == ["▾ a: [4]", "  ▸ 0  {2}  x: 1, y: […]", "  ▸ 1  {1}  z: {…}"]
        tree.cursor = 1
        assert tree.execute(BodyCommand("unfold"))
        assert lines(tree)[1:4] == ["  ▾ 0  {2}", "      x: 1", "    ▸ y: [2]  1, 2"]
        tree.cursor = 3
        assert tree.execute(BodyCommand("fold"))
        assert tree.cursor == 1, "from a folded member to the one around it"
        assert tree.execute(BodyCommand("toggle"))
        assert len(lines(tree)) == 6
        work = tree.execute(BodyCommand("unfold_all"))
        assert isinstance(work, BackgroundWork)
        work.prepare()()
        assert lines(tree)[-4:-2] == ['        deep: "v"', "    2  3"]
        assert tree.cursor_place() == (0, 0), "the cursor stays where it was"
        assert tree.execute(BodyCommand("fold_all"))
        assert lines(tree)[0].startswith("▸ a: [4]")
        assert tree.cursor == 0

    def test_search_finds_what_is_folded_and_how_ever_it_is_escaped(self, tmp_path: Path) -> None:
        text = '{"a":[{"k":"Gr\\u00fc\\u00dfe"},{"k":"grü\\/ße"}],"Grün":{"c":"x"}}'
        tree = load(write(tmp_path, "a.json", text.replace("\\\\", "\\"))).rendered
        assert isinstance(tree, JsonTree)
        assert tree.find_places("GRÜ") == [(0, 0, 0), (0, 1, 0), (1,)]
        assert tree.find_places("ü/ß") == [(0, 1, 0)]
        tree.execute(BodyCommand("fold_all"))
        tree.reveal((0, 1, 0))
        assert lines(tree)[tree.cursor] == '      k: "grü/ße"'
        stop = threading.Event()
        stop.set()
        with stoppable(stop), pytest.raises(Stopped):
            tree.find_places("9")

    def test_long_strings_are_cut_with_their_length_and_copied_whole(self, tmp_path: Path) -> None:
        long = "a line\nof text [/b] " * 500
        tree = load(write(tmp_path, "a.json", json.dumps({"a b": {"t": [long]}}))).rendered
        assert isinstance(tree, JsonTree)
        for width in (20, 40, 80):
            assert all(cell_len(line) <= width for line in lines(tree, width))
        tree.reveal((0, 0, 0))
        row = lines(tree)[tree.cursor]
        assert row.endswith(f"{len(long):,} characters")
        assert tree.execute(BodyCommand("copy")) == CopyText("value", long)
        assert tree.execute(BodyCommand("copy_place")) == CopyText("key path", '["a b"].t[0]')
        detail = tree.detail()
        assert detail is not None
        assert lines(detail)[:3] == ['["a b"].t[0]', "a line", "of text [/b] a line"]

    @given(st.data())
    def test_every_row_is_found_again(self, data: st.DataObject) -> None:
        value = {"a": [{"x": 1}, {"y": [1, 2, {"z": 3}]}], "b": "s", "c": {"k": {"l": []}}, "d": [[1], [2]]}
        level = open_level(json.dumps(value).encode())
        assert level is not None
        root = Branch(level)
        for _ in range(20):
            seen = [root.at(row) for row in range(root.rows)]
            assert [branch.row_of(place) for branch, place in seen] == list(range(root.rows))
            branch, place = data.draw(st.sampled_from(seen))
            assert branch.fold(place) or branch.unfold(place) is not None or branch.values[place]

    def test_records_of_json_lines_are_numbered_and_bad_ones_counted(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "a.jsonl", '{"a":1}\n{bad\n\n{"b":2}'))
        assert document.facts == ("3 records", "1 not JSON")
        assert lines(document.best) == ["▾ 1  {1}", "    a: 1", "▸ 2  {bad", "▾ 3  {1}", "    b: 2"]

    def test_styles_are_roles_and_cover_keys_and_values(self) -> None:
        line = '  "key": ["text \\" more", -1.5e3, true],'
        spans = {line[span.start : span.end]: span.style for span in style_json_line(0, line)}
        assert spans['"key"'] == "key"
        assert spans['"text \\" more"'] == "string"
        assert spans["-1.5e3"] == "number"
        assert spans["true"] == "literal"
        assert set(spans.values()) <= set(ROLES)

    @given(st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    ))  # fmt: skip
    def test_formatting_keeps_the_value(self, value: object) -> None:
        assert json.loads(format_json(json.dumps(value))) == value


class TestSearchResults:
    """Artifacts of searches become tables of results."""

    RESULTS: ClassVar[dict[str, Any]] = json.loads(
        Path(__file__).with_name("results.json").read_text("utf-8")
    )

    def test_a_wide_view_is_a_table_and_a_narrow_one_cards(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "news.json", json.dumps(self.RESULTS["news"])))
        assert document.kind == "Search results"
        assert document.facts == ("3 results",)
        wide = lines(document.best, 150)
        assert wide[0] == "AI chips"
        assert wide[1] == "SEARCH_NEWS · 3 results"
        assert wide[2].split() == ["#", "Title", "Source", "Date", "Address"]
        assert wide[4].split() == ["1", "Foundries", "grow", "News", "2026-11-20", "news.example/a"]
        assert all(cell_len(line.rstrip()) <= 150 for line in wide)
        narrow = lines(document.best, 40)
        assert narrow[3] == "1  Foundries grow"
        assert narrow[4].rstrip() == "   News · 2026-11-20  news.example/a"
        assert narrow[6] == "2  A snippet"
        # What little of an address there is room for would be of no use.
        assert lines(document.best, 30)[4].rstrip() == "   News · 2026-11-20"
        for width in (1, 5, 20, 55, 80):
            assert all(cell_len(line.rstrip()) <= max(width, 22) for line in lines(document.best, width))

    def full(self, tmp_path: Path) -> ResultsTable:
        table = load(write(tmp_path, "news.json", json.dumps(self.RESULTS["full"]))).rendered
        assert isinstance(table, ResultsTable)
        return table

    def test_the_head_has_query_tool_time_and_counts(self, tmp_path: Path) -> None:
        table = self.full(tmp_path)
        text = lines(table, 150)
        assert text[0] == "chips"
        assert text[1].startswith("SEARCH_NEWS · news · 2026-11-2")
        assert text[1].endswith("3 results · 3 addresses · 1 seen before · 2 rejected")
        assert "truncated" in text[2]
        assert "read, seen" in text[6]
        assert "cut" in text[7]

    def test_the_answer_comes_first_and_then_what_is_under_the_cursor(self, tmp_path: Path) -> None:
        table = self.full(tmp_path)
        detail = table.detail()
        assert isinstance(detail, MarkdownBody)
        table.cursor = 1
        detail = table.detail()
        assert detail is not None
        facts = "a.example · 2026-11-03 10:00:00+00:00 · read in full, 1,234 words (press a to open it)"
        assert lines(detail, 200) == [
            "alpha", f"{facts} · already found in this session", "https://a.example", "two needle",
        ]  # fmt: skip
        assert table.execute(BodyCommand("answer"))
        assert isinstance(table.detail(), MarkdownBody)

    def test_the_panel_and_further_searches_are_shown_with_the_answer(self, tmp_path: Path) -> None:
        artifact = {
            "tool": "web_search",
            "knowledge_panel": {"title": "Rye & AT&amp;T *", "url": "https://b.example", "source": None, "date": None,
                "snippet": "A [grass](https://c.example).", "extra": {"type": "Grass"}},
            "related_searches": ["rye\x1b bread", 7, "oats"],
            "results": [{"position": 1, "title": "One", "url": "https://a.example"}],
        }  # fmt: skip
        table = load(write(tmp_path, "panel.json", json.dumps(artifact))).rendered
        assert isinstance(table, ResultsTable)
        detail = table.detail()
        assert detail is not None
        assert [line for line in lines(detail, 80) if line.strip()] == [
            "Rye & AT&amp;T * · Grass", "A [grass](https://c.example).", "https://b.example",
            "Related searches: rye\ufffd bread · oats",
        ]  # fmt: skip
        assert ("A", "panel") in [(hint.key, hint.label) for hint in table.keys]

    def test_results_are_sorted_filtered_found_and_opened(self, tmp_path: Path) -> None:
        table = self.full(tmp_path)

        def titles() -> list[str]:
            return [table.hits[number].page.title for number in table.order]

        do(table, BodyCommand("sort", column=1))
        assert titles() == ["alpha", "Beta", "Gamma"]
        do(table, BodyCommand("turn"))
        assert titles() == ["Gamma", "Beta", "alpha"]
        do(table, BodyCommand("sort", column=3))
        assert titles() == ["Beta", "alpha", "Gamma"], "what has no date comes last"
        do(table, BodyCommand("filter", "NEEDLE"))
        assert titles() == ["alpha"]
        assert table.state == "1 with “NEEDLE” · by Date"
        assert table.execute(BodyCommand("open")) == OpenLink("https://a.example")
        opened = table.execute(BodyCommand("article"))
        assert isinstance(opened, OpenArticle)
        assert (opened.path, opened.page.title) == ("extracted_articles/a.json", "alpha")
        assert table.execute(BodyCommand("copy")) == CopyText("link", "https://a.example")
        do(table, BodyCommand("filter", "nothing has this"))
        assert "No row contains" in lines(table, 100)[-1]
        assert table.execute(BodyCommand("open")) is False
        do(table, BodyCommand("filter", ""))
        assert table.find_places("needle") == [1]

    def test_an_article_is_only_sought_inside_the_session(self, tmp_path: Path) -> None:
        session = tmp_path / "session"
        (session / "search_results").mkdir(parents=True)
        (session / "extracted_articles").mkdir()
        (session / "out").symlink_to(tmp_path)
        write(tmp_path, "secret.json", "{}")
        found = write(session / "extracted_articles", "a.json.zst", b"")
        assert article_path(session, "extracted_articles/a.json") == found.with_name("a.json")
        outside = ("../secret.json", "/etc/passwd", "out/secret.json")
        for evil in (*outside, "", "a\0b", "extracted_articles/gone.json"):
            assert article_path(session, evil) is None
        empty = load(write(tmp_path, "none.json", '{"query": "x", "results": []}'))
        assert empty.kind == "Search results"
        assert [shown(empty, width).count("No results.") for width in (80, 30)] == [1, 1]

    @pytest.mark.parametrize("value", [
        [],
        {"results": []},
        {"query": "x", "results": {}},
        {"query": "x", "results": ["a"]},
        {"tool": "x", "results": [{"n": 1}]},
    ])  # fmt: skip
    def test_other_json_stays_json(self, tmp_path: Path, value: object) -> None:
        assert hits_in(value) is None
        document = load(write(tmp_path, "other.json", json.dumps(value)))
        assert document.kind == "JSON"
        assert document.notice is None


class TestTables:
    """CSV and TSV stand in columns."""

    def test_columns_are_aligned_and_numbers_stand_right(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "a.csv", 'name,amount\n"Alpha, Inc.",1200\nBeta,3\n'))
        assert [line.rstrip() for line in lines(document.best)] == [
            "name           amount", "─────────────────────", "Alpha, Inc.      1200",
            "Beta                3",
        ]  # fmt: skip
        assert document.facts == ("2 rows", "2 columns")
        for name, text in (("a.tsv", "a\tb\n1\t2\n"), ("a.csv", "a;b\n1;2\n")):
            table = load(write(tmp_path, name, text)).rendered
            assert isinstance(table, Table)
            assert [column.title for column in table.columns] == ["a", "b"]
        table = load(write(tmp_path, "a.csv", 'v\n"1,200"\n-3\n\n$20\nnone\n5%\n')).rendered
        assert isinstance(table, Table)
        do(table, BodyCommand("sort"))
        assert [table.records[number][0] for number in table.order] == ["-3", "5%", "$20", "1,200", "none"]
        document = load(write(tmp_path, "a.csv", 'a,b\n1\n1,2,3\n"open,\x1b'))
        assert document.kind == "CSV"
        assert "3" in shown(document), "rows of uneven length and broken quotes are shown"

    @pytest.mark.parametrize("shape", [(20, 500), (500, 20)])
    def test_a_large_table_fits_any_width(self, shape: tuple[int, int]) -> None:
        columns, rows = shape
        table = Table([TableColumn(f"column {i}") for i in range(columns)], [["x" * 30] * columns] * rows)
        for width in (1, 5, 20, 80, 200):
            for column in (0, columns // 2, columns - 1):
                table.column = column
                text = lines(table, width)
                assert len(text) == rows + 2
                assert all(cell_len(line.rstrip()) <= width for line in text)
        assert "→" not in lines(table, 80)[0]
        assert "←" in lines(table, 80)[0]

    def test_hidden_columns_are_not_counted(self) -> None:
        table = Table([TableColumn(f"column {i}") for i in range(8)], [["x" * 30] * 8])
        table.natural[1] = table.natural[6] = 0
        assert lines(table, 80)[0].rstrip().endswith(" +2 →")
        table.column = 7
        assert "← 2" in lines(table, 80)[0]

    def test_very_many_rows_are_sorted_and_filtered_in_a_thread(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        with path.open("w") as file:
            file.write("n,name\n")
            file.writelines(f"{i * 7919 % 100000},row {i}\n" for i in range(100_000))
        document = load(path, FULL_LIMIT)
        assert document.facts == ("100,000 rows", "2 columns")
        table = document.rendered
        assert isinstance(table, Table)
        assert table.records[99_999][1] == "row 99999"
        do(table, BodyCommand("filter", "row 9999"))
        assert [table.records[number][1] for number in table.order][:2] == ["row 9999", "row 99990"]
        do(table, BodyCommand("sort", column=0))
        values = [int(table.records[number][0]) for number in table.order]
        assert values == sorted(values)
        work = table.execute(BodyCommand("sort", column=1))
        assert isinstance(work, BackgroundWork)
        stop = threading.Event()
        stop.set()
        with stoppable(stop), pytest.raises(Stopped):
            work.prepare()

    @pytest.mark.parametrize(("name", "text"), [
        ("a.json", '["' + "x" * 5_000_000 + '"]'),
        ("a.jsonl", '{"k": "' + "x" * 5_000_000 + '"}'),
        ("a.csv", "a," * 2_500_000),
        ("a.csv", '"open ' * 1_000_000),
    ])  # fmt: skip
    def test_a_line_of_five_million_characters_is_cut(self, tmp_path: Path, name: str, text: str) -> None:
        path = write(tmp_path, name, text)
        for limit in (PREVIEW_LIMIT, FULL_LIMIT):
            rows = load(path, limit).best.lay_out(80, THEME)
            assert all(cell_len(text_of(rows, y).rstrip()) <= 80 for y in range(min(len(rows), 30)))

    @given(st.lists(
        st.lists(
            st.text(
                st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]),
                max_size=9,
            ) | st.sampled_from(["a\nb", 'say "x"', "a,b"]),
            min_size=2, max_size=6,
        ),
        min_size=1, max_size=6,
    ))  # fmt: skip
    def test_any_csv_is_read_as_the_standard_library_reads_it(self, rows: list[list[str]]) -> None:
        target = io.StringIO()
        csv.writer(target).writerows(rows)
        data = target.getvalue().encode()
        starts = record_starts(data)
        assert len(starts) == len(rows) + 1
        lines_read = Lines(data, ",", starts)
        for number, row in enumerate(rows):
            assert lines_read[number] == row


class TestMarkdownAndHtml:
    """Reports are read as text; nothing in them runs or loads."""

    EVIL = (
        "<html><head><title>Week &amp; chips</title><meta http-equiv=refresh content='0;url=http://t.example/r'>"
        "<link rel=stylesheet href=http://t.example/c><style>p{color:red}</style><style>b{background:url(http://t.example/b)}</style>"
        "<script>steal()</script><base href=http://t.example/></head><body onload=steal()>"
        "<h1 class=x style='color:blue'>Report</h1><p style='background:url(http://t.example/i)'>text "
        "<a href=https://news.example/a>news</a> <a href='javascript:steal()'>bad</a></p>"
        "<img src=http://t.example/p.png alt='a chart'><iframe src=file:///etc/passwd></iframe>"
        "<form action=http://t.example/f><input name=q></form><object data=http://t.example/o></object>"
        "<svg><script>steal()</script></svg><table><tr><th>A</th></tr><tr><td>cell</td></tr></table></body></html>"
    )

    def test_html_is_read_as_text_with_its_links(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "report.html", self.EVIL))
        text = shown(document)
        assert document.title == "Week & chips"
        kept = ("Report", "text news bad", "cell", "[image: a chart]", "1. news: https://news.example/a")
        assert [each for each in kept if each not in text] == []
        forbidden = ("steal", "javascript", "t.example", "passwd", "color:red")
        assert [each for each in forbidden if each in text] == []

    def test_the_browser_gets_a_copy_that_cannot_run_or_load_anything(self) -> None:
        page = browser_copy(None, self.EVIL).lower()
        forbidden = (
            "<script", "steal", "javascript:", "onload", "t.example", "<img", "<iframe", "<form", "<object",
            "<svg", "refresh", "<base ",
        )  # fmt: skip
        assert [each for each in forbidden if each in page] == []
        kept = (
            "default-src 'none'", "<title>week &amp; chips</title>", "report</h1>", "color:blue",
            "p{color:red}", "<td>cell</td>", 'href="https://news.example/a"',
        )  # fmt: skip
        assert [each for each in kept if each not in page] == []

    @pytest.mark.parametrize(
        ("written", "copied"),
        [
            ('<p style="color:red;position:fixed;top:0">', "color:red;no-position:fixed;top:0"),
            ('<p style="POSITION/**/ : sticky">', "no-position/**/ : sticky"),
            ("<style>p{position:var(--p);x-position:0}</style>", "{no-position:var(--p);x-position:0}"),
            ('<p style="pos\\69tion:fixed">', "<p></p>"),
            ('<a href="https://bank.invalid@evil.example/@x">', 'href="https://evil.example/@x"'),
            ('<a href="https:bank.invalid:x@y@evil.example">', 'href="https://evil.example"'),
            ('<a href="\x01ht\ntps:\\\\bank.invalid@evil.example">', 'href="https://evil.example"'),
            ('<a href="https://a.example/@user">', 'href="https://a.example/@user"'),
            ('<a href="mailto:ada@a.example">', 'href="mailto:ada@a.example"'),
        ],
    )  # fmt: skip
    def test_the_copy_covers_nothing_and_its_links_have_no_users(self, written: str, copied: str) -> None:
        assert copied in browser_copy(None, written)

    def test_the_copy_is_private_and_replaces_the_one_before(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        report = write(tmp_path, "r.html", "<h1>One</h1>")
        copies = tmp_path / "cache" / "ua-tui" / "opened"
        first = outside_target(report)
        report.write_text("<h1>Two</h1>")
        second = outside_target(report)
        assert first == second
        assert second.sanitised
        (copy,) = copies.iterdir()
        assert "Two" in copy.read_text()
        assert copy.stat().st_mode & 0o777 == 0o600
        assert copies.stat().st_mode & 0o777 == 0o700

    def test_what_a_browser_would_run_is_not_handed_over(self, tmp_path: Path) -> None:
        for name in ("a.svg", "a.xhtml", "a.xml", "a.desktop", "a.sh", "noname"):
            with pytest.raises(NotExportable):
                outside_target(write(tmp_path, name, "<script>1</script>"))
        shown = write(tmp_path, "a b.png", b"\x89PNG")
        assert outside_target(shown).path == shown
        shown.chmod(0o755)
        with pytest.raises(NotExportable, match="executable"):
            outside_target(shown)
        (tmp_path / "l.png").symlink_to(tmp_path / "a b.png")
        with pytest.raises(FileUnviewable):
            outside_target(tmp_path / "l.png")

    def test_front_matter_stands_above_the_text(self, tmp_path: Path) -> None:
        assert split_front_matter("---\ntitle: A\n---\n# B") == ("title: A", "# B")
        assert split_front_matter("# B\n---\nx\n---\n") == ("", "# B\n---\nx\n---\n")
        document = load(write(tmp_path, "a.md", "---\ntitle: A\n---\n# Head\n\ntext"))
        assert lines(document.best) == ["title: A", "", "Head", "", "text"]
        assert document.facts == ("3 words",)


class TestBinary:
    """Bytes are named by their magic and shown in hex."""

    def test_hex_rows_fit_and_show_every_byte(self, tmp_path: Path) -> None:
        data = bytes(range(256)) * 3 + b"\x00tail"
        document = load(write(tmp_path, "x.bin", data))
        for width in (20, 30, 50, 80):
            text = lines(document.best, width)
            assert all(len(line) <= width for line in text)
        shown_bytes = "".join(line[10:58].replace(" ", "") for line in lines(document.best, 80))
        assert bytes.fromhex(shown_bytes) == data

    def test_kinds_are_recognised_by_magic_not_by_name(self, tmp_path: Path) -> None:
        heads = {
            "PDF": b"%PDF-1.7\n\x00", "Zip archive": b"PK\x03\x04\x00", "Gzip data": b"\x1f\x8b\x08\x00",
        }  # fmt: skip
        assert [load(write(tmp_path, "x.txt", head)).kind for head in heads.values()] == list(heads)

    def test_pictures_show_their_size(self, tmp_path: Path) -> None:
        png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1920, 1080) + b"\x08\x06\0\0\0"
        gif = b"GIF89a" + struct.pack("<HH", 10, 20)
        size = struct.pack(">HH", 480, 640)
        jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(10) + b"\xff\xc0\0\x11\x08" + size + bytes(12)
        webp = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + b"\x63\0\0" + b"\x31\0\0"
        assert read_header(png) == PictureHeader("PNG image", 1920, 1080)
        assert read_header(gif) == PictureHeader("GIF image", 10, 20)
        assert read_header(jpeg) == PictureHeader("JPEG image", 640, 480)
        assert read_header(webp) == PictureHeader("WebP image", 100, 50)
        document = load(write(tmp_path, "chart.png", png))
        assert "1,920 × 1,080 pixels" in shown(document)

    @given(
        st.binary(max_size=64),
        st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP", b"BM"]),
    )
    def test_damaged_pictures_never_fail(self, rest: bytes, head: bytes) -> None:
        read_header(head + rest)


class TestRegistry:
    """Every file has a viewer."""

    @given(
        st.binary(max_size=300),
        st.sampled_from(["json", "jsonl", "html", "md", "csv", "tsv", "log", "py", "png", "txt", "", "xyz"]),
    )
    @example(b"\0\0\0\0ftyp", "json")
    def test_any_bytes_under_any_name_are_shown(self, data: bytes, suffix: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder), f"file.{suffix}" if suffix else "file", data)
            sample = Sample(Piece(path, data, 0, len(data)))
            for viewer in viewers():
                if not viewer.accepts(sample):
                    continue
                try:
                    view = viewer.view(sample)
                except (Declined, ValueError, RecursionError):
                    continue
                for body in (view.raw, view.rendered):
                    if body is not None:
                        assert not is_unsafe("\n".join(lines(body, 40)))
                return
            raise AssertionError("no viewer took it")

    def test_code_is_numbered_and_coloured(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "a.py", "def f():\n    return 'x'  # note\n"))
        assert document.kind == "Python"
        rows = document.best.lay_out(80, THEME)
        row = rows.row(1)
        assert isinstance(row, Content)
        assert row.plain == "2      return 'x'  # note"
        assert {"keyword", "string", "comment"} <= {str(span.style) for span in row.spans}

    def test_logs_bring_errors_forward(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "run.log", "2026-11-21 05:10:11 ERROR it failed https://a.example\n"))
        row = document.best.lay_out(100, THEME).row(0)
        assert isinstance(row, Content)
        roles = {row.plain[span.start : span.end]: span.style for span in row.spans}
        assert roles["2026-11-21 05:10:11"] == "dim"
        assert roles["ERROR"] == "bad"
        assert roles["https://a.example"] == "link"


class TestPicturesSoundAndFilm:
    """Media show what they are, and what cannot be decoded has a message."""

    def png(self, size: tuple[int, int]) -> bytes:
        target = io.BytesIO()
        Image.new("RGBA", size, (255, 0, 0, 255)).save(target, "PNG")
        return target.getvalue()

    def test_a_picture_is_drawn_below_its_facts(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "a.png", self.png((400, 300))))
        for width in (1, 10, 40, 200):
            text = lines(document.best, width)
            assert text[0] == tail_cut("PNG image · 400 × 300 pixels", width)
            assert all(len(line) <= width for line in text)
            assert set("".join(text[2:])) == {"▀"} or width == 1
        row = document.best.lay_out(40, THEME).row(4)
        assert isinstance(row, Strip)
        style = next(iter(row)).style
        assert style is not None
        assert style.color == Color.from_rgb(255, 0, 0)

    def test_in_sixteen_colours_only_the_facts_are_shown(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "a.png", self.png((40, 30))))
        few = MarkdownTheme(link=Style(color="bright_blue"))
        rows = document.best.lay_out(80, few)
        assert "16 colours" in text_of(rows, 2)

    def test_a_bomb_and_a_damaged_picture_are_not_drawn(self, tmp_path: Path) -> None:
        whole = self.png((40, 30))
        bomb = whole[:16] + struct.pack(">II", 60_000, 60_000) + whole[24:]
        assert "too many pixels" in shown(load(write(tmp_path, "bomb.png", bomb)))
        assert "is damaged" in shown(load(write(tmp_path, "cut.png", whole[:60])))

    @pytest.mark.parametrize(
        ("name", "kind", "data"),
        [
            ("a.mp4", "MP4 video", b"\0\0\0\x10ftypisom" + bytes(8)),
            ("a.webm", "WEBM video", b"\x1aE\xdf\xa3webm"),
            ("a.wav", "WAV audio", b"RIFF\0\0\0\0WAVEfmt "),
        ],
    )
    def test_sound_and_video_show_their_format_and_how_to_open_them(
        self, tmp_path: Path, name: str, kind: str, data: bytes
    ) -> None:
        document = load(write(tmp_path, name, data))
        assert document.kind == kind
        assert "Press o" in shown(document)


class TestPdf:
    """The text of a PDF is read in a process of its own."""

    def test_its_pages_are_text(self, tmp_path: Path) -> None:
        document = load(write(tmp_path, "a.pdf", pdf_file(["First [/b] page", "Second page"])))
        assert document.kind == "PDF"
        text = shown(document)
        assert text.index("── Page 1 of 2") < text.index("First [/b] page") < text.index("── Page 2 of 2")

    def test_a_damaged_one_and_one_that_takes_too_long_say_so(self, tmp_path: Path) -> None:
        bad = write(tmp_path, "bad.pdf", b"%PDF-1.4 nothing of the kind")
        assert "damaged or is not a PDF" in read_pages(bad)
        good = write(tmp_path, "good.pdf", pdf_file(["x"]))
        assert "too complex: it takes longer than 1e-05 s" in read_pages(good, seconds=0.00001)
        assert "no longer exists" in read_pages(tmp_path / "gone.pdf")
