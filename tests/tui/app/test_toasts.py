"""What is told for some seconds never stands on what one types in, nor on the answers of a dialog."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from tests.tui.app_host import opened, settled
from tests.tui.fakes import make_app, make_session
from tests.tui.screens.test_dialogs import quit_screen
from tests.waiting import until
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.widgets.dialog import Foot

LONG = "A sentence that has to be told in more lines than one, as it goes on for quite a while and ends only here."


def toasts(app: UaTuiApp) -> list[Toast]:
    """The toasts on the screen."""
    return list(app.screen.query(Toast))


@pytest.mark.parametrize("size", [(60, 20), (200, 50)])
async def test_toasts_leave_prompt_and_status_line_readable(tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(tmp_path, size, toasts=True) as (_, app, pilot):
        app.frame.prompt.put("one\ntwo\nthree\nfour\nfive")
        app.notify("A short one", timeout=1000)
        app.notify("A short one", timeout=1000)
        app.notify(LONG, timeout=1000)
        await until(lambda: len(toasts(app)) == 2)
        await pilot.pause()
        for toast in toasts(app):
            assert toast.region.area > 0
            for below in (app.frame.prompt, app.status):
                assert not toast.region.overlaps(below.region)
        short, _ = toasts(app)
        assert (short.region.y, short.region.height) == (0, 1), "it covers titles only, and no text"


async def test_toasts_leave_the_answers_of_a_dialog_readable(tmp_path: Path) -> None:
    async with opened(tmp_path, (80, 24), toasts=True) as (_, app, pilot):
        await app.push_screen(quit_screen())
        app.notify(LONG, timeout=1000)
        await until(lambda: len(toasts(app)) == 1)
        await pilot.pause()
        (toast,), foot = toasts(app), app.screen.query_one(Foot)
        assert toast.region.area > 0
        assert not toast.region.overlaps(foot.region)


async def test_a_toast_is_short_and_the_log_has_it_all(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    path = tmp_path / ("deep/" * 80) / "a.txt"
    reasons = (
        f"cannot delete {path}: Permission denied; check its permissions",
        "[b]It[/b] failed. Why? See x",
    )
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(app, pilot)
        with caplog.at_level("INFO", "ua_tui"):
            for reason in reasons:
                app.screen.notify(reason, timeout=1000)
        await until(lambda: len(toasts(app)) == 2)
        shown = [each.message for each in app._notifications]
    assert shown[1] == "[b]It[/b] failed."
    assert not any(each.markup for each in app._notifications)
    assert shown[0].startswith("cannot delete /")
    assert shown[0].endswith("/a.txt: Permission denied.")
    assert len(shown[0]) == 240
    assert all(reason in caplog.text for reason in reasons)
