"""Layouts that a person made, and the keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.app.test_snapshots import played_app, steps
from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from tests.tui.pictured import LARGE, MEDIUM, SMALL, Compare, looks
from ua_tui.core.settings.sources import KeyChoice
from ua_tui.tui.keys.keymap import choose_keys

pytestmark = pytest.mark.usefixtures("still")


@looks((MEDIUM, "ua-dark"), (LARGE, "ua-dark"))
async def test_changed_sizes(
    snap_compare: Compare, tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    keys = ["f5", *[">"] * 3, *["-"] * 3]
    if size == LARGE:
        keys += ["f3", *["<"] * 2, *["+"] * 4]
    async with played_app(tmp_path, theme).run_test(size=size) as pilot:
        await steps(*keys)(pilot)
        await snap_compare(pilot)


@looks((MEDIUM, "ua-dark"))
async def test_the_keys_of_the_trace(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    async with played_app(tmp_path, theme).run_test(size=size) as pilot:
        await steps("f3", "question_mark")(pilot)
        await snap_compare(pilot)
        await pilot.resize_terminal(*SMALL)
        await screen_compare(pilot, "80x24")


async def test_every_key_with_some_that_were_overruled(screen_compare: Compare, tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    origin = "keys in /home/me/.config/ua-tui/config.toml"
    app.use_keys(
        choose_keys([KeyChoice("trace.next_failure", "j", origin), KeyChoice("help.all", "f12", origin)])
    )
    async with app.run_test(size=LARGE) as pilot:
        await settled(app, pilot)
        await pilot.press("f12")
        for wide, high in (LARGE, MEDIUM, SMALL):
            await pilot.resize_terminal(wide, high)
            await screen_compare(pilot, f"{wide}x{high}")
