from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from tests.tui.pane_host import PaneHost, handle_events
from tests.tui.pictured import DARK, MEDIUM, SMALL, Compare, looks
from tests.tui.played import fixed_bus, played_events
from tests.waiting import until
from ua_tui.core.events.types import Event
from ua_tui.tui.panes.conversation.pane import ConversationPane

pytestmark = pytest.mark.usefixtures("still")


@asynccontextmanager
async def played(size: tuple[int, int], theme: str, *keys: str) -> AsyncIterator[Pilot[None]]:
    """A conversation with the session of the pictures at its fixed times, after these keys."""
    view = ConversationPane()
    async with PaneHost(view).run_test(size=size) as pilot:
        pilot.app.theme = theme
        events: list[Event] = []
        bus = fixed_bus()
        bus.subscribe(events.append)
        for event in played_events():
            bus.publish(event)
        handle_events(view, events)
        for key in keys:
            await pilot.press(key)
            await until(lambda: not view.search.query.active or not view.search.busy)
        yield pilot


@looks((SMALL, "ua-dark"), DARK, (MEDIUM, "ua-ansi"))
async def test_a_search(
    snap_compare: Compare, screen_compare: Compare, size: tuple[int, int], theme: str
) -> None:
    async with played(size, theme, "slash", *"news", "enter", "n", "n") as pilot:
        await (screen_compare if size == SMALL else snap_compare)(pilot)


@looks(DARK)
async def test_a_message_under_the_cursor(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    async with played(size, theme, "up", "up", "up") as pilot:
        await snap_compare(pilot)
