"""The comparison of two sessions on the screen."""

from __future__ import annotations

from pathlib import Path

from tests.tui.app_host import notices
from tests.tui.comparison.compared import B, session_a, session_b
from tests.tui.files_host import hosted, screen_text
from tests.tui.screens.test_sessions import sessions
from tests.waiting import until
from ua_tui.core.history.index import SessionIndex
from ua_tui.tui.screens.session.comparison import ComparisonScreen
from ua_tui.tui.screens.session.sessions import SessionsScreen


async def test_two_sessions_of_the_list_are_compared(tmp_path: Path) -> None:
    session_a(tmp_path)
    session_b(tmp_path)
    async with sessions(tmp_path, size=(80, 24)) as (app, screen, pilot):
        await pilot.press("c")
        await until(lambda: "Mark one session with Space, then" in notices(app))
        await pilot.press("space", "down", "c")
        await until(lambda: isinstance(app.screen, ComparisonScreen) and "Queries" in screen_text(app))
        text = screen_text(app)
        assert text.index("session_20260310_120000") < text.index("session_20260311_120000")
        assert "demo" not in text
        await pilot.press("n", "n", "n")
        await until(lambda: "Claims: 0 in common, 1 changed" in screen_text(app))
        await pilot.press("slash", *"owners", "enter")
        await until(lambda: "match 1 of 1" in screen_text(app))
        await pilot.press("escape", "escape")
        await until(lambda: isinstance(app.screen, SessionsScreen))
        await pilot.press("space")
        assert "1 marked" in screen_text(app)
        await pilot.press("up", "c")
        await until(lambda: isinstance(app.screen, ComparisonScreen))
        assert screen._list.marked


async def test_the_one_under_the_cursor_is_compared_with_the_one_that_is_open(tmp_path: Path) -> None:
    shown = session_a(tmp_path).folder
    session_b(tmp_path)
    screen = SessionsScreen(SessionIndex(tmp_path, tmp_path / "cache"), current=shown)
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: len(screen._list.listed) == 2)
        await pilot.press("c")
        await until(lambda: isinstance(app.screen, ComparisonScreen) and "Queries" in screen_text(app))
        assert app.screen._folders == (shown, shown.with_name(B))  # type: ignore[attr-defined]


async def test_what_cannot_be_compared_is_explained(tmp_path: Path) -> None:
    folder = session_a(tmp_path).folder
    async with hosted(screen=ComparisonScreen(folder, folder)) as (app, pilot):
        await until(lambda: "cannot be compared with itself" in " ".join(screen_text(app).split()))
        await pilot.press("n", "N", "q")
        await until(lambda: not isinstance(app.screen, ComparisonScreen))
