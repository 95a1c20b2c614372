"""Every key and button of the dialogs that are lists, with the cursor on the middle one of three."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import OptionList

from tests.tui.screens.test_blacklist import fill
from tests.tui.screens.test_dialogs import Stage
from tests.waiting import until
from ua_tui.tui.screens.services.blacklist import BlacklistScreen


async def test_each_key_and_button_that_clears_the_blacklist(tmp_path: Path) -> None:
    app = Stage()
    hosts = ("a.example", "b.example", "c.example")
    async with app.run_test(size=(100, 30)) as pilot:
        for ways, out in (
            (["d"], "escape"), (["delete"], "q"), (["#clear"], "#close"), (["a", "a"], "escape"),
            (["#clear-all", "#clear-all"], "q"),
        ):  # fmt: skip
            blacklist = fill(tmp_path / "-".join(ways), *((host, 3) for host in hosts))
            screen = BlacklistScreen(blacklist)
            await app.ask(pilot, screen)
            sites = screen.query_one(OptionList)
            await until(lambda: sites.option_count == 3)  # noqa: B023
            await pilot.press("down")
            chosen = blacklist.entries()[1].host
            for way in ways:
                await (pilot.click(way) if way.startswith("#") else pilot.press(way))
                await pilot.pause()
            await until(lambda: sites.option_count < 3)  # noqa: B023
            left = {*hosts} - {chosen} if len(ways) == 1 else set()
            assert {each.host for each in blacklist.entries()} == left, ways
            await (pilot.click(out) if out.startswith("#") else pilot.press(out))
            await pilot.pause()
            assert app.answers.pop() is None
