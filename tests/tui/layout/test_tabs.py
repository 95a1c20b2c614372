"""The tabs of the panes: whole names at every width, and a click that takes what is seen there."""

from __future__ import annotations

from itertools import pairwise

import pytest
from textual.app import App, ComposeResult

from ua_tui.tui.layout.frame import PaneTabs
from ua_tui.tui.panes.spec import PaneSpec, side_specs, tab_specs

TABS, SIDE = tab_specs(), side_specs()
TITLES = {spec.title for spec in TABS}


class TabsHost(App[None]):
    CSS = "PaneTabs { height: 1; padding: 0 0 0 1; }"

    def __init__(self, panes: tuple[PaneSpec, ...], active: str) -> None:
        super().__init__()
        self.panes = panes
        self.active = active
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        tabs = PaneTabs(self.chosen.append)
        tabs.show(self.panes, self.active)
        yield tabs

    @property
    def line(self) -> str:
        return self.screen._compositor.render_strips()[0].text


@pytest.mark.slow
@pytest.mark.parametrize("panes", [TABS, SIDE], ids=["all", "side"])
async def test_no_name_is_cut_at_any_width_and_every_number_is_there(
    panes: tuple[PaneSpec, ...],
) -> None:
    for active in panes:
        title = active.title
        app = TabsHost(panes, active.name)
        async with app.run_test(size=(60, 3)) as pilot:
            named = len(panes)
            for width in range(60, 17, -1):
                await pilot.resize_terminal(width, 3)
                await pilot.pause()
                words = app.line.split()
                assert [word for word in words if word.isdigit()] == [str(spec.number) for spec in panes]
                names = {word for word in words if not word.isdigit()}
                assert names <= TITLES, width
                assert len(names) <= named, width
                named = len(names)
                # A digit and a blank for each, and the title of the active one.
                assert (title in names) == (width - 1 >= len(title) + 2 * len(panes)), width
    assert named <= 1


@pytest.mark.parametrize(("width", "names"), [(60, 3), (42, 3), (32, 3), (31, 1), (24, 1)])
async def test_names_stay_as_long_as_they_fit(width: int, names: int) -> None:
    app = TabsHost(SIDE, "observers")
    async with app.run_test(size=(width, 3)):
        assert sum(word in TITLES for word in app.line.split()) == names
        assert "Observers" in app.line


@pytest.mark.parametrize("width", [60, 34, 26, 20])
async def test_a_click_takes_the_tab_that_is_seen_there(width: int) -> None:
    app = TabsHost(SIDE, "trace")
    async with app.run_test(size=(width, 3)) as pilot:
        for spec in SIDE:
            await pilot.click(PaneTabs, offset=(app.line.index(str(spec.number)), 0))
            await pilot.pause()
            assert app.chosen[-1:] == [spec.name]


async def test_the_gap_between_two_tabs_belongs_to_the_first() -> None:
    app = TabsHost(SIDE, "trace")
    async with app.run_test(size=(60, 3)) as pilot:
        for spec, following in pairwise(SIDE):
            await pilot.click(PaneTabs, offset=(app.line.index(str(following.number)) - 2, 0))
            await pilot.pause()
            assert app.chosen[-1:] == [spec.name]
