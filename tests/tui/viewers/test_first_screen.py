"""What takes long to read shows its beginning first."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from tests.tui.files_host import hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.waiting import PATIENCE, until
from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.screens.files.link import LinkScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers import registry
from ua_tui.tui.viewers.articles.results import ResultsTable
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.bodies.table import TableView
from ua_tui.tui.viewers.contract import FULL_LIMIT, PREVIEW_LIMIT, Document
from ua_tui.tui.viewers.document import JoinedBody, Rows
from ua_tui.tui.viewers.registry import load, load_page

THEME = MarkdownTheme()


def table(rows: int, columns: int) -> str:
    head = "|".join(f" column {number} " for number in range(columns))
    lines = [f"|{head}|", "|---" * columns + "|"]
    lines += ["|" + "|".join(f" {row}.{number} " for number in range(columns)) + "|" for row in range(rows)]
    return "\n".join(lines) + "\n"


def text_of(rows: Rows) -> str:
    found = [rows.row(y) for y in range(len(rows))]
    return "\n".join(row.plain if hasattr(row, "plain") else row.text for row in found)


class TestMarkdown:
    def test_a_long_table_stays_one(self) -> None:
        whole = MarkdownBody("# Survey\n\n" + table(500, 20)).lay_out(100, THEME)
        assert "… 300 more rows" in text_of(whole)
        assert "|" not in text_of(whole), "a table is never cut where it would no longer be one"


@pytest.fixture
def held(monkeypatch: Patch) -> Iterator[threading.Event]:
    """Let no more than the beginning of a file be read until the event is set."""
    event = threading.Event()

    def load_in_the_end(path: Path, limit: int) -> Document:
        while limit > PREVIEW_LIMIT and not event.wait(0.005):
            check_stopped()
        return load(path, limit)

    monkeypatch.setattr(registry, "load", load_in_the_end)
    yield event
    event.set()


class TestViewer:
    @pytest.mark.parametrize(("name", "size", "write"), [
        ("a.csv", 12_000, lambda count: "n,text\n" + "".join(f"{n},{'x' * 500}\n" for n in range(count))),
    ])  # fmt: skip
    async def test_the_cursor_stays_when_the_rest_is_there(
        self, tmp_path: Path, held: threading.Event, name: str, size: int, write: Callable[[int], str]
    ) -> None:
        path = tmp_path / name
        path.write_text(write(size))
        screen = ViewerScreen(path, tmp_path)
        async with hosted(screen=screen, size=(100, 24)) as (app, pilot):
            await until(lambda: screen.view.cursor_body is not None and screen.view.row_count)
            beginning = screen.view.cursor_body
            assert beginning is not None
            assert beginning.entries < size
            await pilot.press("pagedown", "pagedown", "pagedown")
            cursor = beginning.cursor
            assert cursor > 24
            held.set()
            await until(lambda: screen.view.cursor_body is not beginning and screen.view.row_count >= size)
            whole = screen.view.cursor_body
            assert whole is not None
            assert (whole.cursor, whole.entries) == (cursor, size)
            await until(lambda: f"{cursor} " in screen_text(app))

    async def test_text_stays_where_it_was_scrolled_to(self, tmp_path: Path, held: threading.Event) -> None:
        path = tmp_path / "a.txt"
        path.write_text("".join(f"line {number:06d}\n" for number in range(50_000)))
        screen = ViewerScreen(path, tmp_path)
        async with hosted(screen=screen, size=(100, 24)) as (app, pilot):
            await until(lambda: "line 000000" in screen_text(app))
            assert screen.view.row_count < 50_000
            await pilot.pause()
            await pilot.press("pagedown")
            await until(lambda: "line 000000" not in screen_text(app))
            top = screen.view.scroll_y
            held.set()
            await until(lambda: screen.view.row_count == 50_000)
            await pilot.pause()
            assert screen.view.scroll_y == top > 0
            assert f"line {int(top):06d}" in screen_text(app)
            assert "The first" not in screen_text(app)


def found(count: int) -> dict[str, object]:
    rows = [
        {"position": n, "title": f"Story {n}", "url": f"https://example.org/{n}", "snippet": "x" * 200}
        for n in range(1, count + 1)
    ]
    return {"type": "news", "tool": "SEARCH_NEWS", "query": "ai chips", "results": rows}


class TestSearchResults:
    async def test_a_key_before_the_rows_waits_for_them(self, tmp_path: Path, monkeypatch: Patch) -> None:
        released = threading.Event()
        lay_out = ResultsTable.lay_out

        def late(table: ResultsTable, width: int, theme: MarkdownTheme) -> TableView:
            assert released.wait(PATIENCE)
            return lay_out(table, width, theme)

        monkeypatch.setattr(ResultsTable, "lay_out", late)
        path = tmp_path / "a.json"
        path.write_text(json.dumps(found(40)))
        async with hosted(screen=ViewerScreen(path, tmp_path), size=(100, 24)) as (app, pilot):
            # Only what is selected is shown by now, below the table.
            await until(lambda: "example.org/1" in screen_text(app))
            await pilot.press("end", "enter")
            released.set()
            await until(lambda: isinstance(app.screen, LinkScreen))
            await until(lambda: "example.org/40" in screen_text(app))

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_preview_shows_all_results_of_a_moderate_file(self, tmp_path: Path, packed: bool) -> None:
        path = tmp_path / ("a.json.zst" if packed else "a.json")
        data = json.dumps(found(2_000)).encode()
        assert PREVIEW_LIMIT < len(data) < 1 << 20
        path.write_bytes(zstandard.compress(data) if packed else data)
        document = load(path)
        assert document.kind == "Search results"
        assert document.facts == ("2,000 results",)
        assert text_of(document.best.lay_out(100, THEME)).splitlines()[-1].startswith("2000  Story")

    def test_a_preview_of_very_many_results_is_their_json(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_text(json.dumps(found(20_000)))
        assert load(path).kind == "JSON"
        whole = load(path, FULL_LIMIT)
        assert whole.facts == ("20,000 results",)
        assert "Story 1 " in text_of(JoinedBody((whole.best,)).lay_out(100, THEME))[:500]

    def test_large_json_of_another_kind_stays_json(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_text(json.dumps({"results": [{"n": number} for number in range(60_000)]}))
        assert load(path).kind == "JSON"
        assert load(path, FULL_LIMIT).kind == "JSON"

    @pytest.mark.parametrize(
        "text", [json.dumps(found(20_000)), "[" + '"x", ' * 400_000], ids=["results", "words"]
    )
    def test_any_page_of_a_large_file_can_be_read(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "a.json"
        path.write_text(text)
        for offset in (0, 1_000_003, len(text) - 1_000, len(text)):
            page = load_page(path, offset)
            assert text_of(page.raw.lay_out(100, THEME)).startswith(text[offset : offset + 20].strip())
