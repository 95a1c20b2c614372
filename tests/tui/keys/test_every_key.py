"""Keys that no other test presses: those that close, that scroll, and the second names of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import OptionList

from tests.tui.app_host import opened, settled
from tests.tui.files_host import Host, hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.tui.layout.test_workspace_frame import play, played
from tests.tui.panes.test_queue import listed, queue_of
from tests.tui.screens.test_blacklist import fill
from tests.tui.screens.test_dialogs import SEND, Stage
from tests.tui.screens.test_viewer import ready, write
from tests.tui.tree_host import cursor, laid_session, pane_of, rows
from tests.waiting import until
from ua_tui.core.events.types import PermissionAsked
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.files.link import LinkScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.services.blacklist import BlacklistScreen
from ua_tui.tui.screens.session.confirm import DeleteScreen
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
from ua_tui.tui.widgets.dialog import QUIET_SECONDS, Box, Dialog

LONG = PermissionAsked(
    request_id="r", tool_name="Bash", input={f"argument_{number}": "value " * 9 for number in range(60)}
)


async def test_help_deletion_and_links_are_left_by_every_key() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        for key in ("escape", "q", "question_mark", "f1", "enter"):
            app.push_screen(HelpScreen())
            await pilot.pause()
            await pilot.press(key)
            await pilot.pause()
            assert len(app.screen_stack) == 1, key
        for key in ("n", "escape", "q"):
            await app.ask(pilot, DeleteScreen("a.txt", "1K."))
            await pilot.press(key)
            await pilot.pause()
            assert app.answers.pop() is False, key
        for key in ("escape", "q"):
            await app.ask(pilot, LinkScreen("https://a.example/x"))
            await pilot.press(key)
            await pilot.pause()
            assert len(app.screen_stack) == 1, key
        assert app.opened == []


async def test_a_site_is_cleared_with_delete_and_the_list_left_with_q(tmp_path: Path) -> None:
    blacklist = fill(tmp_path, ("papers.example", 3), ("daily.example", 4))
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await app.ask(pilot, BlacklistScreen(blacklist), wait=QUIET_SECONDS)
        sites = app.screen.query_one(OptionList)
        await until(lambda: sites.option_count == 2)
        await pilot.press("delete")
        await until(lambda: sites.option_count == 1)
        assert len(blacklist.entries()) == 1
        await pilot.press("q")
        await pilot.pause()
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize("make", [lambda: PermissionScreen(LONG), HelpScreen], ids=["dialog", "help"])
async def test_what_has_no_room_is_scrolled(make: Callable[[], Dialog[Any]]) -> None:
    app = Stage()
    async with app.run_test(size=(80, 20)) as pilot:
        await app.ask(pilot, make())
        box = app.screen.query_one(Box)
        places = []
        for key in ("down", "pagedown", "up", "pageup"):
            await pilot.press(key)
            await pilot.pause()
            places.append(box.scroll_offset.y)
        assert places[0] == 1
        assert places[1] >= 11
        assert places[2:] == [places[1] - 1, 0]


async def test_the_answers_of_a_dialog_are_stepped_through() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        await app.ask(pilot, PermissionScreen(SEND))
        seen: list[str | None] = []
        for key in ("tab", "right", "left", "shift+tab"):
            before = app.focused
            await pilot.press(key)
            await pilot.pause()
            assert app.focused is not before
            seen.append(app.focused.id if app.focused else None)
        assert seen[0] == seen[2]
        assert app.answers == []


async def test_the_queue_is_ordered_and_emptied_by_either_key(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await queue_of(app, pilot, session, "one", "two", "three")
        await pilot.press("alt+up", "end", "shift+up")
        await pilot.pause()
        assert listed(app) == ["one", "three", "two"]
        await pilot.press("J")
        assert listed(app) == ["one", "two", "three"]
        await pilot.press("delete")
        await settled(app, pilot)
        assert session.waiting == ["one", "two"]
        await pilot.press("q")
        await pilot.pause()
        assert len(app.screen_stack) == 1


async def test_the_tree_is_paged(tmp_path: Path) -> None:
    session = laid_session(tmp_path)
    for number in range(60):
        (session / f"z{number:02}.txt").write_text("x")
    files = pane_of(session, tmp_path / "SAVED_REPORTS")
    async with hosted(files) as (_, pilot):
        await until(lambda: "z59.txt" in rows(files))
        files.focus()
        await pilot.press("home", "pagedown", "pagedown")
        below = rows(files).index(str(cursor(files)))
        assert below > 20
        await pilot.press("pageup")
        assert 0 < rows(files).index(str(cursor(files))) < below


@pytest.mark.parametrize("name", ["a.log", "a.csv"])
async def test_a_file_is_scrolled_by_every_key(tmp_path: Path, name: str) -> None:
    text = "".join(f"line {number},x\n" for number in range(400))
    async with hosted(screen=ViewerScreen(write(tmp_path, name, text))) as (app, pilot):
        await ready(app)
        view = app.screen.query_one("DocumentView")

        async def place(key: str) -> object:
            await pilot.press(key)
            await pilot.pause()
            return view.cursor_body.cursor if view.cursor_body is not None else view.scroll_offset.y  # type: ignore[attr-defined]  # a DocumentView

        for down, up in (("down", "up"), ("j", "k")):
            await place("home")
            assert await place(down) == 1
            assert await place(up) == 0
        for down, up in (("pagedown", "pageup"), ("space", "b"), ("ctrl+f", "ctrl+b")):
            await place("g")
            below = await place(down)
            assert isinstance(below, int)
            assert below > 5
            assert await place(up) == 0
        at_end = await place("end")
        assert isinstance(at_end, int)
        assert at_end > 300
        assert await place("home") == 0
        assert await place("G") == at_end
        assert await place("g") == 0


async def test_the_keys_are_shown_above_a_file(tmp_path: Path) -> None:
    screen = ViewerScreen(write(tmp_path, "a.txt", "x"))
    async with hosted(screen=screen) as (app, pilot):
        await ready(app)
        for key in ("question_mark", "f1"):
            await pilot.press(key)
            await until(lambda: isinstance(app.screen, HelpScreen))
            await pilot.press("escape")
            await until(lambda: app.screen is screen)


def _line(app: Host, text: str) -> bool:
    return text in screen_text(app)


async def test_a_tree_is_folded_by_letters_and_blank(tmp_path: Path) -> None:
    screen = ViewerScreen(write(tmp_path, "a.json", json.dumps({"a": [{"x": 1}], "b": 2})))
    async with hosted(screen=screen) as (app, pilot):
        await ready(app)
        await until(lambda: _line(app, "▾ a: [1]"))
        for fold, unfold in (("h", "l"), ("space", "space"), ("left", "right")):
            await pilot.press("home", fold)
            await until(lambda: _line(app, "▸ a: [1]"))
            await pilot.press(unfold)
            await until(lambda: _line(app, "▾ a: [1]"))


async def test_a_table_is_sorted_turned_and_its_cell_copied(tmp_path: Path) -> None:
    screen = ViewerScreen(write(tmp_path, "a.csv", "name,size\nbeta,2\nalpha,1\n"))
    async with hosted(screen=screen) as (app, pilot):
        await ready(app)
        await until(lambda: _line(app, "alpha"))

        def order() -> str:
            text = screen_text(app)
            return "ab" if text.index("alpha") < text.index("beta") else "ba"

        assert order() == "ba"
        await pilot.press("s")
        await until(lambda: order() == "ab")
        await pilot.press("S")
        await until(lambda: order() == "ba")
        await pilot.press("home", "l", "c")
        await until(lambda: app.copied == ["2"])
        await pilot.press("h", "c")
        await until(lambda: app.copied == ["2", "beta"])


async def test_the_answer_of_a_provider_is_shown(tmp_path: Path) -> None:
    reported = {"query": "q", "answer": "the provider answers", "results": [
        {"title": "T", "url": "https://a.example"}
    ]}  # fmt: skip
    (tmp_path / "search_results").mkdir()
    screen = ViewerScreen(write(tmp_path / "search_results", "n.json", json.dumps(reported)), tmp_path)
    async with hosted(screen=screen) as (app, pilot):
        await ready(app)
        await until(lambda: _line(app, "the provider answers"))
        await pilot.press("A")
        await until(lambda: not _line(app, "the provider answers"))
        await pilot.press("A")
        await until(lambda: _line(app, "the provider answers"))


async def test_from_an_observer_to_the_call_it_looked_at_and_back(tmp_path: Path) -> None:
    app, session = played(tmp_path)
    async with app.run_test(size=(200, 50)) as pilot:
        await play(app, session, pilot)
        await pilot.press("f4", "home", "down", "p")
        await until(lambda: isinstance(app.screen, ToolCallScreen))
        assert app.screen.call.started.tool_use_id == "toolu_2"  # type: ignore[attr-defined]
        await pilot.press("escape")
        await until(lambda: len(app.screen_stack) == 1)
        assert app.query_one("#observers").has_focus


async def test_what_is_previewed_is_edited_opened_and_deleted(tmp_path: Path, monkeypatch: Patch) -> None:
    asked: list[tuple[Path, str]] = []

    def take(app: Host, event: PreviewPane.ActionRequested) -> None:
        asked.append((event.path, event.action))

    monkeypatch.setattr(Host, "on_preview_pane_action_requested", take, raising=False)
    preview = PreviewPane()
    path = write(tmp_path, "a.txt", "x")
    async with hosted(preview) as (_, pilot):
        preview.focus()
        await pilot.press("o", "e", "d")
        preview.show_path(path)
        await until(lambda: preview.document is not None)
        await pilot.press("o", "e", "d")
        await until(lambda: len(asked) == 3)
    assert asked == [(path, "open_outside"), (path, "edit"), (path, "delete")]
