from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.content import Content
from textual.pilot import Pilot

from tests.tui.app_host import opened, settled, shown
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.tree_host import cursor
from tests.waiting import until
from ua_tui.core.events.types import ObserverFinished, ObserverStarted
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.terminal.output_filter import ControlFilter

PANES = ("conversation", "trace", "observers", "workspace")
WIDE, STACKED, MEDIUM, NARROW = (200, 50), (120, 40), (120, 33), (80, 24)


def visible(app: UaTuiApp) -> set[str]:
    names = {*PANES, "preview", "prompt"}
    return {name for name in names if app.frame.query_one(f"#{name}").region.area > 0}


def focused(app: UaTuiApp) -> str:
    assert app.focused is not None
    return next(node.id for node in app.focused.ancestors_with_self if node.id)


async def press_alt(app: UaTuiApp, pilot: Pilot[str], number: int) -> None:
    # As a terminal's Escape and digit reach the application: with the digit as the character.
    app.post_message(events.Key(f"alt+{number}", str(number)))
    await pilot.pause()


async def test_each_size_has_its_layout_and_a_new_size_keeps_what_was_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, WIDE) as (_, app, pilot):

        async def resize(size: tuple[int, int]) -> set[str]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            return visible(app)

        everything = {*PANES, "preview", "prompt"}
        assert visible(app) == everything
        regions = {name: app.frame.query_one(f"#{name}").region for name in everything}
        assert regions["workspace"].right <= regions["conversation"].x
        assert regions["conversation"].right <= regions["trace"].x
        assert regions["preview"].y >= regions["workspace"].bottom
        assert regions["observers"].y >= regions["trace"].bottom
        assert regions["prompt"].y >= regions["conversation"].bottom
        await pilot.press("f4")
        assert await resize(NARROW) == {"observers"}
        assert focused(app) == "observers"
        assert await resize(MEDIUM) == {"conversation", "prompt", "observers"}
        app.frame.query_one("#conversation").border_subtitle = Content("17 new ↓")
        await resize((MEDIUM[0] + 2, MEDIUM[1]))
        await until(lambda: app.frame.size.width == MEDIUM[0] + 2)
        assert "17 new ↓" in screen_text(app)
        assert await resize(STACKED) == everything - {"preview"}
        assert focused(app) == "observers"
        await resize(MEDIUM)
        await press_alt(app, pilot, 4)
        assert visible(app) == {"conversation", "prompt", "workspace", "preview"}
        assert app.frame.query_one("#workspace").region.x >= app.frame.query_one("#conversation").region.right
        await resize((1, 1))
        assert await resize(WIDE) == everything
        for theme in ("ua-light", "ua-ansi", "ansi-dark", "textual-light"):
            app.theme = theme
            await pilot.pause()
            assert visible(app) == everything
            for name in everything:
                assert app.frame.query_one(f"#{name}").styles.border.top[0] == "round"


@pytest.mark.parametrize(("size", "first"), [
    (WIDE, {*PANES, "preview"}), (STACKED, {*PANES}), (MEDIUM, {"conversation", "trace"}), (NARROW, {"conversation"}),
])  # fmt: skip
async def test_the_same_keys_work_at_any_size(tmp_path: Path, size: tuple[int, int], first: set[str]) -> None:
    async with opened(tmp_path, size) as (_, app, pilot):
        assert visible(app) == {*first, "prompt"}
        await pilot.press("1", "z", "question_mark")
        assert app.frame.prompt.text == "1z?", "in the prompt they are text"
        app.frame.prompt.put("")
        rounds = ["trace", "observers", "workspace", "preview", "conversation", "prompt"]
        if size in (STACKED, NARROW):
            rounds.remove("preview")
        for name in (*rounds, *rounds[:2]):
            await pilot.press("tab")
            assert focused(app) == name
        await pilot.press("shift+tab")
        assert focused(app) == rounds[0]
        for number, name in enumerate(PANES, start=1):
            await press_alt(app, pilot, number)
            assert (focused(app), name in visible(app)) == (name, True)
            assert size != NARROW or visible(app) <= {name, "prompt"}
            await pilot.press("escape")
            assert focused(app) == "prompt"
            await pilot.press("escape")
            assert focused(app) == "conversation"
        for number, name in enumerate(PANES, start=1):
            await pilot.press(f"f{number + 1}")
            assert focused(app) == name
        for number, name in enumerate(PANES, start=1):
            await pilot.press(str(number))
            assert focused(app) == name
        assert app.frame.prompt.text == ""


async def test_a_pane_is_maximised_says_so_and_shrinks_back(tmp_path: Path) -> None:
    async with opened(tmp_path, MEDIUM) as (_, app, pilot):
        before = visible(app)
        await pilot.press("f3", "z")
        await pilot.pause()
        assert visible(app) == {"trace"}
        assert app.frame.query_one("#trace").region.width == MEDIUM[0]
        await pilot.press("2", "1")
        await pilot.pause()
        assert visible(app) == {"conversation", "prompt"}
        await pilot.press("escape")
        await pilot.pause()
        assert visible(app) == before
        for key in ("f2", "f3", "f4", "f5"):
            await pilot.press(key)
            assert "maximised" not in screen_text(app)
            await pilot.press("z")
            await until(lambda: "maximised · z back" in screen_text(app))
            await pilot.press("z")
            await until(lambda: "maximised" not in screen_text(app))


async def test_a_narrow_screen_has_tabs_to_click_and_no_room_to_maximise(tmp_path: Path) -> None:
    async with opened(tmp_path, NARROW) as (_, app, pilot):
        filters = app.get_line_filters()
        assert any(isinstance(each, ControlFilter) for each in filters), "the terminal is guarded"
        assert (app.status.region.height, app.status.region.bottom) == (1, 24)
        await pilot.click("#talk PaneTabs", offset=(21, 0))
        assert visible(app) == {"trace"}
        await pilot.click("#machinery PaneTabs", offset=(50, 0))
        assert visible(app) == {"workspace"}
        await pilot.press("f3", "z")
        await pilot.pause()
        assert not app.frame.maximised
        (reported,) = [note.message for note in app._notifications]
        assert "100 columns" in reported


async def test_clicks_focus_the_prompt_and_press_keys(tmp_path: Path) -> None:
    async with opened(tmp_path, MEDIUM) as (session, app, pilot):
        await pilot.press("f3")
        await pilot.click("#conversation", offset=(30, 25))
        assert focused(app) == "prompt"
        await pilot.press("x", "enter")
        session.finish()
        await shown(app, pilot)
        await pilot.click("#conversation", offset=(8, 1))
        assert focused(app) == "conversation"
        await pilot.click("#conversation", offset=(30, 25))
        assert focused(app) == "prompt"
        line = str(app.status.render())
        await pilot.click(app.status, offset=(1 + line.index("F1 keys") + 2, 0))
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await pilot.click(app.status, offset=(1 + line.index("F1 keys") - 1, 0))
        assert len(app.screen_stack) == 1
        await pilot.click(app.status, offset=(1 + line.index("^Q quit"), 0))
    assert session.closed == ["quit"]
    assert app.return_code == 0


async def test_enter_on_a_file_opens_it_and_enter_on_a_run_goes_to_its_file(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    (session.workspace.path / "notes.md").write_text("# Notes\n")
    app = make_app(tmp_path, session)
    async with app.run_test(size=WIDE) as pilot:
        await settled(app, pilot)
        session.bus.publish(ObserverStarted(run_id="r", observer="products", tool_use_id="t"))
        done = ObserverFinished(
            run_id="r", observer="products", tool_use_id="t", status="saved", artifacts=["notes.md"]
        )
        session.bus.publish(done)
        await shown(app, pilot)
        await pilot.press("f4", "end", "enter")
        await until(lambda: cursor(app.frame.query_one(WorkspacePane)) == "notes.md")
        assert focused(app) == "workspace"
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, ViewerScreen))


async def test_a_terminal_of_a_few_lines_shows_what_is_said_and_typed(tmp_path: Path) -> None:
    async with opened(tmp_path, (20, 5)) as (_, app, pilot):
        await pilot.press(*"asked", "enter")
        await shown(app, pilot)
        await pilot.press(*"typed")
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert lines[3].strip() == "typed"
        assert any("asked" in line for line in lines[1:3])
        await press_alt(app, pilot, 4)
        assert len([line for line in screen_text(app).splitlines() if "──" in line]) == 0
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "╭─ Workspace" in screen_text(app)
