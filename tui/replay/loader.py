"""Loads a past session into the panes of a frame: its end at once, then all of it, then what still happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.garbage_collection import pause_collection, resume_collection
from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import Event
from ua_tui.core.history.session import PastSession
from ua_tui.core.history.stats import SessionStats
from ua_tui.core.storage.workspace import saved_reports_of
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.feed import EventFeed, Handler
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.pane import WorkspacePane

if TYPE_CHECKING:
    from ua_tui.tui.app.port import SessionHost
    from ua_tui.tui.panes.conversation.notices import AppMessage

TURN_SECONDS = 0.005
"""How long events are handled before other tasks have their turn."""
A_FEW = 25
"""Events that are handled without checking the time."""
PROGRESS_SECONDS = 0.25


class SessionLoader:
    """Reads a past session into the panes of a frame.

    They show its end while all of it is read into their twins, which are on no screen; then they adopt what the twins
    gathered, without moving what the reader sees.

    Args:
        host: has the panes, which are there already.
        past: the session, not started yet.
        message: makes the message below the session, if there is one.
        report_progress: gets the share of the journal that was read.
        read_only: whether the session is only shown, and followed if it runs in another program.
    """

    def __init__(
        self,
        host: SessionHost,
        past: PastSession,
        *,
        message: Callable[[SessionStats, Sequence[str]], AppMessage | None],
        report_progress: Callable[[float], None],
        read_only: bool,
    ) -> None:
        self._past = past
        self._message = message
        self._report_progress = report_progress
        self._notify = host.notice.show
        self._read_only = read_only
        self._host = host
        frame, folder = host.frame, past.workspace.path
        frame.folder = folder
        self._conversation = frame.query_one("#conversation", ConversationPane)
        self._trace = frame.query_one("#trace", TracePane)
        self._observers = frame.query_one("#observers", ObserversPane)
        self._workspace = frame.query_one("#workspace", WorkspacePane)
        self._workspace.set_root(folder, saved_reports_of(folder), read_only=read_only)
        self._conversation.show_reading(0.0)
        # No file of a past session is new: the workspace only has to know where they came from.
        shown = (self._conversation, self._trace, self._observers, self._workspace.origins, frame)
        self._feed = EventFeed(self._report_failure, shown)
        host.feed.view = self._feed.view

    @property
    def follows(self) -> bool:
        """Whether the session still runs and is followed."""
        return self._read_only and self._past.runs_elsewhere

    async def show_end(self) -> None:
        """Show the end of the session."""
        events: list[Event] = []
        unsubscribe = self._past.bus.subscribe(events.append)
        await self._past.start()
        unsubscribe()
        self._trace.calls.read_from(self._past.journal, still_runs=self._past.runs_elsewhere)
        self._feed.add(events)
        for handler in self._feed.view_handlers:
            self._feed.show(handler)
            # Each renders what it shows: let the screen update in between.
            await asyncio.sleep(0)
        for view in (self._conversation, self._trace, self._observers):
            view.go_to_wanted()
        if self._past.complete:
            self._conversation.show_reading(1.0)
        # A part of a session cannot be followed.
        self._end(
            self._conversation,
            self._trace,
            self._observers,
            continues=self._past.complete and self.follows,
        )

    async def load_all(self) -> bool:
        """Read the whole session into twins of the panes, a little at a time, then put them on the screen.

        False if that fails: the end stays on the screen.
        """
        conversation, trace, observers = (
            self._conversation.twin(),
            self._trace.twin(),
            self._observers.twin(),
        )
        twins = (conversation, trace, observers, self._workspace.origins)
        feed = EventFeed(self._report_failure, twins)
        reported_at = 0.0
        # The objects made here stay; a collector that visited them would take longer and longer.
        pause_collection()
        try:
            async for events in self._past.all_events():
                conversation.gather_for(self._conversation)
                trace.gather_for(self._trace)
                observers.gather_for(self._observers)
                await _handle_in_turns(feed, events)
                if time.monotonic() - reported_at > PROGRESS_SECONDS:
                    reported_at = time.monotonic()
                    self._report_progress(self._past.stats.read)
                    self._conversation.show_reading(self._past.stats.read)
        except JournalError as error:
            if not self._past.closed:
                self._notify(str(error), "its end is shown")
                self._report_progress(1.0)
            return False
        finally:
            resume_collection()
            self._conversation.show_reading(1.0)
        if self._past.closed:
            return False
        self._feed.view = self._host.feed.view = feed.view
        self._end(conversation, trace, observers, continues=self.follows)
        self._conversation.adopt(conversation)
        await asyncio.sleep(0)
        self._trace.adopt(trace)
        await asyncio.sleep(0)
        self._observers.adopt(observers)
        return True

    async def follow(self, on_change: Callable[[], None]) -> None:
        """Show what happens in the session where it runs, and call `on_change` each time, until it ends."""
        try:
            async for events in self._past.follow():
                await _handle_in_turns(self._feed, events)
                on_change()
        except JournalError as error:
            if not self._past.closed:
                self._notify(str(error), "what was read until then is shown")
            return
        if not self._past.closed:
            self.end()
            on_change()

    def end(self) -> None:
        """Show that nothing happens in the session any more."""
        self._trace.calls.read_from(self._past.journal, still_runs=False)
        self._end(self._conversation, self._trace, self._observers, continues=False)

    def _report_failure(self, handler: Handler) -> None:
        self._notify(f"{type(handler).__name__} could not show a part of the session.", "")

    def _end(
        self, conversation: ConversationPane, trace: TracePane, observers: ObserversPane, *, continues: bool
    ) -> None:
        message = self._message(self._past.stats, self._past.unsent)
        if continues:
            conversation.report(message)
            return
        conversation.end(message, self._feed.view)
        trace.end()
        observers.end()


async def _handle_in_turns(feed: EventFeed, events: Sequence[Event]) -> None:
    began = time.perf_counter()
    for at in range(0, len(events), A_FEW):
        feed.handle(events[at : at + A_FEW])
        if time.perf_counter() - began > TURN_SECONDS:
            await asyncio.sleep(0)
            began = time.perf_counter()
