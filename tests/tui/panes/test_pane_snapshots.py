"""Trace, observers, preview and prompt, each alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tui.files_host import Host
from tests.tui.pane_host import PaneHost, finished, handle_events, started
from tests.tui.panes.test_prompt import PromptApp
from tests.tui.pictured import DARK, MEDIUM, SMALL, THEMED, Compare, looks
from tests.tui.played import fixed_bus, played_events
from tests.waiting import until
from ua_tui.core.events.types import Event, ObserverFinished, QueryReceived
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.widgets.command import Command

REPORT = """\
---
title: "Halden H7, an inference part"
words: 352
---

# Accelerators

Serving is **the new race**. The [buyer's guide](https://a.example/guide) compares eight parts:

| Part | Made for | Ships |
|---|---|---|
| Halden H7 | serving | March |
| Quillmark Q9 | training | autumn |

```python
watts = sum(part.watts for part in parts)  # all of them
```

- one
- two

> Two pages could not be read.
"""


pytestmark = pytest.mark.usefixtures("still")


@pytest.fixture(autouse=True)
def no_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ua_tui.tui.panes.trace.pane.TICK", 3_600.0)


def at_their_times(events: Sequence[Event]) -> list[Event]:
    """The events as a bus would tell them, at fixed times."""
    reported: list[Event] = []
    bus = fixed_bus()
    bus.subscribe(reported.append)
    for event in events:
        bus.publish(event)
    return reported


def living() -> list[Event]:
    """A query that ended, and one whose calls wait, run too long and failed."""
    return at_their_times(
        [
            *played_events(),
            QueryReceived(query_id="q2", text="Who ships first?"),
            started("f1", "WebSearch", query="q2"),
            finished("f1", "error", 14.2, error="ConnectionFailed: the host news.example refused"),
            started("f2", "Agent", query="q2", subagent_type="fact-checker", description="Check the dates"),
            started("f3", "mcp__local_toolkit__crawl_parallel", "f2", query="q2", urls=["https://a.example"]),
            finished("f3", seconds=75),
            started("f4", "Bash", query="q2", command="sort dates.csv"),
        ]
    )


@looks(*THEMED)
async def test_the_trace(
    snap_compare: Compare, screen_compare: Compare, size: tuple[int, int], theme: str
) -> None:
    now = [0.0]
    view = TracePane(clock=lambda: now[0])
    async with PaneHost(view).run_test(size=size) as pilot:
        pilot.app.theme = theme
        handle_events(view, living())
        now[0] = view.calls.by_key["query/q2"].at + 42.0
        # The picture has the first turn of each spinner.
        view.ticks = -1
        view._advance()
        await pilot.press("home", *["down"] * 6)
        await snap_compare(pilot)
        if theme == "ua-dark":
            await pilot.resize_terminal(*SMALL)
            await screen_compare(pilot, "80x24")
            await pilot.press("f", *"state:failed")
            await screen_compare(pilot, "80x24-filtered")


@looks(DARK)
async def test_the_observers(
    snap_compare: Compare, screen_compare: Compare, size: tuple[int, int], theme: str
) -> None:
    view = ObserversPane()
    broken = ObserverFinished(
        run_id="late",
        observer="media",
        tool_use_id="toolu_2",
        status="failed",
        duration_ms=31,
        error="DecodeError: the picture https://a.example/h7.png is cut off after 1,204 of 88,000 bytes\n"
        "Ask for it again, or look at it in the browser.",
    )
    async with PaneHost(view).run_test(size=size) as pilot:
        pilot.app.theme = theme
        handle_events(view, at_their_times([*played_events(), broken]))
        await pilot.press("enter", "up", "up")
        await snap_compare(pilot)
        await pilot.resize_terminal(*SMALL)
        await screen_compare(pilot, "80x24")


@looks(DARK, (MEDIUM, "ua-ansi"))
async def test_the_preview(snap_compare: Compare, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    path = tmp_path / "crawl_computewire_example.md"
    path.write_text(REPORT, encoding="utf-8")
    view = PreviewPane()
    async with Host(view, theme=theme).run_test(size=size) as pilot:
        view.show_path(path)
        await until(lambda: view.document is not None)
        view.focus()
        await snap_compare(pilot)


@looks(DARK)
async def test_a_prompt_with_a_queue(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = PromptApp()
    async with app.run_test(size=size) as pilot:
        app.theme = theme
        app.prompt.focus()
        app.prompt.show_queue(["Who ships first?\nAnd who last?", "Plot the revenue", "Third", "Fourth"])
        app.prompt.put("What is the capital of France?\nAnd of ")
        await snap_compare(pilot)


@looks(DARK)
async def test_commands_that_are_offered(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = PromptApp()
    async with app.run_test(size=size) as pilot:
        app.theme = theme
        app.prompt.focus()
        offered = (("queue", "Put the queue in order"), ("quit", "Quit"), ("restart", "Restart the agent"))
        app.prompt.offer_commands([Command(name, title, "", lambda: None) for name, title in offered])
        await pilot.press("slash", "q", "down")
        await snap_compare(pilot)
