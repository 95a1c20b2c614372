from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from PIL import Image
from textual.content import Content
from textual.pilot import Pilot

from tests.observers.knowledge.recorded import Recorded
from tests.tui.files_host import Host, finished, hosted, screen_text, sit_at_a_desktop
from tests.tui.fixture_types import Patch
from tests.waiting import PATIENCE, until
from ua_tui.core.concurrency.cancellation import check_stopped, stop_flag
from ua_tui.core.storage.folders import SAVED_REPORTS
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.screens.files.article import ArticleScreen
from ua_tui.tui.screens.files.headings import ChoiceScreen, OutlineList
from ua_tui.tui.screens.files.link import LinkScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.session.confirm import DeleteScreen
from ua_tui.tui.viewers.view.document_view import DocumentView

REPORT = (
    "<!doctype html><title>The week</title><script>fetch('http://t.example')</script><h1>AI chips</h1>"
    "<p onclick=x()>Foundries <b>grow</b>, says <a href='https://news.example/a'>the news</a>.</p>"
    "<img src=http://t.example/p.png>" + "<p>More text about chips.</p>" * 60
)


def write(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def _shows(app: Host, text: str) -> bool:
    return text in screen_text(app)


async def ready(app: Host) -> None:
    view = app.screen.query_one(DocumentView)
    await until(lambda: view.row_count > 0)
    await finished(app.workers)


@asynccontextmanager
async def viewing(
    path: Path, folder: Path | None = None, *, size: tuple[int, int] = (80, 24), **more: Any
) -> AsyncIterator[tuple[Host, Pilot[None], ViewerScreen]]:
    """A file in the viewer, read and laid out."""
    screen = ViewerScreen(path, folder, **more)
    async with hosted(screen=screen, size=size) as (app, pilot):
        await ready(app)
        yield app, pilot, screen


async def test_a_report_is_read_rendered_and_raw_and_a_browser_is_given_a_harmless_copy(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    sit_at_a_desktop(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    screen = ViewerScreen(write(tmp_path, "report.html", REPORT), tmp_path)
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: "AI chips" in screen_text(app))
        text = screen_text(app)
        assert "report.html" in text
        assert "HTML · " in text
        assert "The week" in text
        assert "Foundries grow, says the news." in text
        assert "fetch" not in text
        await pilot.press("m")
        await until(lambda: "fetch(" in screen_text(app))
        await until(lambda: "HTML · raw" in screen_text(app))
        await pilot.press("m")
        await until(lambda: "fetch(" not in screen_text(app))
        await pilot.press("o")
        await until(lambda: app.urls)
        (url,) = app.urls
        copy = Path(unquote(urlsplit(url).path))
        assert urlsplit(url).scheme == "file"
        assert copy.parent == tmp_path / "cache" / "ua-tui" / "opened"
        assert "copy without scripts" in app.shown_text[-1]
        page = await asyncio.to_thread(copy.read_text)
        assert "grow" in page
        assert not any(bad in page for bad in ("t.example", "onclick"))
        await pilot.press("q")
        assert app.screen is not screen


async def test_the_place_is_kept_when_the_width_changes(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {number} " + "word " * 40 for number in range(200))
    async with viewing(write(tmp_path, "a.md", text)) as (app, pilot, _screen):
        view = app.screen.query_one(DocumentView)
        view.scroll_to(y=view.row_count // 2, animate=False)
        await pilot.pause()
        before = view.place
        await pilot.resize_terminal(50, 24)
        await until(lambda: view._width < 50)
        await ready(app)
        await pilot.pause()
        assert abs(view.place - before) < 0.03
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(20, 5)
        await pilot.resize_terminal(80, 24)
        await until(lambda: "Paragraph" in screen_text(app))


async def test_searching_steps_through_every_match(tmp_path: Path) -> None:
    text = "".join(f"line {number} {'NEEDLE' if number % 50 == 0 else ''}\n" for number in range(200))
    async with viewing(write(tmp_path, "a.txt", text)) as (app, pilot, screen):
        view = screen.view
        await pilot.press("slash", *"needle", "enter")
        await until(lambda: view.matches == (1, 4))
        await until(lambda: "match 1 of 4" in screen_text(app))
        await pilot.press("n")
        await until(lambda: "line 50 NEEDLE" in screen_text(app))
        await pilot.press("N", "N")
        assert view.matches == (4, 4)
        await until(lambda: "line 150 NEEDLE" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: view.matches == (0, 0))
        assert app.screen is screen, "the first Esc leaves the search"
        await pilot.press("slash", "x", "y", "enter")
        await until(lambda: app.shown_text == ["Not found: xy"])
        await pilot.press("slash", "escape")
        assert app.screen is screen
        await pilot.press("escape")
        assert app.screen is not screen


async def test_a_report_is_exported_with_its_session(tmp_path: Path) -> None:
    session = Recorded(tmp_path)
    session.write_report("cats", "# Cats\n\nCats smile.")
    session.write_report("dogs", "# Dogs")
    path = session.folder / "work_products/cats.md"
    async with hosted(screen=ViewerScreen(path, session.folder, read_only=True)) as (app, pilot):
        await until(lambda: "X export" in screen_text(app))
        await pilot.press("X", "escape", "X", "enter")
        page = tmp_path / SAVED_REPORTS / "cats.html"
        await until(lambda: any(f"Exported to {SAVED_REPORTS}/cats.html" in each for each in app.shown_text))
        await finished(app.workers)
        await pilot.press("X", "down", "down", "enter", "q")
        await until((tmp_path / SAVED_REPORTS / "cats.docx").exists)
        await finished(app.workers)
        assert sum("Exported to" in each for each in app.shown_text) == 2
    text = page.read_text()
    assert "Cats smile." in text
    assert "work_products/dogs.md" in text


async def test_what_is_shown_is_named_by_its_title_also_as_a_table(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    hits = [{"title": f"Chip {number}", "url": f"https://c.example/{number}"} for number in range(3)]
    value = {"type": "search", "query": "AI chips, again", "results": hits}
    path = write(tmp_path, "composio_search_000103_r5vw.json", json.dumps(value))
    async with viewing(path, tmp_path) as (app, pilot, _screen):
        first = screen_text(app).splitlines()[0]
        assert first.strip().startswith("AI chips, again")
        assert "Search results" in first
        await pilot.press("X")
        await until(lambda: any(f"{SAVED_REPORTS}/ai-chips-again.csv" in each for each in app.shown_text))
    assert "Chip 2" in (tmp_path / SAVED_REPORTS / "ai-chips-again.csv").read_text()


async def test_an_exported_table_has_no_secret(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-1234567890")
    path = write(tmp_path, "a.csv", "name,text\nA,sk-ant-very-secret-1234567890\nB,kept\n")
    async with viewing(path, tmp_path) as (app, pilot, _screen):
        await pilot.press("X")
        await until(lambda: any("Exported to" in each for each in app.shown_text))
    (written,) = (tmp_path / "SAVED_REPORTS").glob("*.csv")
    assert "very-secret" not in written.read_text()
    assert "B,kept" in written.read_text()


@pytest.mark.parametrize(
    ("name", "data", "key", "why"),
    [
        ("report.html", "<h1>AI</h1>", "X", "Only tables and session reports can be exported"),
        ("a.svg", "<svg><script>1</script></svg>", "o", "Only HTML, pictures"),
        ("a.txt", "x", "e", "'no-such-editor-here' in $VISUAL was not found"),
        ("a.txt", "x", "t", "This file has no headings."),
    ],
)
async def test_what_cannot_be_done_with_a_file_is_refused_in_words(
    tmp_path: Path, monkeypatch: Patch, name: str, data: str, key: str, why: str
) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor-here")
    async with viewing(write(tmp_path, name, data), tmp_path) as (app, pilot, _screen):
        assert "X export" not in screen_text(app)
        await pilot.press(key)
        await until(partial(_shown_text, app, why))
        assert app.urls == []


async def test_what_cannot_be_shown_or_vanishes_says_why_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "thing.txt"
    os.mkfifo(path)
    async with hosted(screen=ViewerScreen(path)) as (app, pilot):
        await until(lambda: "This is a pipe" in screen_text(app))
        await until(lambda: "thing.txt" in screen_text(app))
        await pilot.press("m", "o", "Y", "n", "end", "home", "y")
        assert app.copied == [str(path)]
        app.shown_text.clear()
        path.unlink()
        path.write_text("still here")
        await pilot.press("r")
        await until(lambda: "still here" in screen_text(app))
        await pilot.press("Y")
        await until(lambda: app.copied[1:] == ["still here"])
        path.write_bytes(b"x" * (1 << 21))
        await pilot.press("Y")
        await until(lambda: app.shown_text and "too long for the clipboard" in app.shown_text[-1])
        path.unlink()
        await pilot.press("o")
        await until(lambda: "no longer exists" in app.shown_text[-1])
        await until(lambda: "still here" in screen_text(app))
        await pilot.press("r")
        await until(lambda: "This file no longer exists." in screen_text(app))


async def test_a_file_of_a_gigabyte_is_read_page_by_page_and_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    with path.open("wb") as file:
        for number in range(60_000):
            file.write(b"line %d\n" % number)
        file.truncate((1 << 30) - 40)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" * 20 + b"the very last line\n\n")
    screen = ViewerScreen(path)
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: "line 5" in screen_text(app))
        await ready(app)
        await until(lambda: "The first 26" in screen_text(app) and screen.view.show_vertical_scrollbar)
        rows = screen.view.row_count
        # Loading a page is given up before it begins, which does not keep the next from coming.
        screen.on_document_view_near_end()
        app.workers.cancel_all()
        screen.view.scroll_to(y=rows - 30, animate=False)
        await until(lambda: screen.view.row_count > rows)
        await until(lambda: not screen._loading_page)
        assert screen.document is not None
        assert screen.document.start == 0
        await pilot.press("end")
        await until(lambda: screen.document is not None and screen.document.start > 0)
        await ready(app)
        await until(lambda: "The last" in screen_text(app))
        await pilot.press("home")
        await until(lambda: "line 5" in screen_text(app))


async def test_untrusted_text_is_shown_literally(tmp_path: Path) -> None:
    evil = "[red]no[/red] [/] [@click=app.quit]quit[/] \x1b]0;owned\x07"
    for name in (
        write(tmp_path, "[b]x[-b] \x1b]0;t\x07.json", json.dumps({"k": evil, "query": evil}) + " "),
        write(tmp_path, "z.html", f"<title>{evil}</title><p>{evil}"),
    ):
        async with hosted(screen=ViewerScreen(name), size=(100, 24)) as (app, pilot):
            await until(partial(_shows, app, "[@click=app.quit]quit[/]"))
            text = screen_text(app)
            assert "[red]no[/red] [/]" in text
            assert not set(text) & {"\x1b", "\x07"}
            await pilot.click(offset=(20, 4))
            assert app.is_running


async def test_a_link_is_asked_about_before_it_is_opened(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", "[the bank](https://bank.example/login)")
    async with hosted(screen=ViewerScreen(path)) as (app, pilot):
        await until(lambda: "the bank" in screen_text(app))
        rows = screen_text(app).splitlines()
        row = next(y for y, line in enumerate(rows) if "the bank" in line)
        await pilot.click(offset=(rows[row].index("the bank") + 1, row))
        await until(lambda: isinstance(app.screen, LinkScreen))
        assert app.urls == []
        await until(lambda: not app.screen.has_class("-quiet"))
        await until(lambda: "bank.example" in screen_text(app))
        await pilot.press("o")
        await until(lambda: app.urls == ["https://bank.example/login"])
        await until(lambda: isinstance(app.screen, ViewerScreen))


async def test_a_json_tree_is_folded_searched_and_copied_by_keys(tmp_path: Path) -> None:
    value = {"a": [{"x": 1, "y": [1, 2]}, {"z": {"deep": "needle"}}], "b": "text"}
    async with viewing(write(tmp_path, "a.json", json.dumps(value))) as (app, pilot, screen):
        await until(lambda: "▾ 1  {1}" in screen_text(app))
        await pilot.press("slash", *"needle", "enter")
        await until(lambda: screen.view.matches == (1, 1))
        await until(lambda: 'deep: "needle"' in screen_text(app))
        await until(lambda: "a[1].z.deep" in screen_text(app))
        await pilot.press("c", "C")
        await until(lambda: app.copied == ["needle", "a[1].z.deep"])
        await pilot.press("escape", "F")
        await until(lambda: "deep" not in screen_text(app))
        await pilot.press("right")
        await until(lambda: "▾ a: [2]" in screen_text(app))
        await pilot.press("left")
        await until(lambda: "▸ a: [2]" in screen_text(app))
        await pilot.press("E")
        await until(lambda: 'deep: "needle"' in screen_text(app))
        await pilot.press("end")
        await until(
            lambda: screen.view.cursor_body is not None and screen.view.cursor_body.cursor_place() == (1,)
        )
        await pilot.press("home", "enter")
        await until(lambda: "▸ a: [2]" in screen_text(app))
        row = next(y for y, line in enumerate(screen_text(app).splitlines()) if "▸ a: [2]" in line)
        await pilot.click(offset=(2, row))
        await until(lambda: "▾ a: [2]" in screen_text(app))
        # The keys in the last line can be clicked.
        await pilot.click(offset=(screen_text(app).splitlines()[-1].index("raw"), 23))
        await until(lambda: '{"a": [{"x"' in screen_text(app))


async def test_search_results_are_read_sorted_and_opened_by_keys(tmp_path: Path) -> None:
    (tmp_path / "search_results").mkdir()
    (tmp_path / "extracted_articles").mkdir()
    write(tmp_path / "extracted_articles", "a.json", '{"content": "the whole article"}')
    rows = [
        {"title": "Beta", "url": "https://xn--bta-dma.example/x", "snippet": "what Beta says"},
        {"title": "Alpha", "url": "https://a.example", "article": "extracted_articles/a.json"},
    ]
    path = write(tmp_path / "search_results", "n.json", json.dumps({"query": "q [/b]", "results": rows}))
    async with viewing(path, tmp_path) as (app, pilot, screen):
        await until(lambda: "what Beta says" in screen_text(app))
        await until(lambda: "q [/b]" in screen_text(app))
        # Neither its address nor its page is opened without a question: the session has not read it.
        for key, shown in (("enter", "xn--bta-dma.example"), ("a", "The session has not read this page.")):
            await pilot.press(key)
            await until(
                lambda: (
                    isinstance(app.screen, LinkScreen)
                    and app.screen.is_drawn
                    and not app.screen.has_class("-quiet")
                )
            )
            await until(partial(_shows, app, shown))
            await pilot.press("escape")
            await until(lambda: app.screen is screen)
        await pilot.press("s")
        await until(lambda: "by Title" in screen_text(app))
        await pilot.press("home", "a")
        await until(lambda: "the whole article" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: app.screen is screen)
        await pilot.press("f", *"beta", "enter")
        await until(lambda: "1 with “beta”" in screen_text(app))
        assert "Alpha" not in screen_text(app)
        await pilot.press("escape")
        await until(lambda: "Alpha" in screen_text(app))
        titles = next(y for y, line in enumerate(screen_text(app).splitlines()) if "Title ▲" in line)
        await pilot.click(offset=(screen_text(app).splitlines()[titles].index("Title"), titles))
        await until(lambda: "Title ▼" in screen_text(app))


async def test_an_article_of_the_corpus_is_read_copied_and_followed(tmp_path: Path) -> None:
    article = {"title": "Copper [b]", "url": "https://a.example/x", "content": "Copper is dear.\n\nAnd more."}
    corpus = {"articles": [article, {**article, "url": "https://b.example", "title": "Tin", "words": 3}]}
    screen = ViewerScreen(write(tmp_path, "expanded_corpus.json", json.dumps(corpus)), tmp_path)
    async with hosted(screen=screen, size=(120, 40)) as (app, pilot):
        await until(lambda: "Copper [b]" in screen_text(app))
        await until(lambda: "Enter read" in screen_text(app))
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, ArticleScreen))
        await until(lambda: "And more." in screen_text(app))
        await until(lambda: "a.example/x" in screen_text(app))
        await pilot.press("y", "Y")
        await until(lambda: app.copied == ["https://a.example/x", article["content"]])
        await pilot.press("o")
        await until(
            lambda: (
                isinstance(app.screen, LinkScreen)
                and app.screen.is_drawn
                and not app.screen.has_class("-quiet")
            )
        )
        await pilot.press("escape", "escape")
        await until(lambda: app.screen is screen)


async def test_a_file_is_deleted_only_after_asking_and_only_inside_the_session(tmp_path: Path) -> None:
    session = tmp_path / "session"
    session.mkdir()
    outside = write(tmp_path, "outside.txt", "kept")
    record = write(session, "journal.jsonl", "{}\n")
    for path, why in ((outside, "outside this session"), (record, "is a record")):
        async with viewing(path, session) as (app, pilot, screen):
            await pilot.press("d")
            await until(partial(_shown_text, app, why))
            assert path.exists()
    path = write(session, "notes [b].txt", "text")
    async with viewing(path, session) as (app, pilot, screen):
        await pilot.press("d")
        await until(
            lambda: (
                isinstance(app.screen, DeleteScreen)
                and app.screen.is_drawn
                and not app.screen.has_class("-quiet")
            )
        )
        await pilot.press("n")
        await until(lambda: app.screen is screen)
        assert path.exists()
        await pilot.press("d")
        await until(
            lambda: (
                isinstance(app.screen, DeleteScreen)
                and app.screen.is_drawn
                and not app.screen.has_class("-quiet")
            )
        )
        await pilot.press("d")
        await until(lambda: app.screen is not screen and not isinstance(app.screen, DeleteScreen))
        assert not path.exists()
        assert app.shown_text[-1] == "notes [b].txt deleted."


async def test_a_file_of_a_session_that_is_only_read_is_neither_edited_nor_deleted(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "text")
    async with viewing(path, tmp_path, read_only=True, size=(100, 20)) as (app, pilot, screen):
        assert _shows(app, "copy path")
        assert not _shows(app, "delete")
        assert not _shows(app, "edit")
        for key, what in (("d", "deleted"), ("e", "changed")):
            await pilot.press(key)
            await until(partial(_shown_text, app, f"This file cannot be {what}"))
        assert app.screen is screen
    assert path.read_text() == "text"


async def test_what_is_not_text_is_neither_edited_nor_shown_raw(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("VISUAL", "no-editor-may-be-started")
    film = write(tmp_path, "film.mp4", b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + bytes(range(256)) * 20)
    async with viewing(film, tmp_path, size=(120, 30)) as (app, pilot, _screen):
        await until(partial(_shows, app, "copy path"))
        hints = screen_text(app).splitlines()[-1]
        assert not any(hint in hints for hint in ("m raw", "e edit", "copy text", "versions"))
        await pilot.press("e", "m")
        await until(lambda: len(app.shown_text) == 2 or "no raw form" in screen_text(app))
        shown = " ".join([*app.shown_text, screen_text(app)])
        assert "film.mp4 is not text and cannot be edited. Press o to open it in another program." in shown
        assert "no-editor" not in shown


async def test_a_picture_fits_both_ways_and_a_key_shows_its_full_width(tmp_path: Path) -> None:
    path = tmp_path / "tall.png"
    Image.new("RGB", (300, 900), "teal").save(path)
    async with hosted(screen=ViewerScreen(path, tmp_path), size=(120, 30)) as (app, pilot):
        view = app.screen.query_one(DocumentView)
        await until(lambda: view.row_count > 2)
        height = view.scrollable_content_region.height
        assert height - 2 <= view.row_count <= height
        await pilot.press("w")
        await until(lambda: view.row_count > 2 * height)
        await until(lambda: "w whole" in screen_text(app) and "▀" * 100 in screen_text(app))
        await pilot.press("w")
        await until(lambda: view.row_count <= height)
        await pilot.resize_terminal(120, 20)
        await until(lambda: 2 < view.row_count <= height - 10)


def _shown_text(app: Host, text: str) -> bool:
    return any(text in shown_text for shown_text in app.shown_text)


async def test_the_preview_folds_and_changes_its_form_and_copies(tmp_path: Path) -> None:
    pane = PreviewPane()
    path = write(tmp_path, "a.json", '{"a": {"k": "v"}}')
    async with hosted(pane) as (app, pilot):
        pane.show_path(path)
        await until(lambda: "▾ a: {1}" in screen_text(app))
        pane.focus()
        await pilot.press("left")
        await until(lambda: "▸ a: {1}  k:" in screen_text(app))
        await pilot.press("c", "y", "Y")
        await until(lambda: app.copied == ['{"k": "v"}', str(path), '{"a": {"k": "v"}}'])
        await pilot.press("m")
        await until(lambda: '{"a": {"k": "v"}}' in screen_text(app))
        path.unlink()
        await pilot.press("Y")
        await until(partial(_shown_text, app, "no longer exists"))


async def test_what_the_cursor_has_left_is_not_read_on(tmp_path: Path, monkeypatch: Patch) -> None:
    seen: list[threading.Event] = []
    entered = threading.Event()
    go_on = threading.Event()

    def slow(path: Path, limit: int) -> object:
        seen.append(stop_flag())
        entered.set()
        go_on.wait(PATIENCE)
        check_stopped()
        raise AssertionError("it was read on")

    pane = PreviewPane()
    async with hosted(pane) as (app, _pilot):
        monkeypatch.setattr("ua_tui.tui.viewers.registry.load", slow)
        pane.show_path(write(tmp_path, "a.txt", "x"))
        await asyncio.to_thread(entered.wait, PATIENCE)
        monkeypatch.undo()
        pane.show_path(write(tmp_path, "b.txt", "the other"))
        await until(lambda: "the other" in screen_text(app))
        assert seen[0].is_set()
        go_on.set()


CHAPTERS = "".join(f"## Chapter {number}\n\n" + "Some words of text. " * 60 + "\n\n" for number in range(12))


async def test_a_wide_viewer_centres_the_text_beside_its_headings(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", f"# Title\n\n{CHAPTERS}")
    async with viewing(path, size=(160, 24)) as (app, pilot, screen):
        outline = screen.query_one(OutlineList)
        await until(lambda: outline.option_count == 13)
        words = next(line for line in screen_text(app).splitlines() if "Some words" in line)
        assert words.index("Some words") > 45, "the text is in the middle of what the headings leave"
        await pilot.press("t", "j", "j", "enter")
        view = screen.view
        assert view.has_focus
        assert "Chapter 1" in _first_line(view)
        await pilot.press("pagedown")
        await until(lambda: outline.highlighted not in {None, 2}, reported=lambda: outline.highlighted)
        await pilot.press("t", "escape")
        assert app.screen is screen, "Esc leaves the headings first"
        # Where there is no room for them, the headings are listed on request.
        await pilot.resize_terminal(80, 24)
        await until(lambda: not outline.display and "t headings" in screen_text(app))
        await ready(app)
        await pilot.press("t")
        await until(lambda: isinstance(app.screen, ChoiceScreen))
        await pilot.press("home", "j", "j", "enter")
        await until(lambda: "Chapter 1" in _first_line(view))
        await pilot.press("t", "escape")
        assert app.screen is screen
        await pilot.resize_terminal(160, 24)
        await until(lambda: outline.display)
        await pilot.press("m")
        await until(lambda: not outline.display)


def _first_line(view: DocumentView) -> str:
    row = view._rows.row(int(view.scroll_offset.y))
    return row.plain if isinstance(row, Content) else row.text
