"""Files that would keep a converter busy for minutes: they cost some seconds of a process of their own at most."""

from __future__ import annotations

import asyncio
import io
import subprocess
import threading
from functools import cache, partial
from pathlib import Path

import pytest

from tests.tui.files_host import hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.concurrency.cancellation import Stopped, stoppable
from ua_tui.core.concurrency.conversions import Conversions
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.render.markdown import highlight
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers import safe_html
from ua_tui.tui.viewers.bodies import markdown, picture, text
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.contract import FULL_LIMIT
from ua_tui.tui.viewers.export import NotExportable, outside_target
from ua_tui.tui.viewers.registry import load
from ua_tui.tui.viewers.types.csv import Lines, record_starts

DIVS = "<div/>" * 100_000
THEME = MarkdownTheme()


@cache
def scans() -> bytes:
    """A picture of 36 KB that takes a minute, as its last scan is repeated 2,000 times."""
    from PIL import Image

    target = io.BytesIO()
    Image.new("L", (1_500, 1_500)).save(target, "JPEG", progressive=True)
    data = target.getvalue()
    return data[:-2] + data[data.rindex(b"\xff\xda") : -2] * 2_000 + data[-2:]


def working(made: Conversions) -> list[subprocess.Popen[bytes]]:
    """The processes that were started."""
    return [worker._process for worker in made._workers if worker._process is not None]


@pytest.mark.parametrize("source", [DIVS, "<div>" * 1_000_000], ids=["self-closing", "deep"])
def test_a_page_that_takes_minutes_is_shown_as_source(
    tmp_path: Path, monkeypatch: Patch, source: str
) -> None:
    monkeypatch.setattr(safe_html, "_SECONDS", 0.4)
    path = tmp_path / "page.html"
    path.write_text(source)
    document = load(path, FULL_LIMIT)
    assert document.rendered is None
    assert document.notice == (
        "Too complex to preview (it takes longer than 0.4 s); shown as source. "
        "Press o to open it in the browser."
    )


@pytest.mark.parametrize(
    "source",
    [
        f"<a href='{'x' * 3_000_000}'>word</a>", "&amp;" * 40_000 + "word",
        "<title" * 600_000 + ">word</title><p>word", "<b><i><p>" * 2_000 + "word",
    ],
    ids=["attribute", "entities", "titles", "unclosed"],
)  # fmt: skip
def test_other_odd_pages_are_converted(tmp_path: Path, source: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(source)
    document = load(path, FULL_LIMIT)
    assert document.rendered is not None or document.notice == "This page has no text; shown as source."


def test_a_page_too_complex_for_the_browser_copy_is_refused(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(safe_html, "_COPY_SECONDS", 0.4)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "page.html"
    path.write_text(DIVS)
    with pytest.raises(NotExportable, match=r"too complex to be made safe .*longer than 0\.4 s.*Press y"):
        outside_target(path)
    assert not (tmp_path / "cache").exists()


def test_a_picture_that_takes_too_long_is_not_drawn(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(picture, "_SECONDS", 0.4)
    path = tmp_path / "picture.jpg"
    path.write_bytes(scans())
    rows = load(path, FULL_LIMIT).best.lay_out(120, THEME)
    (match,) = rows.find(
        "The picture is too complex to be drawn: it takes longer than 0.4 s. Press o to open it"
    )
    assert match.row == len(rows) - 1


def test_code_that_takes_too_long_is_coloured_in_part(monkeypatch: Patch) -> None:
    monkeypatch.setattr(text, "_COLOURED_SECONDS", 0.1)
    style = text.style_code("int\n" * 100 + "\n" * 90_000 + "int", "java")
    assert style(0, "int")
    assert not style(90_100, "int")
    stop = threading.Event()
    stop.set()
    with stoppable(stop), pytest.raises(Stopped):
        text.style_code("int", "java")
    # So is code in an answer.
    monkeypatch.setattr(highlight, "MAX_SECONDS", 0.05)
    source = "int\n" * 100 + "\n" * 19_000
    pieces = highlight.highlight(source, "java", highlight.CodeTheme())
    assert "".join(piece for piece, _ in pieces) == source
    assert len(pieces[-1][0]) > 100, "the rest is one piece"


async def test_the_preview_stops_converting_for_another_file(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(safe_html, "_SECONDS", 600.0)
    made = Conversions()
    monkeypatch.setattr(safe_html, "conversions", lambda: made)
    hostile, other = tmp_path / "page.html", tmp_path / "other.txt"
    hostile.write_text(DIVS)
    other.write_text("Something else.")
    preview = PreviewPane()
    async with hosted(preview) as (app, _):
        preview.show_path(hostile)
        await until(lambda: "Reading the file" in screen_text(app))
        await until(partial(working, made))
        (process,) = working(made)
        preview.show_path(other)
        await until(lambda: "Something else." in screen_text(app))
        await until(lambda: process.poll() is not None)
        preview.show_path(hostile)
        await until(partial(working, made))
        (process,) = working(made)
    await until(lambda: process.poll() is not None)


async def test_a_viewer_says_that_it_reads_and_closes_while_every_thread_is_busy(tmp_path: Path) -> None:
    path, over = tmp_path / "notes.txt", threading.Event()
    path.write_text("Some notes.")
    try:
        async with hosted() as (app, pilot):
            for _ in range(100):
                asyncio.get_running_loop().run_in_executor(None, over.wait)
            await app.push_screen(ViewerScreen(path, tmp_path))
            await until(lambda: "Reading the file" in screen_text(app))
            await pilot.press("escape")
            await until(lambda: len(app.screen_stack) == 1)
            await app.push_screen(ViewerScreen(path, tmp_path))
            await until(lambda: "Reading the file" in screen_text(app))
            over.set()
            await until(lambda: "Some notes." in screen_text(app))
    finally:
        over.set()


@pytest.mark.parametrize("name", ["page.html", "picture.jpg"])
async def test_the_viewer_that_closes_stops_converting(tmp_path: Path, monkeypatch: Patch, name: str) -> None:
    made = Conversions()
    for module in (safe_html, picture):
        monkeypatch.setattr(module, "_SECONDS", 600.0)
        monkeypatch.setattr(module, "conversions", lambda: made)
    hostile = tmp_path / name
    hostile.write_bytes(DIVS.encode() if name == "page.html" else scans())
    async with hosted() as (app, pilot):
        await app.push_screen(ViewerScreen(hostile, tmp_path))
        await until(partial(working, made))
        (process,) = working(made)
        await pilot.press("escape")
        await until(lambda: process.poll() is not None)


@pytest.mark.parametrize("source", ["![" * 200_000, "[a " * 150_000, "|a" * 120_000 + "\n" + "|-" * 120_000])
def test_markdown_that_takes_long_is_rendered_in_part(monkeypatch: Patch, source: str) -> None:
    monkeypatch.setattr(markdown, "_MOST_SECONDS", 0.2)
    rows = MarkdownBody(source).lay_out(80, THEME)
    assert len(rows.find("Too complex to render: the rest is shown as source.")) == 1
    assert source[-40:] in "".join(str(getattr(row, "plain", "")) for row in rows.rows)


def test_markdown_and_tables_that_nobody_needs_are_not_read() -> None:
    stop = threading.Event()
    stop.set()
    with stoppable(stop), pytest.raises(Stopped):
        MarkdownBody("![" * 200_000).lay_out(80, THEME)
    with stoppable(stop), pytest.raises(Stopped):
        record_starts(b"a,b\n")


def test_a_quote_that_is_never_closed_is_searched_in_a_window() -> None:
    rows = b'a,b\n1,"x\ny"\n' * 200_000
    assert len(record_starts(rows)) == 400_001
    head = b'a,b\n"'
    assert list(record_starts(head + b"x," * 4_000_000)) == [0, 5, len(head) + 8_000_000]
    assert list(record_starts(b'"x",' * 2_000_000)) == [0, 8_000_000]


def test_of_a_wide_record_the_first_cells_are_shown() -> None:
    for record in (b"a," * 30_000 + b"\n", b'"a",' * 15_000 + b"\n"):
        lines = Lines(record, ",", record_starts(record))
        assert lines[0] == ["a"] * 2_000


def test_a_string_of_megabytes_is_shown_as_text(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_bytes(b'"' + b"a" * FULL_LIMIT + b'"')
    assert load(path, FULL_LIMIT).rendered is None
    path.write_bytes(b'"short"')
    assert load(path, FULL_LIMIT).rendered is not None
