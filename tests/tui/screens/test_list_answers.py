"""Every key and button of the dialogs that are lists, with the cursor on the middle one of three."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.widgets import OptionList

from tests.tui.files_host import until
from tests.tui.screens.test_blacklist import fill
from tests.tui.screens.test_dialogs import Stage
from tui.screens.files.links import LinksScreen
from tui.screens.services.blacklist import BlacklistScreen
from tui.screens.session.queue import QueueScreen
from tui.viewers.view.links import FoundLink
from tui.widgets.dialog import QUIET_SECONDS

URLS = [f"https://{name}.example/" for name in "abc"]


@pytest.mark.parametrize(
    ("key", "left", "closed"),
    [
        *((key, ["two", "one", "three"], []) for key in ("shift+up", "K")),
        *((key, ["one", "three", "two"], []) for key in ("shift+down", "J")),
        *((key, ["one", "three"], []) for key in ("d", "delete")),
        *((key, ["one", "two", "three"], [None]) for key in ("escape", "q")),
        ("enter", ["one", "three"], ["two"]),
    ],
)
async def test_each_key_of_the_queue(key: str, left: list[str], closed: list[str | None]) -> None:
    waiting = ["one", "two", "three"]

    def change(seen: Sequence[str], wanted: Sequence[str]) -> bool:
        assert list(seen) == waiting
        waiting[:] = wanted
        return True

    app = Stage()
    async with app.run_test() as pilot:
        app.push_screen(QueueScreen(lambda: tuple(waiting), change), app.answers.append)
        await pilot.pause()
        await pilot.press("down", key)
        await pilot.pause()
        assert waiting == left
        assert app.answers == closed


@pytest.mark.parametrize(
    ("keys", "closed"),
    [
        (["enter"], URLS[1]),
        *(([key, "enter"], URLS[2]) for key in ("j", "down")),
        *(([key, "enter"], URLS[0]) for key in ("k", "up")),
        *(([key], None) for key in ("escape", "q")),
    ],
)
async def test_each_key_of_the_links(keys: list[str], closed: str | None) -> None:
    app = Stage()
    async with app.run_test() as pilot:
        app.push_screen(LinksScreen([FoundLink("x", url, 0) for url in URLS], 1), app.answers.append)
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert app.answers == [closed]


async def test_a_link_is_chosen_with_the_mouse() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        app.push_screen(LinksScreen([FoundLink("x", url, 0) for url in URLS], 0), app.answers.append)
        await pilot.pause()
        await pilot.click("#links-found", offset=(2, 2))
        await pilot.pause()
        assert app.answers == [URLS[2]]


@pytest.mark.parametrize("ways", [["c"], ["delete"], ["#clear"], ["a", "a"], ["#clear-all", "#clear-all"]])
async def test_each_key_and_button_that_clears_the_blacklist(tmp_path: Path, ways: list[str]) -> None:
    blacklist = fill(tmp_path, ("a.example", 3), ("b.example", 3), ("c.example", 3))
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await app.ask(pilot, BlacklistScreen(blacklist))
        sites = app.screen.query_one(OptionList)
        await until(lambda: sites.option_count == 3)
        app.now += QUIET_SECONDS
        await pilot.press("down")
        chosen = blacklist.entries()[1].host
        for way in ways:
            await (pilot.click(way) if way.startswith("#") else pilot.press(way))
            await pilot.pause()
        await until(lambda: sites.option_count < 3)
        left = {"a.example", "b.example", "c.example"} - {chosen}
        assert {each.host for each in blacklist.entries()} == (left if len(ways) == 1 else set())


@pytest.mark.parametrize("way", ["escape", "q", "#close"])
async def test_each_way_out_of_the_blacklist(tmp_path: Path, way: str) -> None:
    blacklist = fill(tmp_path, ("a.example", 3))
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await app.ask(pilot, BlacklistScreen(blacklist))
        sites = app.screen.query_one(OptionList)
        await until(lambda: sites.option_count == 1)
        await (pilot.click(way) if way.startswith("#") else pilot.press(way))
        await pilot.pause()
        assert app.answers == [None]
        assert len(blacklist.entries()) == 1
