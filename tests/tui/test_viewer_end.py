"""End in the viewer, pressed before anybody knows where the end is."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from tests.tui.files_host import Host, hosted, screen_text, until
from tui.markdown import MarkdownTheme
from tui.screens import viewer
from tui.screens.viewer import ViewerScreen
from tui.viewers.document import ListRows
from tui.viewers.markdown_body import MarkdownBody
from tui.viewers.registry import load

PARAGRAPHS = "\n\n".join(f"Paragraph {number}" for number in range(2_000))
LINES = "\n".join(f'{{"number": {number}}}' for number in range(300))


def shows(app: Host, text: str) -> bool:
    return text in screen_text(app)


@pytest.mark.parametrize(("key", "other", "seen"), [("end", "", 1999), ("G", "", 1999), ("G", "home", 0)])
async def test_the_end_is_kept_in_mind_while_rows_are_laid_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, other: str, seen: int
) -> None:
    may_go_on = threading.Event()
    lay_out = MarkdownBody.lay_out

    def slow(self: MarkdownBody, width: int, theme: MarkdownTheme) -> ListRows:
        assert may_go_on.wait(60)
        return lay_out(self, width, theme)

    monkeypatch.setattr(MarkdownBody, "lay_out", slow)
    (tmp_path / "a.md").write_text(PARAGRAPHS)
    async with hosted(screen=ViewerScreen(tmp_path / "a.md")) as (app, pilot):
        await until(partial(shows, app, "Paragraph 0"))
        await pilot.press(*filter(None, (key, other)))
        may_go_on.set()
        await until(lambda: app.screen.query_one("#viewer-view").virtual_size.height > 3_000)
        await until(partial(shows, app, f"Paragraph {seen}"))


@pytest.mark.parametrize(
    ("name", "text", "last"), [("a.md", PARAGRAPHS, "Paragraph 1999"), ("a.jsonl", LINES, "number: 299")]
)
async def test_the_end_is_kept_in_mind_while_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, last: str
) -> None:
    may_go_on = threading.Event()

    def slow(*args: object, **named: object) -> object:
        assert may_go_on.wait(60)
        return load(*args, **named)  # type: ignore[arg-type]  # passed on as they are

    monkeypatch.setattr(viewer, "load", slow)
    (tmp_path / name).write_text(text)
    async with hosted(screen=ViewerScreen(tmp_path / name)) as (app, pilot):
        await pilot.press("end")
        may_go_on.set()
        await until(partial(shows, app, last))
