"""Loads a past session into the panes of a frame: its end at once, then all of it, then what happens from then on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.garbage_collection import pause_collection, resume_collection
from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import Event
from ua_tui.core.history.event_replay import SessionStats
from ua_tui.core.history.session import PastSession
from ua_tui.core.storage.workspace import saved_reports_of
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.feed import EventFeed, Handler
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.panes.workspace.provenance import Origins

if TYPE_CHECKING:
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.layout.frame import Frame
    from ua_tui.tui.panes.conversation.notices import AppMessage

TURN_SECONDS = 0.005
"""How long events are handled before other tasks have their turn."""
A_FEW = 25
"""Events that are handled without checking the time."""
PROGRESS_SECONDS = 0.25


@dataclass(frozen=True)
class SessionPanes:
    """What shows a session: the panes of a frame, or their twins, which are on no screen."""

    conversation: ConversationPane
    trace: TracePane
    observers: ObserversPane
    workspace: WorkspacePane
    origins: Origins

    @classmethod
    def of(cls, frame: Frame, folder: Path, saved_reports: Path | None, *, read_only: bool) -> SessionPanes:
        """Have the panes of a frame show the files of a folder."""
        frame.folder = folder
        workspace = frame.query_one("#workspace", WorkspacePane)
        workspace.set_root(folder, saved_reports, read_only=read_only)
        return cls(
            frame.query_one("#conversation", ConversationPane),
            frame.query_one("#trace", TracePane),
            frame.query_one("#observers", ObserversPane),
            workspace,
            workspace.origins,
        )

    @property
    def lists(self) -> tuple[ConversationPane, TracePane, ObserversPane]:
        """The panes whose entries are made of events."""
        return self.conversation, self.trace, self.observers

    @contextmanager
    def gathering(
        self, report_failure: Callable[[Handler], None]
    ) -> Iterator[tuple[SessionPanes, EventFeed]]:
        """Give empty panes of the same session that are on no screen, and what feeds them."""
        twins = SessionPanes(
            self.conversation.twin(), self.trace.twin(), self.observers.twin(), self.workspace, Origins()
        )
        # The objects made here stay; a collector that visited them would take longer and longer.
        pause_collection()
        try:
            yield twins, EventFeed(report_failure, (*twins.lists, twins.origins))
        finally:
            resume_collection()

    def gather_for(self, shown: SessionPanes) -> None:
        """Gather entries off screen for the panes that are shown."""
        self.conversation.gather_for(shown.conversation)
        self.trace.gather_for(shown.trace)
        self.observers.gather_for(shown.observers)

    async def adopt(self, twins: SessionPanes) -> None:
        """Show what the twins have gathered; what the reader sees is not moved."""
        self.workspace.origins = twins.origins
        self.conversation.adopt(twins.conversation)
        await asyncio.sleep(0)
        self.trace.adopt(twins.trace)
        await asyncio.sleep(0)
        self.observers.adopt(twins.observers)


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
        host: UaTuiApp,
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
        folder = past.workspace.path
        self._panes = panes = SessionPanes.of(
            host.frame, folder, saved_reports_of(folder), read_only=read_only
        )
        panes.conversation.show_reading(0.0)
        # No file of a past session is new: the workspace only has to know where they came from.
        self._feed = EventFeed(self._report_failure, (*panes.lists, panes.origins, host.frame))
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
        panes = self._panes
        panes.trace.calls.read_from(self._past.journal, still_runs=self._past.runs_elsewhere)
        self._feed.add(events)
        for handler in self._feed.view_handlers:
            self._feed.show(handler)
            # Each renders what it shows: let the screen update in between.
            await asyncio.sleep(0)
        for view in panes.lists:
            view.go_to_wanted()
        if self._past.complete:
            panes.conversation.show_reading(1.0)
        # A part of a session cannot be followed.
        self._end(panes, continues=self._past.complete and self.follows)

    async def load_all(self) -> bool:
        """Read the whole session into twins of the panes, a little at a time, then put them on the screen.

        False if that fails: the end stays on the screen.
        """
        shown, reported_at = self._panes, float("-inf")
        with shown.gathering(self._report_failure) as (twins, feed):
            try:
                async for events in self._past.all_events():
                    twins.gather_for(shown)
                    await in_turns(feed.handle, events)
                    if time.monotonic() - reported_at > PROGRESS_SECONDS:
                        reported_at = time.monotonic()
                        self._report_progress(self._past.stats.read)
                        shown.conversation.show_reading(self._past.stats.read)
            except JournalError as error:
                if not self._past.closed:
                    self._notify(error.advice.sentence, "its end is shown")
                    self._report_progress(1.0)
                return False
            finally:
                shown.conversation.show_reading(1.0)
        if self._past.closed:
            return False
        self._feed.view = self._host.feed.view = feed.view
        self._end(twins, continues=self.follows)
        await shown.adopt(twins)
        # What is fed from here on is shown by the panes, and by what the workspace has now.
        self._feed.use((*shown.lists, shown.workspace.origins, self._host.frame))
        return True

    async def follow(self, on_change: Callable[[], None]) -> None:
        """Show what happens in the session where it runs, and call `on_change` each time, until it ends."""
        try:
            async for events in self._past.follow():
                await in_turns(self._feed.handle, events)
                on_change()
        except JournalError as error:
            if not self._past.closed:
                self._notify(error.advice.sentence, "what had been read by then is shown")
            return
        if not self._past.closed:
            self.end()
            on_change()

    def end(self) -> None:
        """Show that nothing happens in the session any more."""
        self._panes.trace.calls.read_from(self._past.journal, still_runs=False)
        self._end(self._panes, continues=False)

    def _report_failure(self, handler: Handler) -> None:
        self._notify(f"{type(handler).__name__} could not show a part of the session.", "")

    def _end(self, panes: SessionPanes, *, continues: bool) -> None:
        message = self._message(self._past.stats, self._past.unsent)
        if continues:
            panes.conversation.report(message)
            return
        panes.conversation.end(message, self._feed.view)
        panes.trace.end()
        panes.observers.end()


async def in_turns(
    handle: Callable[[Sequence[Event]], object],
    events: Sequence[Event],
    turn: float = TURN_SECONDS,
    few: int = A_FEW,
) -> None:
    """Handle events, a few at a time, and let other tasks have their turn after so many seconds."""
    began = time.perf_counter()
    for at in range(0, len(events), few):
        handle(events[at : at + few])
        if time.perf_counter() - began > turn:
            await asyncio.sleep(0)
            began = time.perf_counter()
