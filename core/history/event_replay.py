"""Prepares a past session for the screen: its statistics, and its events, with each streamed text only once.

The events then name the folder in which the session is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from ua_tui.core.events.describe import describe_folder
from ua_tui.core.events.types import (
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionForked,
    SessionStarted,
    SubagentFinished,
    TextDelta,
    ThinkingDelta,
)
from ua_tui.core.records.journal_reader import Unread
from ua_tui.core.view.costs import Costs
from ua_tui.core.view.setup import Setup


class EventReplay:
    """Leaves out streamed text that a finished message repeats, and sets the session's present folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._streaming: dict[str | None, tuple[TextDelta, list[str]]] = {}
        self._thinking: set[str] = set()

    def add(self, events: Iterable[Event]) -> Iterator[Event]:
        """Add events; gives those to show, in order."""
        for event in self.live(events):
            match event:
                case TextDelta():
                    yield from self._hold(event)
                    continue
                case ThinkingDelta():
                    self._thinking.add(event.message_id)
                case MessageFinished():
                    streaming = self._streaming.get(event.parent_tool_use_id)
                    if streaming is not None and streaming[0].message_id == event.message_id:
                        del self._streaming[event.parent_tool_use_id]
                    self._thinking.discard(event.message_id)
                case SubagentFinished(tool_use_id=call):
                    yield from self._release(call)
                case QueryFinished() | SessionFinished():
                    yield from self.rest()
            yield event

    def live(self, events: Iterable[Event]) -> Iterator[Event]:
        """Give live events, with streamed text."""
        return map(self._prepared, events)

    def _prepared(self, event: Event) -> Event:
        if isinstance(event, SessionStarted):
            return msgspec.structs.replace(event, workspace=self._folder)
        return event

    def rest(self) -> Iterator[Event]:
        """Give the streamed text of messages that never finished."""
        for parent in list(self._streaming):
            yield from self._release(parent)
        self._thinking.clear()

    def _hold(self, event: TextDelta) -> Iterator[Event]:
        parent = event.parent_tool_use_id
        streaming = self._streaming.get(parent)
        if streaming is not None and streaming[0].message_id != event.message_id:
            yield from self._release(parent)
            streaming = None
        if streaming is not None:
            streaming[1].append(event.text)
            return
        self._streaming[parent] = (event, [event.text])
        if event.message_id in self._thinking:
            # The time of the first word shows how long the model thought before it.
            yield msgspec.structs.replace(event, text="")

    def _release(self, parent: str | None) -> Iterator[Event]:
        if (streaming := self._streaming.pop(parent, None)) is not None:
            yield msgspec.structs.replace(streaming[0], text="".join(streaming[1]))


class SessionStats(msgspec.Struct):
    """Statistics of a past session; costs, tokens and times are complete when `read` is 1.

    Attributes:
        folder: which files of its folder affected it, in clauses.
        read: the part of the journal that was read, from 0 to 1.
        events: the number of events to show.
        unread: what of the journal is not shown.
        draft: the query before which this session was forked, until it has one of its own.
        is_tail: whether the events are only the last ones: then the end of the session alone states its sums.
        end: the end of the session; None if there is none, or it was resumed after it.
        runs: whether another program runs the session.
    """

    folder: tuple[str, ...] = ()
    read: float = 0.0
    events: int = 0
    unread: Unread = msgspec.field(default_factory=Unread)
    draft: str = ""
    is_tail: bool = False
    end: SessionFinished | None = None
    runs: bool = False
    setup: Setup = Setup()
    _costs: Costs = Costs()
    _worked_ms: float = 0.0

    @property
    def state(self) -> Literal["finished", "stopped", "crashed", "running"]:
        """How it ended, if it did."""
        return self.end.state if self.end is not None else "running" if self.runs else "crashed"

    @property
    def cost(self) -> float | None:
        """What it cost in US dollars, estimated for a query that was cut off; None if that is not known."""
        return self.cost_of_ended if self.is_tail or self._stated is not None else self._costs.total

    @property
    def cost_of_ended(self) -> float | None:
        """What the queries cost that ended: one that was cut off gets its end, with its cost, at a resume."""
        return self._stated if self.is_tail or self._stated is not None else self._costs.spent

    @property
    def _stated(self) -> float | None:
        return self.end.cost_usd if self.end is not None else None

    @property
    def is_estimated(self) -> bool:
        """Whether a part of the cost is an estimate."""
        return self._costs.estimated and self._stated is None

    @property
    def inherited(self) -> float:
        """What the session of which it is a fork had spent before; 0 if that is not known."""
        return self._costs.inherited

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models whose price is unknown."""
        if self.is_tail:
            return tuple(self.end.unpriced) if self.end is not None else ()
        return self._costs.all_unpriced

    @property
    def tokens(self) -> int:
        """All of its tokens; 0 if they are not known."""
        return 0 if self.is_tail else self._costs.tokens.total

    @property
    def seconds(self) -> float:
        """How long the session took, or, if that is unknown, all of its queries."""
        stated = self.end.duration_ms if self.end is not None else 0.0
        return (stated or (0.0 if self.is_tail else self._worked_ms)) / 1000

    def add(self, events: Iterable[Event]) -> None:
        """Add events."""
        for event in events:
            self.events += 1
            self._costs, self.setup = self._costs.after(event), self.setup.after(event)
            match event:
                case SessionStarted():
                    self.end = None
                    self.folder = tuple(describe_folder(event))
                case SessionForked():
                    self.draft = event.text
                case QueryReceived():
                    self.draft = ""
                case QueryFinished():
                    self._worked_ms += event.duration_ms
                case SessionFinished():
                    self.end = event
