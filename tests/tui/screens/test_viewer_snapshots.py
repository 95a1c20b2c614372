"""The viewer, of each kind of file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tui.files_host import finished, hosted
from tests.tui.pictured import DARK, LARGE, MEDIUM, SMALL, Compare, Size, looks
from tests.tui.viewers.claims.checked_report import REPORT, decide, write_session
from tests.waiting import until
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers.claims.marks import MarkedBody

FILES = Path(__file__).parent / "files"

pytestmark = pytest.mark.usefixtures("still")


@looks(DARK)
@pytest.mark.parametrize("name", ["results.json", "tree.json", "table.csv"])
async def test_the_viewer(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, name: str, size: Size, theme: str
) -> None:
    shutil.copy(FILES / name, tmp_path)
    screen = ViewerScreen(tmp_path / name, tmp_path)
    async with hosted(screen=screen, size=size, theme=theme) as (app, pilot):
        await until(lambda: screen.view.row_count > 0)
        await finished(app.workers)
        await pilot.press("down", "down")
        await snap_compare(pilot)
        await pilot.resize_terminal(*SMALL)
        await screen_compare(pilot, "80x24")


@looks((SMALL, "ua-dark"), DARK, (MEDIUM, "ua-ansi"))
async def test_a_checked_report(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, size: Size, theme: str
) -> None:
    session = write_session(tmp_path)
    screen = ViewerScreen(session / REPORT, session)
    async with hosted(screen=screen, size=size, theme=theme) as (app, pilot):
        await until(lambda: isinstance(screen.view.body, MarkedBody) and screen.view.is_laid_out)
        await finished(app.workers)
        await pilot.press("right_square_bracket", "enter")
        await (screen_compare if size == SMALL else snap_compare)(pilot)


@looks((SMALL, "ua-dark"), (MEDIUM, "ua-ansi"), (LARGE, "ua-light"))
async def test_the_claims_of_a_report(
    screen_compare: Compare, snap_compare: Compare, tmp_path: Path, size: Size, theme: str
) -> None:
    session = write_session(tmp_path)
    decide(session, [1], "rejected")
    decide(session, [0], "accepted")
    screen = ViewerScreen(session / REPORT, session)
    async with hosted(screen=screen, size=size, theme=theme) as (app, pilot):
        await until(lambda: isinstance(screen.view.body, MarkedBody) and screen.view.is_laid_out)
        await finished(app.workers)
        await pilot.press("tab")
        await until(lambda: app.screen is not screen and app.screen.is_mounted)
        await pilot.press("space")
        await finished(app.workers)
        await (screen_compare if size == SMALL else snap_compare)(pilot)
