"""A tiny application around one pane, with the real themes and styles, and the events of a small session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from msgspec.structs import replace
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Button

from ua_tui.core.events.types import ArtifactSaved, Event, ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import AnyObservation, McpObservation, TextContent
from ua_tui.core.view.calls import FullCall
from ua_tui.core.view.records import Call
from ua_tui.core.view.session import SessionView, fold
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.feed import EventFeed, Handler
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.requests import CompareFile, OpenFile, ShowCall, StopSubagent
from ua_tui.tui.panes.status.facts import StatusFacts
from ua_tui.tui.screens.files.link import follow_link
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
from ua_tui.tui.theme.themes import DEFAULT_THEME, THEMES
from ua_tui.tui.viewers.view.links import LinkClicked
from ua_tui.tui.virtual_list.virtual_list import VirtualList

STYLES = Path(__file__).parents[2] / "styles"
START = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)
PaneT = TypeVar("PaneT", bound=Widget)
NAMES = ("lines", "conversation", "trace", "observers")


class PaneHost(App[None]):
    """Shows one widget, and a button for the focus to go to."""

    CSS_PATH = [STYLES / f"{name}.tcss" for name in NAMES]  # noqa: RUF012  # as Textual declares it
    CSS = "VirtualList { height: 1fr; } Button { dock: bottom; height: 1; border: none; }"

    def __init__(self, pane: Widget) -> None:
        super().__init__()
        self.pane = pane
        self.opened: list[str] = []
        self.urls: list[str] = []

    def on_load(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DEFAULT_THEME

    def compose(self) -> ComposeResult:
        yield self.pane
        yield Button("other")

    def on_mount(self) -> None:
        self.pane.focus()

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        self.urls.append(url)

    def on_link_clicked(self, message: LinkClicked) -> None:
        follow_link(self, message.url)

    def on_open_file(self, message: OpenFile) -> None:
        self.opened.append(message.path)

    def on_compare_file(self, message: CompareFile) -> None:
        self.opened.append(f"compare {message.path}")

    def on_conversation_pane_fork_requested(self, message: ConversationPane.ForkRequested) -> None:
        self.opened.append(f"fork {message.query_id}: {message.text}")

    def on_stop_subagent(self, message: StopSubagent) -> None:
        self.opened.append(f"stop {message.tool_use_id}")

    def on_observers_pane_opened(self, message: ObserversPane.Opened) -> None:
        self.opened.append(message.path)

    def on_show_call(self, message: ShowCall) -> None:
        self.opened.append(message.tool_use_id)


def call_screen(
    started: ToolCallStarted,
    finished: ToolCallFinished | None = None,
    artifacts: Sequence[ArtifactSaved] = (),
    **options: Any,
) -> ToolCallScreen:
    """The screen of a call."""
    return ToolCallScreen(FullCall(started, finished, tuple(artifacts)), **options)


def agent_call(activity: str, tokens: int) -> Call:
    """What the view says about a sub-agent."""
    call = fold([started("a", "Agent")]).call("a")
    assert call is not None
    return replace(call, activity=activity, tokens=tokens)


_FEEDS: WeakKeyDictionary[Handler, EventFeed] = WeakKeyDictionary()


def handle_events(handler: Handler, events: Sequence[Event]) -> SessionView:
    """Let a pane or a controller handle a batch of events; returns the view after all of its events."""

    failed: list[Handler] = []
    feed = _FEEDS.setdefault(handler, EventFeed(failed.append, [handler]))
    feed.handle(events)
    assert not failed
    return feed.view


def note_events(facts: StatusFacts, *events: Event) -> None:
    """Add events to what a status line knows."""
    for event in events:
        facts.view.add(event)


@asynccontextmanager
async def hosted(pane: PaneT, width: int, height: int) -> AsyncIterator[tuple[PaneT, Pilot[None]]]:
    """Shows a pane in a terminal of this size."""
    async with PaneHost(pane).run_test(size=(width, height)) as pilot:
        yield pane, pilot


def rows(view: VirtualList[Any]) -> list[str]:
    """What the view shows, row by row."""
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def started(
    call: str, name: str = "WebSearch", parent: str | None = None, query: str = "q", **arguments: Any
) -> ToolCallStarted:
    return ToolCallStarted(
        query_id=query, tool_use_id=call, name=name, input=arguments, parent_tool_use_id=parent
    )


def finished(
    call: str,
    status: Literal["success", "error", "denied", "cancelled", "waiting", "blocked"] = "success",
    seconds: float = 0.4,
    text: str = "ok",
    error: str | None = None,
    observation: AnyObservation | None = None,
) -> ToolCallFinished:
    seen = observation or McpObservation(
        tool_name="x", tool_use_id=call, server="s", content=(TextContent(text),), error=error
    )
    return ToolCallFinished(tool_use_id=call, status=status, observation=seen, duration_ms=seconds * 1000)
