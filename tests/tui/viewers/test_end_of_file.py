"""The end in the viewer, requested before anybody knows where it is; and a line of a file."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from tests.tui.files_host import Host, hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.waiting import PATIENCE, until
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.screens.files import viewer
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers import registry
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.contract import PREVIEW_LIMIT, Document
from ua_tui.tui.viewers.document import ListRows
from ua_tui.tui.viewers.registry import load, load_page
from ua_tui.tui.viewers.view.document_view import DocumentView

PARAGRAPHS = "\n\n".join(f"Paragraph {number}" for number in range(2_000))
LONG_TEXTS = {
    "a.log": ("12:00:00 number {}\n", 300_000),
    # Longer than what is rendered: Markdown as its source.
    "a.md": ("number {}\n\n", 530_000),
    "a.jsonl": ('{{"word": "number {}"}}\n', 300_000),
}
LINES = "\n".join(f'{{"number": {number}}}' for number in range(300))


def shows(app: Host, text: str) -> bool:
    return text in screen_text(app)


@pytest.mark.parametrize(("key", "other", "seen"), [("G", "", 1999), ("end", "home", 0)])
async def test_the_end_is_remembered_while_rows_are_laid_out(
    tmp_path: Path, monkeypatch: Patch, key: str, other: str, seen: int
) -> None:
    released = threading.Event()
    lay_out = MarkdownBody.lay_out

    def slow(self: MarkdownBody, width: int, theme: MarkdownTheme) -> ListRows:
        assert released.wait(PATIENCE)
        return lay_out(self, width, theme)

    monkeypatch.setattr(MarkdownBody, "lay_out", slow)
    (tmp_path / "a.md").write_text(PARAGRAPHS)
    screen = ViewerScreen(tmp_path / "a.md")
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: screen.document is not None)
        await pilot.press(*filter(None, (key, other)))
        released.set()
        await until(lambda: app.screen.query_one("#viewer-view").virtual_size.height > 3_000)
        await until(partial(shows, app, f"Paragraph {seen}"))


@pytest.mark.parametrize(
    ("name", "text", "last"), [("a.md", PARAGRAPHS, "Paragraph 1999"), ("a.jsonl", LINES, "number: 299")]
)
async def test_the_end_is_remembered_while_the_file_is_read(
    tmp_path: Path, monkeypatch: Patch, name: str, text: str, last: str
) -> None:
    released = threading.Event()

    def slow(*args: object, **named: object) -> object:
        assert args[1] == PREVIEW_LIMIT or released.wait(PATIENCE)
        return load(*args, **named)  # type: ignore[arg-type]  # passed on as they are

    monkeypatch.setattr(registry, "load", slow)
    (tmp_path / name).write_text(text)
    async with hosted(screen=ViewerScreen(tmp_path / name)) as (app, pilot):
        await pilot.press("end")
        released.set()
        await until(partial(shows, app, last))


async def test_the_end_is_reached_before_the_scrollbar_is_shown(tmp_path: Path, monkeypatch: Patch) -> None:
    lay_out = DocumentView._lay_out

    async def then_end(self: DocumentView) -> None:
        await lay_out(self)
        if self.row_count == 2_000:
            assert not self.show_vertical_scrollbar
            self.action_scroll_end()

    monkeypatch.setattr(DocumentView, "_lay_out", then_end)
    (tmp_path / "a.log").write_text("".join(f"number {line}\n" for line in range(2_000)))
    async with hosted(screen=ViewerScreen(tmp_path / "a.log")) as (app, _):
        await until(partial(shows, app, "number 1999"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "others"),
    [("a.log", ()), ("a.jsonl", ()), ("a.md", ("home",)), ("a.jsonl", ("slash", "7", "enter"))],
)
async def test_the_end_is_remembered_until_the_whole_file_is_there(
    tmp_path: Path, monkeypatch: Patch, name: str, others: tuple[str, ...]
) -> None:
    released, tail_may_come = threading.Event(), threading.Event()

    def slow(path: Path, limit: int = PREVIEW_LIMIT) -> Document:
        assert limit == PREVIEW_LIMIT or released.wait(PATIENCE)
        return load(path, limit)

    def slow_page(*args: object, **named: object) -> Document:
        assert tail_may_come.wait(PATIENCE)
        return load_page(*args, **named)  # type: ignore[arg-type]  # passed on as they are

    monkeypatch.setattr(registry, "load", slow)
    monkeypatch.setattr(viewer, "load_page", slow_page)
    line, length = LONG_TEXTS[name]
    count = length // len(line.format(0))
    (tmp_path / name).write_text("".join(map(line.format, range(count))))
    screen = ViewerScreen(tmp_path / name)
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: screen.view.row_count > 1_000 and shows(app, "number 0"))
        beginning = screen.document
        await pilot.press("end", *others)
        released.set()
        await until(lambda: screen.document is not beginning)
        assert screen.document is not None
        assert screen.document.complete
        await until(lambda: screen.view.row_count >= count)
        tail_may_come.set()
        if others:
            # The tail may be given up for the whole file: waiting for that to complete would fail.
            await until(lambda: all(worker.is_finished for worker in app.workers))
            await pilot.pause()
            assert not shows(app, f"number {count - 1}")
        else:
            await until(partial(shows, app, f"number {count - 1}"))
        assert screen.document.complete


@pytest.mark.parametrize(
    ("name", "line", "seen"), [("a.md", 900, 900), ("a.py", 5_000, 2_000), ("a.jsonl", 900, 900)]
)
async def test_a_file_opens_at_a_line_of_its_text(tmp_path: Path, name: str, line: int, seen: int) -> None:
    (tmp_path / name).write_text("".join(f'{{"at": {number}}}\n' for number in range(1, 2_001)))
    async with hosted(screen=ViewerScreen(tmp_path / name, line=line)) as (app, _):
        await until(partial(shows, app, f'{{"at": {seen}}}'))
