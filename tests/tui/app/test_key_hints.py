"""The screen says which keys are useful where the focus is, and which one leads back to the prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.waiting import until
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


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@pytest.mark.parametrize("pane", ["f2", "f3", "f4", "f5"])
async def test_while_the_agent_works_esc_leads_from_a_pane_to_the_prompt_and_stops_it_only_there(
    tmp_path: Path, size: tuple[int, int], pane: str
) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        await pilot.press("x", "enter")
        await until(lambda: session.state == "running")
        await pilot.press(pane)
        await until(lambda: "Esc prompt" in screen_text(app))
        assert "Esc stops" not in screen_text(app)
        await pilot.press("escape")
        assert app.frame.prompt.has_focus
        assert session.interrupts == 0
        await until(lambda: "Esc stops" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: session.interrupts == 1)


async def test_the_status_line_names_what_esc_does_in_each_place(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(200, 50)) as pilot:
        await settled(app, pilot)
        await until(lambda: "Esc panes" in screen_text(app))
        await pilot.press("f3", "f")
        await until(lambda: "Esc clear filter" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "Esc prompt" in screen_text(app))
        await pilot.press("f2", "slash")
        await until(lambda: "Esc clear search" in screen_text(app))
        await pilot.press("escape", "f5", "slash")
        await until(lambda: "Esc clear filter" in screen_text(app))
        await pilot.press("escape", "z")
        await until(lambda: "Esc prompt" in screen_text(app))
        await pilot.press("escape")
        assert (app.frame.prompt.has_focus, app.frame.maximised) == (True, False)


@pytest.mark.parametrize(
    ("pane", "all_of_them"),
    [
        ("f2", "/ search  Enter open  v compare  y copy"),
        ("f3", "Enter details  / filter  e next failure  ← fold"),
        ("f4", "Enter file  p tool call  m statistics"),
        ("f5", "Enter open  / filter  p origin  v compare"),
    ],
)
async def test_free_space_of_the_status_line_shows_the_keys_of_the_pane_the_most_useful_first(
    tmp_path: Path, pane: str, all_of_them: str
) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(260, 50)) as pilot:
        await settled(app, pilot)
        await pilot.press(pane)
        await until(lambda: all_of_them in screen_text(app))
        for width in (140, 80):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            line = screen_text(app).splitlines()[-1]
            assert "Esc prompt" in line
            assert all_of_them.split("  ", maxsplit=1)[0] in line
        assert all_of_them not in line


async def test_a_click_on_a_key_of_the_pane_does_what_the_key_does(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(200, 50)) as pilot:
        await settled(app, pilot)
        await pilot.press("f3")
        await until(lambda: "/ filter" in screen_text(app))
        line = screen_text(app).splitlines()[-1]
        await pilot.click("StatusLine", offset=(line.index("/ filter") + 2, 0))
        await until(lambda: "Esc clear filter" in screen_text(app))


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
