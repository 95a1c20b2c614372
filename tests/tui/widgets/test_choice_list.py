"""The cursor of every list is seen without colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tests.tui.app_host import opened
from tests.waiting import until
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.widgets.choice_list import ChoiceList


class ListHost(BaseApp):
    def __init__(self, theme: str) -> None:
        super().__init__(Settings(theme=theme))
        self.chosen: list[int] = []

    def compose(self) -> ComposeResult:
        words = ("first", "a second one that is too long for one line of this screen", "third")
        yield ChoiceList(*(Option(each) for each in words))

    def on_mount(self) -> None:
        self.read_other_styles()
        self.query_one(ChoiceList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.chosen.append(event.option_index)


def lines(app: App[Any], shows: Callable[[Any], bool]) -> list[int]:
    """The lines of the list of the screen that are drawn so, every segment of them."""
    found = app.screen.query_one(OptionList)
    return [
        y
        for y in range(found.size.height)
        if all(segment.style is not None and shows(segment.style) for segment in found.render_line(y))
    ]


def turned(style: Any) -> bool:
    return bool(style.reverse)


@pytest.mark.parametrize(("theme", "no_color"), [("ansi", False), ("ansi", True), ("dark", True)])
async def test_all_lines_of_the_chosen_row_are_reversed(
    monkeypatch: pytest.MonkeyPatch, theme: str, no_color: bool
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    app = ListHost(theme)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("home")
        assert lines(app, turned) == [0]
        await pilot.press("down")
        assert lines(app, turned) == [1, 2]
        await pilot.click(ChoiceList, offset=(2, 2))
        assert app.chosen == [1]
        await pilot.press("end")
        assert lines(app, turned) == [3]
        app.screen.set_focus(None)
        await pilot.pause()
        assert lines(app, turned) == []


async def test_in_colours_it_is_lit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    app = ListHost("dark")
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("end")
        assert lines(app, turned) == []
        row = app.screen.query_one(OptionList).render_line(3)
        (ground,) = {segment.style.bgcolor for segment in row if segment.style is not None}
        assert lines(app, lambda style: style.bgcolor == ground) == [3]


@pytest.mark.parametrize(("theme", "no_color", "seen"), [
    ("ansi", False, lambda style: style.bgcolor is not None and not style.bgcolor.is_default),
    ("ansi", True, lambda style: bool(style.underline)),
    ("dark", True, lambda style: bool(style.underline)),
])  # fmt: skip
async def test_so_is_that_of_the_palette(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theme: str, no_color: bool, seen: Callable[[Any], bool]
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    async with opened(tmp_path, (80, 24), theme=theme) as (_, app, pilot):
        await pilot.press("ctrl+p", *"connections")
        await until(lambda: len(app.screen.query(OptionList)) == 1)
        await until(lambda: app.screen.query_one(OptionList).highlighted == 0)
        await pilot.pause()
        assert lines(app, seen) == [0]


async def test_a_page_is_no_step_where_there_is_no_room_for_a_line() -> None:
    app = ListHost("dark")
    async with app.run_test(size=(40, 10)) as pilot:
        found = app.query_one(ChoiceList)
        found.styles.height = 0
        await until(lambda: not found.scrollable_content_region)
        found.clear_options().add_options(["one", "two"])
        await pilot.press("home", "pagedown", "pageup")
        assert found.highlighted == 0


@pytest.mark.parametrize("keys", [("ctrl+p", *"co"), (*"/agents", "enter")])
async def test_a_list_is_shown_where_there_is_no_room_for_a_character(
    tmp_path: Path, keys: Sequence[str]
) -> None:
    async with opened(tmp_path, (80, 20)) as (_, app, pilot):
        await pilot.press(*keys)
        await until(lambda: len(app.screen.query(OptionList)) == 1)
        await until(lambda: app.screen.query_one(OptionList).highlighted == 0)
        for width in range(10, 0, -1):
            await pilot.resize_terminal(width, 20)
            await pilot.pause()
        assert app.screen.query_one(OptionList).highlighted == 0
