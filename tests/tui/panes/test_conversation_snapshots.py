from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC

import pytest
from textual.pilot import Pilot

from core.events.types import Event
from tests.tui.files_host import until
from tests.tui.pane_host import PaneHost
from tests.tui.pictured import every_look, every_size
from tests.tui.played import fixed_bus, played_events
from tui.panes.conversation.pane import ConversationPane

pytestmark = pytest.mark.usefixtures("still")


def steps(view: ConversationPane, theme: str, *keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Play the session of the pictures at its fixed times, then press keys."""

    async def before(pilot: Pilot[None]) -> None:
        pilot.app.theme = theme
        events: list[Event] = []
        bus = fixed_bus()
        bus.subscribe(events.append)
        for event in played_events():
            bus.publish(event)
        view.handle_events(events)
        for key in keys:
            await pilot.press(key)
            await until(lambda: not view.search.active or not view.search.busy)
        await pilot.pause()

    return before


@every_look
def test_a_search_that_unfolds(snap_compare: Callable[..., bool], size: tuple[int, int], theme: str) -> None:
    view = ConversationPane(zone=UTC)
    keys = ("slash", *"news", "enter", "n", "n")
    assert snap_compare(PaneHost(view), terminal_size=size, run_before=steps(view, theme, *keys))


@every_size
def test_a_message_under_the_cursor(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    view = ConversationPane(zone=UTC)
    assert snap_compare(
        PaneHost(view), terminal_size=size, run_before=steps(view, "ua-dark", "up", "up", "up")
    )
