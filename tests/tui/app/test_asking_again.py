"""The query of a report asked again from the screen, and the comparison in the end."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from tests.observers.knowledge.recorded import Recorded
from tests.tui.app_host import notices
from tests.tui.comparison.compared import session_a
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.waiting import PATIENCE, until
from ua_tui.core.history.report_query import PAGE_AGE
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.port import ToAskAgain
from ua_tui.tui.cli.full_screen import next_session
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.session.comparison import ComparisonScreen
from ua_tui.tui.screens.session.confirm import ConfirmScreen


def answer(app: UaTuiApp, is_wanted: bool) -> None:
    """Answer the question; a key is no answer until a moment has passed."""
    assert isinstance(app.screen, ConfirmScreen)
    app.screen.dismiss(is_wanted)


async def test_the_query_of_a_report_is_asked_again_after_a_question(tmp_path: Path) -> None:
    report = session_a(tmp_path).folder / "work_products/cats.html"
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: app.state == "idle")
        app.push_screen(viewer := ViewerScreen(report, report.parent.parent, read_only=True))
        await until(lambda: viewer.origin is not None)
        await pilot.press("Q")
        await until(lambda: isinstance(app.screen, ConfirmScreen) and "Which animals" in screen_text(app))
        words = " ".join(screen_text(app).replace("│", " ").split())
        assert "The last run took 2.0s and cost $0.02." in words
        answer(app, False)
        await until(lambda: app.screen is viewer)
        await pilot.press("Q")
        await until(lambda: isinstance(app.screen, ConfirmScreen))
        answer(app, True)
        await until(lambda: app._exit)
    assert session.closed == ["quit"]
    assert app.return_value == ToAskAgain(report)


async def test_what_somebody_else_asked_is_not_asked_again(tmp_path: Path) -> None:
    session = Recorded(tmp_path)
    session.write_report("cats", "# Cats")
    copied = shutil.copytree(session.folder, session.folder.with_name("session_20260311_120000"))
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: app.state == "idle")
        app.push_screen(viewer := ViewerScreen(copied / "work_products/cats.md", copied))
        await until(lambda: viewer.origin is not None)
        await pilot.press("Q")
        await until(lambda: "was not made by this program for this user" in notices(app))
        assert app.screen is viewer


def test_the_next_session_asks_it_and_knows_with_what_it_is_compared(tmp_path: Path) -> None:
    folder = session_a(tmp_path).folder
    found = next_session(ToAskAgain(folder / "work_products/cats.html"), Settings())
    assert found is not None
    assert (found.first_query, found.resume, found.compared_with) == ("Which animals smile?", None, folder)
    assert (found.settings.page_age, found.settings.demo) == (PAGE_AGE, False)
    assert next_session(None, Settings()) is None


async def test_the_sessions_are_compared_once_the_query_has_ended(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(
        tmp_path, session, first_query="Which animals smile?", compared_with=session_a(tmp_path).folder
    )
    async with app.run_test(size=(100, 30)):
        await until(lambda: session.submitted == ["Which animals smile?"])
        assert not isinstance(app.screen, ComparisonScreen)
        # It does not open below the fingers of somebody who types.
        app.typed_at = time.monotonic() + PATIENCE
        session.finish()
        await until(lambda: app.state == "idle")
        assert not isinstance(app.screen, ComparisonScreen)
        app.typed_at = float("-inf")
        await until(lambda: isinstance(app.screen, ComparisonScreen))
