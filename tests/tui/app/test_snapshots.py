"""The whole application after a session that was played once, in every look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.pictured import LOOKS, MEDIUM, SMALL, Compare, Size, looks, sizes
from tests.tui.played import QUERY, fixed_bus, lay_files, played_events
from tests.tui.tree_host import rows
from tests.waiting import until
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.panes.workspace.preview import PreviewPane

pytestmark = pytest.mark.usefixtures("still")

NEWEST = "ai-chip-news.html"


def played_app(tmp_path: Path, theme: str | None = None) -> UaTuiApp:
    session: FakeSession = make_session(tmp_path, demo=True, bus=fixed_bus())
    session.script = [event for event in played_events() if event.event_name != "query_received"]
    lay_files(session.workspace.path)
    app = make_app(tmp_path, session, demo=True, model="claude-sonnet-5", theme=theme)
    app.session_under_test = session  # type: ignore[attr-defined]  # for the steps below
    return app


def steps(*keys: str) -> Callable[[Pilot[str]], Awaitable[None]]:
    """Play the session to its end, then press these keys."""

    async def before(pilot: Pilot[str]) -> None:
        app = pilot.app
        app.query_one("#prompt").cursor_blink = False  # type: ignore[attr-defined]  # a TextArea
        session: FakeSession = app.session_under_test  # type: ignore[attr-defined]
        await until(lambda: session.state == "idle")
        await pilot.pause()
        session.submit(QUERY)
        session.state = "idle"
        await until(lambda: "work_products" in rows(app.query_one("#workspace", WorkspacePane)))
        await until(lambda: _knows_the_newest(app.query_one("#workspace", WorkspacePane)))
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await pilot.pause()

    return before


def _knows_the_newest(files: WorkspacePane) -> bool:
    """Whether the newest artifact is known, and read if there is room for it."""
    preview = files.app.query_one("#preview", PreviewPane)
    is_read = preview.document is not None and preview.path is not None and preview.path.name == NEWEST
    return (files.tree_view.first_choice or "").endswith(NEWEST) and (is_read or preview.size.height == 0)


@looks(*LOOKS)
async def test_a_finished_session(snap_compare: Compare, tmp_path: Path, size: Size, theme: str) -> None:
    async with played_app(tmp_path, theme).run_test(size=size) as pilot:
        await steps()(pilot)
        await snap_compare(pilot)


@sizes(SMALL, MEDIUM)
async def test_other_panes(screen_compare: Compare, tmp_path: Path, size: Size) -> None:
    async with played_app(tmp_path).run_test(size=size) as pilot:
        await steps()(pilot)
        if size == SMALL:
            for key, pane in (("alt+2", "trace"), ("alt+3", "observers"), ("alt+4", "workspace")):
                await pilot.press(key)
                await screen_compare(pilot, pane)
        await pilot.press("f4", "m")
        await screen_compare(pilot, "numbers")
