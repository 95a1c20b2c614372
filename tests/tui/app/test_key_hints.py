"""The screen says which keys are useful where the focus is, and which one leads back to the prompt."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.tui.app_host import opened, shown
from tests.tui.files_host import screen_text
from tests.waiting import until
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.controllers.escape import MOVED_SECONDS


def shown_text(app: UaTuiApp) -> str:
    return str(app.frame.prompt.placeholder)


def shows(app: UaTuiApp, text: str) -> bool:
    return text in screen_text(app)


def is_wide(app: UaTuiApp, columns: int) -> bool:
    return app.frame.size.width == columns


async def test_esc_leads_to_the_prompt_and_only_there_stops(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await pilot.press("x", "enter")
        await until(lambda: session.state == "running")
        for pane in ("f2", "f3", "f4", "f5"):
            await pilot.press(pane)
            await until(lambda: "Esc prompt" in screen_text(app))
            assert "Esc stops" not in screen_text(app)
            await pilot.press("escape")
            assert app.frame.prompt.has_focus
            assert session.interrupts == 0
            await until(lambda: "Esc stops" in screen_text(app))
        await pilot.press("f1")
        await until(lambda: "Esc stops" not in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "Esc stops" in screen_text(app))
        app.escape._pressed -= MOVED_SECONDS
        await pilot.press("escape")
        await until(lambda: session.interrupts == 1)
        # Where the prompt is hidden, a click on the status line leads back, too.
        assert "Esc prompt" not in screen_text(app)
        await pilot.press("f3")
        # While the line shows the query, its keys are at other places.
        await shown(app, pilot)
        await until(lambda: "ready" in screen_text(app) and "Esc prompt" in screen_text(app))
        line = screen_text(app).splitlines()[-1]
        await pilot.click("StatusLine", offset=(line.index("Esc prompt") + 2, 0))
        assert app.frame.prompt.has_focus


async def test_the_status_line_names_what_esc_does_in_each_place(tmp_path: Path) -> None:
    async with opened(tmp_path, (200, 50)) as (_, app, pilot):
        assert "Ask anything" in shown_text(app)
        await pilot.press("f3")
        await pilot.pause()
        assert "Esc returns here" in screen_text(app)
        await pilot.press("escape", "x")
        await pilot.pause()
        assert app.frame.prompt.text == "x"
        app.app_focus = False
        await pilot.pause()
        assert "Ask anything" in shown_text(app), "also in a terminal without the focus"
        app.app_focus = True
        app.frame.prompt.put("")
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


KEYS_OF_PANES = {
    "f2": "/ search  Enter open  v compare  y copy", "f3": "Enter details  / filter  ] next failure  ← fold",
    "f4": "Enter file  p tool call  m every run", "f5": "Enter open  / filter  p origin  v compare",
}  # fmt: skip


async def test_free_space_of_the_status_line_has_the_keys_of_the_pane_to_click(tmp_path: Path) -> None:
    async with opened(tmp_path, (260, 50)) as (_, app, pilot):
        for pane, keys in KEYS_OF_PANES.items():
            await pilot.press(pane)
            await until(partial(shows, app, keys))
            for width in (140, 80):
                await pilot.resize_terminal(width, 24)
                await until(partial(is_wide, app, width))
                await pilot.pause()
                line = screen_text(app).splitlines()[-1]
                assert "Esc prompt" in line
                assert keys.split("  ", maxsplit=1)[0] in line, "the most useful comes first"
            assert keys not in line
            await pilot.resize_terminal(260, 50)
        await pilot.press("f3")
        await until(partial(shows, app, KEYS_OF_PANES["f3"]))
        line = screen_text(app).splitlines()[-1]
        await pilot.click("StatusLine", offset=(line.index("/ filter") + 2, 0))
        await until(lambda: "Esc clear filter" in screen_text(app))
