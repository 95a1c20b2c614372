"""The palette has the frame and the width of a dialog, and a line for each command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList, SimpleCommand

from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.pictured import LARGE, SMALL, Compare, no_blinking
from tests.tui.theme.test_contrast import parts
from tests.waiting import until
from ua_tui.tui.keys.keymap import Keys
from ua_tui.tui.screens.application.command_palette import Palette
from ua_tui.tui.screens.knowledge.find import FindScreen
from ua_tui.tui.theme.themes import TEXT, contrast


@pytest.mark.usefixtures("still")
async def test_a_command_is_a_line_with_its_key_at_the_right_edge(
    screen_compare: Compare, tmp_path: Path
) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=SMALL) as pilot:
        await settled(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette) and "Budget" in screen_text(app))
        no_blinking(app)
        await screen_compare(pilot, "80x24")
        await pilot.resize_terminal(*LARGE)
        await screen_compare(pilot, "200x50")
        await pilot.press("down")
        await pilot.resize_terminal(60, 20)
        await until(lambda: app.screen.query_one("#--container").region.width == 60)
        await until(lambda: "Spending limit of the session" in screen_text(app))
        assert app.screen.query_one(CommandList).highlighted == 1


async def test_it_opens_above_a_screen_that_was_opened_above_another_one(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press("f8")
        await until(lambda: isinstance(app.screen, FindScreen))
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette))
        assert [isinstance(each, Palette) for each in app.screen_stack] == [False, True, False, True]
        for kind in (FindScreen, Palette):
            await pilot.press("escape")
            await until(lambda kind=kind: isinstance(app.screen, kind))  # type: ignore[misc]


async def test_two_clicks_beside_it_close_nothing_else(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        await pilot.press("f8")
        await until(lambda: isinstance(app.screen, FindScreen))
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette))
        palette = app.screen
        # Both are under way before the first has an effect.
        palette.dismiss()
        palette.dismiss()
        await pilot.pause()
        assert isinstance(app.screen, FindScreen)


async def test_the_key_of_a_command_is_the_one_that_works(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        for key, shown in ("right_square_bracket", "]"), ("left_square_bracket", "["), ("backslash", "\\"):
            app.use_keys(Keys({"trace.next_failure": (key,)}))
            await pilot.press("ctrl+p", *"next failure")
            await until(lambda shown=shown: f" {shown} in the trace" in screen_text(app))  # type: ignore[misc]
            await pilot.press("escape")
            await until(lambda: not isinstance(app.screen, Palette))


async def test_the_palette_opens_above_a_screen_that_covers_it(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette) and "Budget" in screen_text(app))
        await pilot.press("f8")
        await until(lambda: isinstance(app.screen, FindScreen))
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette) and "Budget" in screen_text(app))
        for left in (3, 2, 1):
            await pilot.press("escape")
            await until(lambda left=left: len(app.screen_stack) == left)  # type: ignore[misc]


async def test_what_a_command_is_for_can_be_read_on_the_row_of_the_cursor_too(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        await pilot.press("ctrl+p", *"se")
        await until(lambda: isinstance(app.screen, Palette) and "Read, resume" in screen_text(app))
        group = Palette._GATHER_COMMANDS_GROUP
        # What is found later moves the cursor back to the first row.
        await until(lambda: not any(each.group == group and each.is_running for each in app.workers))
        await pilot.press("down")
        await until(lambda: app.screen.query_one(CommandList).highlighted == 1)

        def found() -> set[tuple[Any, Any]]:
            return {
                colours
                for strip in app.screen._compositor.render_strips()
                for text, style, _ in strip
                if (colours := parts(style)) is not None
                and ("Read, resume" in text or "Articles, results" in text)
            }

        for theme in ("ua-dark", "ua-light"):
            app.theme = theme
            await pilot.pause()
            await until(lambda: len({ground for _, ground in found()}) == 2)
            assert min(contrast(*colours) for colours in found()) >= TEXT


async def test_a_page_is_no_step_where_there_is_no_room_for_a_command(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=SMALL) as pilot:
        await settled(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette) and "Budget" in screen_text(app))
        shown = app.screen.query_one(CommandList)
        shown.styles.width = shown.styles.min_width = 0
        await until(lambda: not shown.scrollable_content_region)
        shown.clear_options().add_options(["one", "two"])
        shown.highlighted = 1
        await pilot.press("pageup", "pagedown")
        assert shown.highlighted == 1


async def test_it_may_be_closed_before_it_has_its_widgets(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=SMALL) as pilot:
        await settled(app, pilot)
        app.push_screen(Palette(app.screen, []))
        app.pop_screen()
        await pilot.press("f8")
        await until(lambda: isinstance(app.screen, FindScreen))


async def test_a_command_is_chosen_also_while_there_is_no_room_for_it(tmp_path: Path) -> None:
    ran: list[str] = []
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=SMALL) as pilot:
        await settled(app, pilot)
        app.push_screen(Palette(app.screen, [SimpleCommand("One", lambda: ran.append("one"))]))
        await until(lambda: isinstance(app.screen, Palette) and "One" in screen_text(app))
        shown = app.screen.query_one(CommandList)
        # As before the rows of a search are laid out.
        shown.styles.width = shown.styles.min_width = 0
        await until(lambda: not shown.scrollable_content_region)
        await pilot.press("down", "enter")
        await until(lambda: ran == ["one"])
