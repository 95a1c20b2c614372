"""In a pane the screen says which key leads back to the prompt, and that key does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text, until
from tui.app.app import UaTuiApp


def shown_text(app: UaTuiApp) -> str:
    return str(app.frame.prompt.placeholder)


@pytest.mark.parametrize("size", [(120, 40), (200, 50)])
async def test_the_empty_prompt_says_which_key_leads_back_to_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        assert "Ask anything" in shown_text(app)
        await pilot.press("f3")
        await pilot.pause()
        assert "Esc: back to prompt" in screen_text(app)
        await pilot.press("escape", "x")
        await pilot.pause()
        assert app.frame.prompt.text == "x"
        assert "Ask anything" in shown_text(app)
        await pilot.press("enter", "f2")
        await until(lambda: session.state == "running")
        await pilot.pause()
        assert "Tab: back to prompt" in screen_text(app)
        await pilot.press("tab")
        assert app.frame.prompt.has_focus
        assert session.interrupts == 0
        await pilot.press("f4")
        session.finish()
        await until(lambda: "Esc: back to prompt" in screen_text(app))


async def test_where_the_prompt_is_out_of_sight_the_status_line_says_it(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        assert "Esc prompt" not in screen_text(app)
        await pilot.press("f5")
        await until(lambda: "Esc prompt" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "Esc prompt" not in screen_text(app))
        assert app.frame.prompt.has_focus


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize(
    ("pane", "keys"), [("f3", ["shift+tab"]), ("f4", ["1", "tab"]), ("f5", ["1", "tab"])]
)
async def test_while_the_agent_works_the_keys_that_are_named_lead_to_the_prompt_and_stop_nothing(
    tmp_path: Path, size: tuple[int, int], pane: str, keys: list[str]
) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        await pilot.press("x", "enter")
        await until(lambda: session.state == "running")
        await pilot.press(pane)
        named = " ".join({"shift+tab": "Shift+Tab", "tab": "Tab"}.get(key, key) for key in keys)
        words = f"{named} prompt" if size[0] < 100 else f"{named}: back"
        await until(lambda: words in screen_text(app))
        assert "Esc stops" in screen_text(app)
        await pilot.press(*keys)
        assert app.frame.prompt.has_focus
        assert session.interrupts == 0


async def test_below_a_screen_of_its_own_esc_is_not_said_to_stop_the_agent(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("x", "enter")
        await until(lambda: "Esc stops" in screen_text(app))
        await pilot.press("f1")
        await until(lambda: "Esc stops" not in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "Esc stops" in screen_text(app))


async def test_a_click_on_the_key_in_the_status_line_leads_back_too(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("f3")
        await until(lambda: "Esc prompt" in screen_text(app))
        line = screen_text(app).splitlines()[-1]
        await pilot.click("StatusLine", offset=(line.index("Esc prompt") + 2, 0))
        assert app.frame.prompt.has_focus


async def test_a_terminal_that_loses_the_focus_changes_nothing(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        app.app_focus = False
        await pilot.pause()
        assert "Ask anything" in shown_text(app)
