"""A long answer streams without the collector looking at everything there is."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from ua_tui.core.events.types import TextDelta
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.virtual_list.source import MOST_LINES

OLDEST = 2
PARAGRAPH = "The makers of chips told **what they make**, and `when`.\n\n- one\n- two\n\n"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


async def test_a_long_answer_streams_without_a_full_collection(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    full: list[str] = []

    def noting(when: str, info: dict[str, int]) -> None:
        if when == "start" and info["generation"] == OLDEST:
            full.append(when)

    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        session.submit("tell me more")
        gc.callbacks.append(noting)
        try:
            for _ in range(80):
                session.bus.publish(TextDelta(query_id="q1", message_id="m1", text=PARAGRAPH * 3))
                app.pump.flush()
                await pilot.pause()
        finally:
            gc.callbacks.remove(noting)
        pane = app.frame.query_one("#conversation", ConversationPane)
        assert pane.heights.total > 2 * MOST_LINES
        assert full == []
        assert pane._cache.lines <= MOST_LINES
