"""Sizes of the panes: dragged, moved with keys, kept within bounds, and remembered."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.geometry import Offset, Region, Size
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from tests.tui.pane_host import handle_events
from tests.tui.tree_host import rows
from tests.waiting import PATIENCE, run_ready, until
from ua_tui.core.events.types import QueryReceived
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.layout.store import (
    LAYOUT_FILE,
    LEAST_FILES,
    LEAST_LINES,
    LEAST_MACHINERY,
    LEAST_SIDE,
    LEAST_TALK,
    Layout,
    LayoutStore,
    Proportions,
    columns,
)
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.workspace.pane import WorkspacePane

WIDE, MEDIUM, NARROW = (200, 50), (120, 33), (80, 24)


def region(app: UaTuiApp, name: str) -> Region:
    return app.frame.query_one(f"#{name}").region


def mouse(app: UaTuiApp, kind: type[events.MouseEvent], at: Offset, button: int = 1) -> None:
    x, y = at
    app.post_message(kind(None, x, y, 0, 0, button, False, False, False, x, y))


async def drag(app: UaTuiApp, pilot: Pilot[str], start: tuple[int, int], *way: tuple[int, int]) -> None:
    at = Offset(*start)
    mouse(app, events.MouseDown, at)
    for step in way:
        at += Offset(*step)
        mouse(app, events.MouseMove, at)
    mouse(app, events.MouseUp, at)
    await pilot.pause()
    await pilot.pause()


async def press(pilot: Pilot[str], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


@asynccontextmanager
async def opened(tmp_path: Path, size: tuple[int, int] = WIDE) -> AsyncIterator[tuple[UaTuiApp, Pilot[str]]]:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        yield app, pilot


@pytest.mark.parametrize("edge", [0, 1])
async def test_the_columns_of_a_wide_screen_are_dragged(tmp_path: Path, edge: int) -> None:
    async with opened(tmp_path) as (app, pilot):
        files, talk, machinery = region(app, "files"), region(app, "talk"), region(app, "machinery")
        await drag(app, pilot, (files.right - 1 + edge, 10), (3, 2), (4, -1))
        assert region(app, "files").width == files.width + 7
        assert region(app, "talk").width == talk.width - 7
        assert region(app, "machinery").width == machinery.width
        await drag(app, pilot, (machinery.x - 1 + edge, 20), (-5, 0))
        assert region(app, "machinery").width == machinery.width + 5
        assert region(app, "files").width == files.width + 7
        assert app.focused is app.frame.prompt
        # A click on a border focuses the pane it belongs to.
        await drag(app, pilot, (region(app, "machinery").x, 5))
        assert app.focused is app.frame.query_one("#trace")


async def test_the_column_of_a_medium_screen_keeps_its_width_for_every_pane(tmp_path: Path) -> None:
    async with opened(tmp_path, MEDIUM) as (app, pilot):
        before = region(app, "machinery")
        await drag(app, pilot, (before.x, 5), (6, 0))
        assert region(app, "trace").width == before.width - 6
        await press(pilot, "f5")
        assert region(app, "workspace").width == before.width - 6


async def test_the_panes_of_a_column_are_dragged(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        for upper, lower in (("trace", "observers"), ("workspace", "preview")):
            above, below = region(app, upper), region(app, lower)
            await drag(app, pilot, (above.x + 9, below.y), (0, -4))
            assert region(app, upper).height == above.height - 4
            assert region(app, lower).height == below.height + 4
            await drag(app, pilot, (above.x + 9, region(app, upper).bottom - 1), (0, 6))
            assert region(app, upper).height == above.height + 2


async def test_a_border_that_moves_has_all_laid_out_and_painted_once_and_the_other_column_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A sweep for changed files would paint the other column, too.
    monkeypatch.setattr("ua_tui.tui.panes.workspace.tree.SWEEP_SECONDS", 3_600.0)
    session = make_session(tmp_path)
    (session.workspace.path / "notes.md").touch()
    app = make_app(tmp_path, session)
    async with app.run_test(size=WIDE) as pilot:
        await settled(app, pilot)
        # The other column is painted once its files are known; an event of the session has it look for them again.
        await until(lambda: "notes.md" in rows(app.frame.query_one("#workspace", WorkspacePane)))
        conversation, machinery = app.frame.query_one(ConversationPane), region(app, "machinery")
        text = "\n".join(f"line {number} of many" for number in range(200))
        handle_events(conversation, [QueryReceived(query_id="q1", text=text)])
        await pilot.pause()
        assert conversation.show_vertical_scrollbar
        layouts: list[object] = []
        painted: list[str] = []
        lay_out = app.screen._compositor.reflow

        def reflow(parent: Widget, size: Size) -> object:
            layouts.append(size)
            return lay_out(parent, size)

        monkeypatch.setattr(app.screen._compositor, "reflow", reflow)
        for name in ("conversation", "workspace", "preview"):
            pane = app.frame.query_one(f"#{name}")

            def line(y: int, name: str = name, draw: Callable[[int], Strip] = pane.render_line) -> Strip:
                painted.append(name)
                return draw(y)

            monkeypatch.setattr(pane, "render_line", line)
        # What was still to be painted is painted first.
        painted.append("")
        while painted:
            painted.clear()
            layouts.clear()
            await pilot.pause()
            await run_ready()
        await drag(app, pilot, (machinery.x, 20), (-3, 0))
        assert region(app, "machinery").width == machinery.width + 3
        assert len(layouts) == 1
        assert painted == ["conversation"] * conversation.size.height
        assert "line 199 of many" in "".join(strip.text for strip in app.screen._compositor.render_strips())


async def test_what_is_below_the_pointer_gets_nothing_of_a_drag(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        clicks: list[object] = []
        app.frame.query_one("#conversation").on_click = clicks.append  # type: ignore[attr-defined]
        border = region(app, "talk").x
        # So far that the border stays behind, and back into the pane where it began.
        await drag(app, pilot, (border, 10), (-60, 0), (90, 0))
        assert clicks == []
        assert app.screen.get_selected_text() is None
        mouse(app, events.MouseMove, Offset(100, 20))
        await pilot.pause()
        width = region(app, "files").width
        mouse(app, events.MouseMove, Offset(120, 20))
        await pilot.pause()
        assert region(app, "files").width == width


async def test_a_button_let_go_outside_the_right_button_and_one_pane_alone_move_no_border(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (app, pilot):
        before = region(app, "files").width
        mouse(app, events.MouseDown, Offset(before, 10))
        mouse(app, events.MouseMove, Offset(before + 4, 10))
        await pilot.pause()
        mouse(app, events.MouseMove, Offset(before + 30, 10), button=0)
        await pilot.pause()
        assert region(app, "files").width == before + 4
        for kind, x in ((events.MouseDown, before + 3), (events.MouseMove, 60), (events.MouseUp, 60)):
            mouse(app, kind, Offset(x, 5), button=3)
        await pilot.pause()
        assert region(app, "files").width == before + 4
        await press(pilot, "f2", "z")
        await drag(app, pilot, (0, 5), (20, 0))
        assert region(app, "talk").width == 200


@pytest.mark.parametrize("size", [(140, 24), (100, 31)])
async def test_no_pane_is_dragged_below_what_can_be_read(tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(tmp_path, size) as (app, pilot):
        await press(pilot, "f5")
        wide = app.frame.mode == "wide"
        for way in (300, -300):
            for border in ("files", "machinery") if wide else ("talk",):
                x = region(app, border).x if border == "machinery" else region(app, border).right
                await drag(app, pilot, (x, 8), (way, 0))
                assert region(app, "talk").width >= LEAST_TALK
                assert region(app, "files").width >= (LEAST_FILES if wide else LEAST_SIDE)
                assert not wide or region(app, "machinery").width >= LEAST_MACHINERY
                assert region(app, "talk").width + region(app, "files").width <= size[0]
            at = region(app, "workspace")
            await drag(app, pilot, (at.x + 5, at.bottom), (0, way))
            assert min(region(app, "workspace").height, region(app, "preview").height) >= LEAST_LINES


async def test_keys_make_the_pane_one_is_in_wider_and_higher_and_all_as_they_were(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        names = ("files", "talk", "machinery", "trace", "observers", "workspace", "preview")
        standard = {name: region(app, name) for name in names}
        for key, column, other in (
            ("f5", "files", "talk"),
            ("f2", "talk", "machinery"),
            ("f3", "machinery", "talk"),
        ):
            await press(pilot, key, ">")
            assert region(app, column).width == standard[column].width + 4
            assert region(app, other).width == standard[other].width - 4
            await press(pilot, "<", "<")
            assert region(app, column).width == standard[column].width - 4
            await press(pilot, "0")
            assert {name: region(app, name) for name in names} == standard
        for pane, key, other in (("trace", "f3", "observers"), ("observers", "f4", "trace")):
            await press(pilot, key, "+")
            assert region(app, pane).height == standard[pane].height + 2
            assert region(app, other).height == standard[other].height - 2
            await press(pilot, "=", "-", "-")
            assert region(app, pane).height == standard[pane].height
        await press(pilot, "f5", "tab", "+")
        assert region(app, "preview").height == standard["preview"].height + 2


async def test_keys_for_sizes_are_typed_in_the_prompt_and_reported_where_there_is_no_border(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is said once, however long the keys take on a busy machine.
    monkeypatch.setattr("ua_tui.tui.layout.frame.NOTE_SECONDS", PATIENCE)
    async with opened(tmp_path, MEDIUM) as (app, pilot):
        before = region(app, "talk")
        await press(pilot, *"<>+-=0")
        assert app.frame.prompt.text == "<>+-=0"
        assert region(app, "talk") == before
        await press(pilot, "f2", "+", "-", "+")
        assert [note.message for note in app._notifications] == ["This pane has no border to move."]
        await press(pilot, "f2", ">")
        assert region(app, "talk").width == before.width + 4


async def test_shares_hold_at_every_size(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        files = region(app, "files")
        await drag(app, pilot, (files.right, 9), (16, 0))
        await drag(app, pilot, (region(app, "machinery").x + 5, region(app, "observers").y), (0, -5))
        assert region(app, "files").width == 60
        share = region(app, "trace").height / 49
        await pilot.resize_terminal(160, 80)
        await pilot.pause()
        assert region(app, "files").width == 48
        assert region(app, "trace").height == round(79 * share)
        await pilot.resize_terminal(*NARROW)
        await pilot.pause()
        assert region(app, "talk").width == 80
        await pilot.resize_terminal(*WIDE)
        await pilot.pause()
        assert region(app, "files").width == 60


async def test_sizes_are_remembered(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        await press(pilot, "f3", ">", ">", "+")
        chosen = region(app, "trace")
    assert (tmp_path / "state" / LAYOUT_FILE).stat().st_mode & 0o777 == 0o600
    async with opened(tmp_path) as (again, pilot):
        assert region(again, "trace") == chosen
        await press(pilot, "f3", "0")
        await until(lambda: LayoutStore(tmp_path / "state").read().sizes == Proportions())
        assert region(again, "trace") != chosen


@pytest.mark.parametrize(("key", "pane"), [("f5", "workspace"), ("f4", "observers")])
async def test_the_pane_at_the_side_of_a_medium_screen_is_remembered(
    tmp_path: Path, key: str, pane: str
) -> None:
    async with opened(tmp_path, MEDIUM) as (app, pilot):
        assert app.frame.shows("trace")
        await press(pilot, key, ">", "0", "f2")
    async with opened(tmp_path, MEDIUM) as (again, pilot):
        assert again.frame.shows(pane)
        assert not again.frame.shows("trace")
        assert again.focused is again.frame.prompt
        tabs = again.frame.query_one("#machinery PaneTabs" if pane == "observers" else "#files PaneTabs")
        await pilot.click(tabs, offset=(4, 0))
        assert again.frame.shows("trace")
    assert LayoutStore(tmp_path / "state").read() == Layout()


async def test_a_pane_that_is_only_looked_at_is_none_chosen_for_the_side(tmp_path: Path) -> None:
    for size in (WIDE, NARROW):
        async with opened(tmp_path, size) as (_app, pilot):
            await press(pilot, "f5", "f4")
    assert not (tmp_path / "state" / LAYOUT_FILE).exists()


@pytest.mark.parametrize(
    "content",
    [
        b"{oops", b'{"window": [1, 2]}', b'{"format": 2, "sizes": {}}', b'{"format": 1, "sizes": {"files": 7}}',
        b'{"format": 1, "sizes": {"files": "wide"}}', b'{"format": 1, "sizes": {}, "side": "cellar"}',
        b'{"format": 1, "sizes": {"cellar": 0.5}}', bytes(range(256)),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_gives_the_standard_sizes_and_says_why(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / LAYOUT_FILE).write_bytes(content)
    store = LayoutStore(tmp_path)
    assert store.read() == Layout()
    assert "cannot be used: " in store.problem


async def test_a_file_that_cannot_be_used_is_reported_and_left_until_a_size_is_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "state" / LAYOUT_FILE
    file.parent.mkdir()
    file.write_bytes(b"{oops")
    async with opened(tmp_path) as (app, pilot):
        (note,) = app._notifications
        assert f"{file}" in note.message
        assert "cannot be used" in note.message
        assert "The standard sizes are shown" in caplog.text
        assert region(app, "files").width == columns("wide", 200, Proportions())["files"]
        await pilot.resize_terminal(*MEDIUM)
        await press(pilot, "f5")
        await app.frame.splits.store()
        assert file.read_bytes() == b"{oops"
        await pilot.resize_terminal(*WIDE)
        await press(pilot, "f3", ">")
    assert LayoutStore(file.parent).read().sizes.machinery is not None


async def test_a_pipe_in_the_place_of_the_file_holds_nothing_up(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    os.mkfifo(state / LAYOUT_FILE)
    async with opened(tmp_path) as (app, pilot):
        assert region(app, "files").width == columns("wide", 200, Proportions())["files"]
        await press(pilot, "f3", ">")
        await until(lambda: any("cannot be saved" in note.message for note in app._notifications))


@pytest.mark.parametrize(("mode", "widths"), [("wide", range(140, 400)), ("medium", range(100, 140))])
def test_every_width_has_room_for_every_column_whatever_is_wanted(mode: str, widths: range) -> None:
    for width in widths:
        for share in (None, 0.01, 0.3, 0.6, 0.99):
            wanted = Proportions(files=share, machinery=share, side=share)
            cells = columns(mode, width, wanted)
            used = sum(cells.values()) if mode == "wide" else cells["files"]
            assert width - used >= LEAST_TALK
            assert cells["files"] >= LEAST_FILES
            assert cells["machinery"] >= min(LEAST_MACHINERY, LEAST_SIDE)
