"""Tool calls of several kinds, on their screen."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.tui.files_host import finished, hosted
from tests.tui.pane_host import agent_call, call_screen
from tests.tui.pictured import DARK, MEDIUM, SMALL, Compare, Size, looks
from tests.waiting import until
from ua_tui.core.events.codec import ANY_EVENT

CALLS = json.loads(Path(__file__).with_name("calls.json").read_bytes())
"""Of each kind: the call, its end, and the files that were saved of it."""

pytestmark = pytest.mark.usefixtures("still")


@looks((SMALL, "ua-dark"), DARK, (MEDIUM, "ua-ansi"))
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        pytest.param("search", ("end", "up", "up", "right", "end", "up", "up"), id="search"),
        pytest.param("failed", (), id="failed"),
        pytest.param("agent", ("tab",), id="agent"),
    ],
)
async def test_a_call(
    snap_compare: Compare, screen_compare: Compare, name: str, keys: tuple[str, ...], size: Size, theme: str
) -> None:
    started, end, *saved = (msgspec.convert(event, ANY_EVENT) for event in CALLS[name])
    record = agent_call("save_corpus  8 articles", 38_000) if name == "agent" else None
    screen = call_screen(started, end, saved, record=record)
    async with hosted(screen=screen, size=size, theme=theme) as (app, pilot):
        await until(lambda: screen.view.row_count > 0)
        await finished(app.workers)
        await pilot.press(*keys)
        await (screen_compare if size == SMALL else snap_compare)(pilot)
