"""Plays a recording into the panes: forward as time passes, or to any moment at once."""

from __future__ import annotations

import asyncio
import math
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import Event
from ua_tui.core.history.event_replay import EventReplay
from ua_tui.core.history.past_files import PastFolder
from ua_tui.core.history.recording import MarkKind, Recording
from ua_tui.core.view.session import SessionView
from ua_tui.tui.panes.feed import EventFeed, Handler
from ua_tui.tui.replay.loader import SessionPanes, in_turns

if TYPE_CHECKING:
    from ua_tui.tui.app.app import UaTuiApp

SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0, math.inf)
FRAME_SECONDS = 0.05
TURN_SECONDS = 0.015
"""How long events are handled before other tasks have their turn."""
AT_ONCE, TAIL = 1_500, 300
"""Events: up to so many are shown at once; of more, first the last ones from a query on."""
_BATCH, _SLICE = 2_000, 100
_FASTEST_TURN_SECONDS = 0.1
"""The same while it is played as fast as possible, so that most of the time is not spent on drawing."""


class Player:
    """Shows one moment of a recording after the other; `position` is how many events have happened.

    Whatever is requested while a moment is being shown takes effect as soon as possible, the newest request first.

    Args:
        host: has the panes.
        recording: what is played, read already.
        folder: shows the files as they were.
        show: is called whenever the time line may look different.
        speed: how many seconds are played in one; infinite for as fast as possible.
        until: where it pauses the first time.
        clock: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        host: UaTuiApp,
        recording: Recording,
        folder: PastFolder,
        *,
        show: Callable[[], object],
        speed: float = 1.0,
        until: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.recording = recording
        self.position = 0
        self.is_playing = False
        self.speed = speed
        self.latest: Event | None = None
        """The event that happened last."""
        self.is_complete = True
        """Whether the panes have everything before the position, and not only what is in sight."""
        self._host = host
        self._folder = folder
        self._show_line = show
        self._clock = clock
        self._stop = len(recording) if until is None else until
        self._offset, self._since = 0.0, clock()
        self._wanted: int | None = None
        self._going: int | None = None
        self._requested = asyncio.Event()
        self._event_time: float | None = None
        self._shown_changes, self._has_all_files = 0, True
        self._panes = panes = SessionPanes.of(host.frame, folder.path, None, read_only=True)
        panes.trace.calls.read_from(recording.journal, still_runs=True)
        panes.trace.calls.clock = host.status.facts.clock = self.time
        panes.conversation.clock = self.time
        panes.conversation.files_follow = True
        panes.conversation.welcome = "Nothing has happened yet."
        self._feed = EventFeed(
            self._report_failure, (self, *panes.lists, panes.workspace, host.frame, host.status)
        )
        self._host.feed.view = self._feed.view

    # -- where it is ------------------------------------------------------------------------------

    @property
    def offset(self) -> float:
        """How far it is played, in seconds at speed 1."""
        if not self.is_playing or math.isinf(self.speed):
            return self._offset
        # Until the next event is shown it has not happened.
        return min(self._due_offset(), self.recording.offset(min(self.position + 1, len(self.recording))))

    def time(self) -> float:
        """The time of day in the session, in seconds since the epoch."""
        return self._event_time if self._event_time is not None else self.recording.time(self.offset)

    @property
    def is_at_end(self) -> bool:
        """Whether everything has happened."""
        return self.position >= len(self.recording)

    @property
    def missing_files(self) -> int:
        """How many files are shown as they were later, because their content of now was not kept."""
        return len(self._folder.missing)

    @property
    def state(self) -> str:
        """What the status line says."""
        if self.is_at_end:
            return "ended"
        if not self.is_playing:
            return "paused"
        return "running" if self._feed.view.activity.queries else "playing"

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Let it be the time of the event while the panes handle it."""
        self._event_time = event.at.timestamp()

    # -- what is requested ------------------------------------------------------------------------

    def play(self, *, playing: bool | None = None) -> None:
        """Play or pause; from the end it plays from the beginning."""
        playing = not self.is_playing if playing is None else playing
        if playing and self.is_at_end:
            self._wanted = 0
        self._set(playing, self.speed)

    def change_speed(self, steps: int) -> None:
        """Play faster or slower by steps."""
        at = bisect_left(SPEEDS, self.speed)
        if SPEEDS[at] != self.speed and steps < 0:
            steps += 1
        self.set_speed(SPEEDS[min(len(SPEEDS) - 1, max(0, at + steps))])

    def set_speed(self, speed: float) -> None:
        """Play at another speed."""
        self._set(self.is_playing, speed)

    def seek(self, position: int) -> None:
        """Go to a position."""
        self._wanted = min(max(0, position), len(self.recording))
        self._request()

    def seek_offset(self, offset: float) -> None:
        """Go to an offset."""
        self.seek(self.recording.position(offset))

    def step(self, kind: MarkKind, direction: int) -> bool:
        """Go to the next event of a kind, or the previous one, and pause there; returns False if there is none."""
        # On from where an earlier request leads.
        here = next((each for each in (self._wanted, self._going) if each is not None), self.position)
        found = self.recording.next(kind, here, direction)
        if found is None:
            return False
        self._set(False, self.speed)
        self.seek(found)
        return True

    def _set(self, playing: bool, speed: float) -> None:
        self._offset, self._since = self.offset, self._clock()
        self.is_playing, self.speed = playing, speed
        self._request()

    def _request(self) -> None:
        self._requested.set()
        self._show_state()

    # -- playing ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Do what is requested, until it is cancelled."""
        while True:
            self._requested.clear()
            if self._wanted is not None:
                self._going, self._wanted = self._wanted, None
                await self._go_to(self._going)
                self._going = None
            elif self.is_playing:
                await self._play()
            else:
                await self._show_files()
                await self._requested.wait()

    async def _play(self) -> None:
        stop = self._stop if self._stop > self.position else len(self.recording)
        is_fastest = math.isinf(self.speed)
        due = self.position + _BATCH if is_fastest else self.recording.position(self._due_offset())
        if due > self.position:
            await self._advance(min(due, stop), coalesce=is_fastest)
        if self.position >= stop and self._wanted is None:
            self._stop = len(self.recording)
            self._set(False, self.speed)
            return
        self._show_line()
        if is_fastest:
            await asyncio.sleep(0)
            return
        await self._show_files()
        with suppress(TimeoutError):
            async with asyncio.timeout(FRAME_SECONDS):
                await self._requested.wait()

    def _due_offset(self) -> float:
        return self._offset + (self._clock() - self._since) * self.speed

    async def _advance(self, target: int, *, coalesce: bool = False) -> None:
        """Let the events up to a position happen."""
        raw = await self._read(self.position, target)
        replay = EventReplay(self._folder.path)
        events = [*replay.add(raw), *replay.rest()] if coalesce else [*replay.live(raw)]
        turn = _FASTEST_TURN_SECONDS if coalesce else TURN_SECONDS
        await in_turns(self._feed.add, events, turn, _SLICE)
        self._reach(target, raw)
        for handler in self._feed.view_handlers:
            self._feed.show(handler)

    async def _read(self, start: int, stop: int) -> list[Event]:
        if stop - start <= _SLICE:
            return self.recording.events(start, stop)
        return await asyncio.to_thread(self.recording.events, start, stop)

    def _reach(self, target: int, raw: Sequence[Event]) -> None:
        self.position, self._event_time = target, None
        self.latest = raw[-1] if raw else None
        if not self.is_playing or math.isinf(self.speed):
            self._offset = self.recording.offset(target)

    # -- going to a moment ------------------------------------------------------------------------

    async def _go_to(self, target: int) -> None:
        """Show a moment: its end first if a lot happened before it."""
        if self.is_complete and 0 <= target - self.position <= AT_ONCE:
            await self._advance(target)
            self._arrive(target)
            return
        if target > AT_ONCE:
            await self._rebuild(max(self.recording.start_of_query(target), target - TAIL), target)
        if self._wanted is None:
            await self._rebuild(0, target)

    async def _rebuild(self, start: int, target: int) -> None:
        """Show what happened between two positions; given up if something else is requested meanwhile."""
        shown, raw = self._panes, list[Event]()
        view, replay = await asyncio.to_thread(self.recording.moment, start), EventReplay(self._folder.path)
        with shown.gathering(self._report_failure) as (twins, feed):
            feed.view, view.changed = view, {}
            for at in range(start, target, _BATCH):
                twins.gather_for(shown)
                raw = await self._read(at, min(at + _BATCH, target))
                await in_turns(feed.add, [*replay.add(raw)], TURN_SECONDS, _SLICE)
                if target > AT_ONCE:
                    shown.conversation.show_reading(at / target)
                if self._wanted is not None:
                    return
            await in_turns(feed.add, [*replay.rest()], TURN_SECONDS, _SLICE)
        twins.gather_for(shown)
        for handler in feed.view_handlers:
            feed.show(handler)
        self.is_complete = start == 0
        self._feed.view = self._host.feed.view = view
        self._reach(target, raw)
        await shown.adopt(twins)
        for handler in self._feed.view_handlers:
            self._feed.show(handler)
        shown.conversation.show_reading(1.0)
        self._arrive(target)

    def _arrive(self, target: int) -> None:
        self._offset, self._since = self.recording.offset(target), self._clock()
        for pane in self._panes.lists:
            pane.action_cursor_end()
        self._show_state()

    async def _show_files(self) -> None:
        """Have the files of this moment in the folder; given up if something is requested meanwhile."""
        changes = bisect_left(self.recording.files.changes, self.position)
        if changes != self._shown_changes or not self._has_all_files:
            self._shown_changes = changes
            try:
                files = self.recording.files.at(self.position)
                self._has_all_files = await asyncio.to_thread(
                    self._folder.show, files, self._requested.is_set
                )
            except UniversalAgentError as error:
                self._has_all_files = True
                self._host.notice.show(
                    error.advice.sentence, "the files of the replay are not complete", "warning"
                )
            self._panes.workspace.tree_view.rescan()
            self._host.frame.show_files_of(self._feed.view)
            self._show_line()
        if self._has_all_files:
            self._panes.conversation.describe_results()

    # -- what it looks like -----------------------------------------------------------------------

    def _show_state(self) -> None:
        self._host.status.refresh_state()
        self._show_line()

    def _report_failure(self, handler: Handler) -> None:
        self._host.notice.show(f"{type(handler).__name__} could not show a part of the session.", "")
