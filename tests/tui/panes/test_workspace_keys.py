from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.files_host import hosted, screen_text
from tests.tui.tree_host import cursor, laid_session, on_screen, pane_of, rows
from tests.waiting import until
from ua_tui.tui.panes.workspace.folder_tree import matcher

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return laid_session(tmp_path)


async def test_hidden_files_sorting_and_filtering_leave_cursor_folds_and_scroll_alone(session: Path) -> None:
    for number in range(60):
        (session / "search_results" / f"f{number:02}.json").write_text("x" * number)
    (session / "search_results" / ".hidden").write_text("x")
    pane = pane_of(session)
    async with hosted(pane, size=(50, 14)) as (_, pilot):
        await until(lambda: "  f59.json" in rows(pane))
        pane.focus()
        pane.reveal(session / "search_results" / "f40.json")
        await until(lambda: cursor(pane) == "f40.json")
        await pilot.press("up", "up")
        await pilot.pause()
        line = on_screen(pane)
        await pilot.press("full_stop")
        await until(lambda: "  .hidden" in rows(pane))
        assert (cursor(pane), on_screen(pane)) == ("f38.json", line)
        await pilot.press("s", "s")
        assert cursor(pane) == "f38.json"
        assert 0 <= on_screen(pane) < pane.tree_view.size.height
        await pilot.press("s", "full_stop")
        await until(lambda: "  .hidden" not in rows(pane))
        await pilot.press("slash", *"f5", "escape")
        assert cursor(pane) == "f38.json"


async def test_a_file_counts_as_seen_only_when_it_was_shown_or_opened(session: Path) -> None:
    pane = pane_of(session)
    async with hosted(pane, size=(50, 16)) as (app, pilot):
        app.previewing = False
        await until(lambda: "run.log" in rows(pane))
        for name in ("a.md", "b.md"):
            (session / "work_products" / name).write_text("x")
        await until(lambda: len(pane.new_files) == 2)
        pane.focus()
        pane.reveal(session / "work_products" / "a.md")
        await until(lambda: cursor(pane) == "a.md")
        await pilot.pause(0.4)
        assert len(pane.new_files) == 2, "nothing was shown of it"
        assert "2 new" in screen_text(app)
        assert "● a.md" in screen_text(app), "the mark is a character, not a colour"
        await pilot.press("enter")
        assert pane.new_files == {session / "work_products" / "b.md"}
        app.previewing = True
        await pilot.press("down")
        await until(lambda: not pane.new_files)
        await pilot.pause()
        assert "new" not in screen_text(app)


async def test_the_cursor_passing_over_files_does_not_count_as_seeing_them(session: Path) -> None:
    pane = pane_of(session)
    async with hosted(pane, size=(50, 30)) as (_, pilot):
        await until(lambda: "run.log" in rows(pane))
        for number in range(9):
            (session / "work_products" / f"{number}.md").write_text("x")
        await until(lambda: len(pane.new_files) == 9)
        pane.focus()
        pane.tree_view.action_cursor_home()
        for _ in range(len(rows(pane))):
            pane.tree_view.action_cursor_down()
        await pilot.pause(0.4)
        assert len(pane.new_files) == 9


@pytest.mark.parametrize(("pattern", "path", "found"), TABLES["filters"])
def test_what_matches_a_filter(pattern: str, path: str, found: bool) -> None:
    match = matcher(pattern)
    assert match is not None
    assert match(path) is found
    assert matcher("  ") is None, "blanks are no filter"
