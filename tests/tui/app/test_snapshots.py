from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.pictured import every_look, every_size
from tests.tui.played import QUERY, fixed_bus, lay_files, played_events
from tests.tui.tree_host import rows
from tui.app.app import UaTuiApp
from tui.panes.workspace.pane import WorkspacePane
from tui.panes.workspace.preview import PreviewPane

pytestmark = pytest.mark.usefixtures("still")

NEWEST = "ai-chip-news.html"
Before = Callable[[Pilot[str]], Awaitable[None]]


def played_app(tmp_path: Path, theme: str | None = None) -> UaTuiApp:
    session: FakeSession = make_session(tmp_path, demo=True, bus=fixed_bus())
    session.script = [event for event in played_events() if event.event_name != "query_received"]
    lay_files(session.workspace.path)
    app = make_app(tmp_path, session, demo=True, model="claude-sonnet-5", theme=theme)
    app.session_under_test = session  # type: ignore[attr-defined]  # for the steps below
    return app


def steps(*keys: str) -> Before:
    """Play the session to its end, then press these keys."""

    async def before(pilot: Pilot[str]) -> None:
        app = pilot.app
        prompt = app.query_one("#prompt")
        prompt.cursor_blink = False  # type: ignore[attr-defined]  # a TextArea
        session: FakeSession = app.session_under_test  # type: ignore[attr-defined]
        for _ in range(100):
            await pilot.pause(0.05)
            if session.state == "idle":
                break
        session.submit(QUERY)
        session.state = "idle"
        for _ in range(100):
            await pilot.pause(0.05)
            files = app.query_one("#workspace", WorkspacePane)
            if "work_products" in rows(files):
                break
        preview = app.query_one("#preview", PreviewPane)
        for _ in range(100):
            # The newest artifact is known, and read if there is room for it.
            newest = files.tree_view.first_choice or ""
            if newest.endswith(NEWEST) and (
                preview.size.height == 0
                or (preview.document is not None and preview.path is not None and preview.path.name == NEWEST)
            ):
                break
            await pilot.pause(0.05)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.1)
        await pilot.pause(0.4)

    return before


@every_look
def test_a_finished_session(
    snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    assert snap_compare(played_app(tmp_path, theme), terminal_size=size, run_before=steps())


@pytest.mark.parametrize("pane", ["2", "3", "4"])
def test_each_pane_of_a_narrow_terminal(snap_compare: Callable[..., bool], tmp_path: Path, pane: str) -> None:
    assert snap_compare(played_app(tmp_path), terminal_size=(80, 24), run_before=steps(f"alt+{pane}"))


@every_size
def test_the_numbers_of_the_observers(
    snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int]
) -> None:
    assert snap_compare(played_app(tmp_path), terminal_size=size, run_before=steps("f4", "m"))
