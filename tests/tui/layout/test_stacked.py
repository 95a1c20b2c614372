"""Four panes from 100 columns and 34 lines: three of them one above the other beside the conversation."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from textual.geometry import Size

from tests.tui.app_host import opened, settled, shown
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.layout.test_sizes import drag, press, region
from tests.tui.layout.test_workspace_frame import playing
from tests.tui.pane_host import handle_events
from ua_tui.core.events.types import QueryReceived
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.layout.frame import shape_of
from ua_tui.tui.layout.store import LAYOUT_FILE, LEAST_LINES, LEAST_SIDE, LEAST_TALK, LayoutStore, Proportions
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.trace.pane import TracePane

LEAST, USUAL, LOW = (100, 34), (120, 40), (120, 33)
STACK = ("trace", "observers", "workspace")


def focused(app: UaTuiApp) -> str:
    assert app.focused is not None
    return next(node.id for node in app.focused.ancestors_with_self if node.id)


def visible(app: UaTuiApp) -> set[str]:
    return {name for name in (*STACK, "conversation", "prompt", "preview") if region(app, name).area}


def text_in(app: UaTuiApp, name: str) -> str:
    """The words inside of the border of a pane."""
    x, y, width, height = region(app, name).shrink((1, 1, 1, 1))
    lines = screen_text(app).splitlines()[y : y + height]
    return " ".join(" ".join(line[x : x + width] for line in lines).split())


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ((60, 16), "narrow"), ((80, 24), "narrow"), ((99, 60), "narrow"), ((100, 33), "medium"),
        ((139, 33), "medium"), (LEAST, "stacked"), (USUAL, "stacked"), ((139, 34), "stacked"),
        ((140, 34), "wide"), ((200, 30), "wide"), ((200, 50), "wide"),
    ],
)  # fmt: skip
def test_a_size_has_a_shape(size: tuple[int, int], shape: str) -> None:
    assert shape_of(Size(*size)) == shape


@pytest.mark.parametrize("size", [LEAST, USUAL, (139, 34), (110, 70)])
async def test_four_panes_share_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(tmp_path, size) as (_, app, pilot):

        def check(lines: int) -> None:
            assert visible(app) == {*STACK, "conversation", "prompt"}
            talk, regions = region(app, "conversation"), [region(app, name) for name in STACK]
            assert not [tabs for tabs in app.frame.query("PaneTabs") if tabs.display]
            assert talk.width >= 57
            assert {(each.x, each.right) for each in regions} == {(talk.right, size[0])}
            assert [each.y for each in regions] == [
                app.frame.region.y,
                *(each.bottom for each in regions[:2]),
            ]
            assert regions[-1].bottom == region(app, "prompt").bottom == app.frame.region.bottom
            heights = [each.height for each in regions]
            assert sum(heights) == lines
            assert heights[0] == pytest.approx(lines / 2, abs=1)
            assert heights[1] == pytest.approx(lines / 4, abs=1)
            assert min(heights) >= LEAST_LINES

        check(size[1] - 1)
        app.frame.styles.margin = (3, 0, 0, 0)
        await pilot.pause()
        check(size[1] - 4)


async def test_each_empty_pane_says_what_will_be_there_where_it_is_smallest(tmp_path: Path) -> None:
    async with opened(tmp_path, LEAST) as (_, app, pilot):
        await press(pilot, "f4", *["-"] * 9)
        assert region(app, "observers").height == LEAST_LINES
        assert text_in(app, "observers") == "What is saved from each tool result appears here."
        await press(pilot, "0", "f3", *["-"] * 9)
        assert region(app, "trace").height == LEAST_LINES
        assert (
            text_in(app, "trace") == "Every tool call appears here as it happens, with its result and time."
        )


async def test_the_borders_of_the_stack_are_dragged_and_moved_with_keys(tmp_path: Path) -> None:
    async with opened(tmp_path, USUAL) as (_, app, pilot):
        standard = {name: region(app, name) for name in ("talk", *STACK)}
        for upper, lower in (("trace", "observers"), ("observers", "workspace")):
            above, below = region(app, upper), region(app, lower)
            await drag(app, pilot, (above.x + 9, below.y), (0, -2))
            assert (region(app, upper).height, region(app, lower).height) == (
                above.height - 2,
                below.height + 2,
            )
            await drag(app, pilot, (above.x + 9, region(app, upper).bottom - 1), (0, 3))
            assert (region(app, upper).height, region(app, lower).height) == (
                above.height + 1,
                below.height - 1,
            )
        await drag(app, pilot, (standard["talk"].right, 9), (-5, 1))
        assert region(app, "talk").width == standard["talk"].width - 5
        await press(pilot, "f4", "0")
        assert {name: region(app, name) for name in standard} == standard
        for key, pane, other in (
            ("f3", "trace", "observers"),
            ("f4", "observers", "workspace"),
            ("f5", "workspace", "observers"),
        ):
            await press(pilot, key, "+")
            assert region(app, pane).height == standard[pane].height + 2
            assert region(app, other).height == standard[other].height - 2
            await press(pilot, "-", ">", "<", "<")
            assert region(app, pane).height == standard[pane].height
            assert region(app, pane).width == standard[pane].width - 4
            await press(pilot, "0")
        await press(pilot, "f2", ">")
        assert region(app, "talk").width == standard["talk"].width + 4


@pytest.mark.parametrize("size", [LEAST, (139, 60)])
async def test_no_pane_of_the_stack_is_dragged_below_what_can_be_read(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with opened(tmp_path, size) as (_, app, pilot):
        for way in (300, -300):
            await drag(app, pilot, (region(app, "talk").right, 8), (way, 0))
            assert region(app, "talk").width >= LEAST_TALK
            assert region(app, "trace").width >= LEAST_SIDE
            for upper in ("trace", "observers", "trace"):
                at = region(app, upper)
                await drag(app, pilot, (at.x + 5, at.bottom), (0, way))
                heights = [region(app, name).height for name in STACK]
                assert min(heights) >= LEAST_LINES
                assert sum(heights) == size[1] - 1


async def test_the_heights_of_the_stack_are_its_own_and_remembered(tmp_path: Path) -> None:
    async with opened(tmp_path, (200, 50)) as (_, app, pilot):
        wide = {name: region(app, name) for name in STACK}
        await pilot.resize_terminal(*USUAL)
        await press(pilot, "f3", "+", "+", "f5", "+", ">")
        chosen = {name: region(app, name) for name in STACK}
        await pilot.resize_terminal(200, 50)
        await pilot.pause()
        assert {name: region(app, name) for name in STACK} == wide
    file = tmp_path / "state" / LAYOUT_FILE
    assert set(msgspec.json.decode(file.read_bytes())["sizes"]) == {"side", "stacked"}
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=USUAL) as pilot:
        await settled(app, pilot)
        assert {name: region(app, name) for name in STACK} == chosen


@pytest.mark.parametrize(
    "sizes",
    [
        {"trace": 0.9, "side": 0.5},
        {"stacked": {"trace": 0.99, "observers": 0.99}},
        {"stacked": {"attic": 0.5}},
    ],
)
async def test_stored_sizes_of_other_programs_and_screens_leave_every_pane_legible(
    tmp_path: Path, sizes: dict[str, object]
) -> None:
    file = tmp_path / "state" / LAYOUT_FILE
    file.parent.mkdir()
    file.write_bytes(msgspec.json.encode({"format": 1, "sizes": sizes}))
    async with opened(tmp_path, LEAST) as (_, app, _pilot):
        assert app.frame.splits.sizes != Proportions()
        assert min(region(app, name).height for name in STACK) >= LEAST_LINES
    assert LayoutStore(file.parent).problem == ""


def test_a_stored_height_that_is_no_share_is_refused(tmp_path: Path) -> None:
    (tmp_path / LAYOUT_FILE).write_bytes(b'{"format": 1, "sizes": {"stacked": {"trace": 7}}}')
    store = LayoutStore(tmp_path)
    store.read()
    assert "trace is 7" in store.problem


async def test_a_pane_of_the_stack_is_maximised_and_the_workspace_with_its_preview(tmp_path: Path) -> None:
    async with opened(tmp_path, USUAL) as (_, app, pilot):
        before = {name: region(app, name) for name in visible(app)}
        for key, alone in (("f3", {"trace"}), ("f4", {"observers"}), ("f5", {"workspace", "preview"})):
            await press(pilot, key, "z")
            assert visible(app) == alone
            assert {(region(app, name).x, region(app, name).width) for name in alone} == {(0, 120)}
            await press(pilot, "z")
            assert {name: region(app, name) for name in visible(app)} == before


SHAPES = ((120, 40), (100, 30), (160, 50), (80, 24), (100, 34), (200, 30), (120, 40))


@pytest.mark.parametrize("key", ["f2", "f3", "f4", "f5", "i"])
async def test_the_focus_stays_where_it_is_through_every_shape(tmp_path: Path, key: str) -> None:
    async with opened(tmp_path, USUAL) as (_, app, pilot):
        await press(pilot, "f5", key)
        before = focused(app)
        for size in SHAPES:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert focused(app) == before
            assert before in visible(app)


async def test_the_focus_of_a_preview_that_has_no_place_goes_to_its_workspace(tmp_path: Path) -> None:
    for size in (USUAL, (80, 24), (120, 28)):
        async with opened(tmp_path, (160, 50)) as (_, app, pilot):
            app.frame.show("preview")
            assert focused(app) == "preview"
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert focused(app) == "workspace"
            assert "workspace" in visible(app)


async def test_the_place_of_reading_stays_through_every_shape(tmp_path: Path) -> None:
    async with opened(tmp_path, USUAL) as (_, app, pilot):
        conversation = app.frame.query_one(ConversationPane)
        text = "\n\n".join(f"paragraph {number} " + "of a long story " * 12 for number in range(60))
        handle_events(conversation, [QueryReceived(query_id="q1", text=text)])
        await pilot.pause()
        await press(pilot, "f2", *["pageup"] * 4)
        for size in SHAPES:
            before = top(app)
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert top(app) == before


def top(app: UaTuiApp) -> str:
    """The first paragraph that is in sight."""
    words = screen_text(app).split()
    return words[words.index("paragraph") + 1]


async def test_the_cursor_of_the_trace_stays_in_sight_through_every_shape(tmp_path: Path) -> None:
    async with playing(tmp_path, USUAL) as (app, _session, _pane, pilot):
        trace = app.frame.query_one(TracePane)
        trace.reveal("toolu_1")
        await press(pilot, "f3")
        for size in SHAPES:
            await pilot.resize_terminal(*size)
            await shown(app, pilot)
            assert trace.cursor is not None
            assert trace.cursor.key == "toolu_1"
            assert trace.cursor in trace.visible_entries
