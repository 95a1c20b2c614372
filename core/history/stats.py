"""Statistics of a past session: how it ended, what it cost, how long it took, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from ua_tui.core.events.describe import describe_folder
from ua_tui.core.events.types import (
    Event,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionForked,
    SessionStarted,
)
from ua_tui.core.view.costs import Costs
from ua_tui.core.view.setup import Setup


class SessionStats(msgspec.Struct):
    """Statistics of a past session; costs, tokens and times are complete when `read` is 1.

    Attributes:
        folder: which files of its folder affected it, in clauses.
        read: the part of the journal that was read, from 0 to 1.
        events: the number of events to show.
        left_out: the bytes at the beginning of the journal that are not shown.
        skipped: the number of lines that are not events.
        unknown: the number of events of a later version.
        torn: whether the last line was cut off.
        draft: the query before which this session was forked, until it has one of its own.
        is_tail: whether the events are only the last ones: then the end of the session alone states its sums.
        end: the end of the session; None if there is none, or it was resumed after it.
    """

    state: Literal["finished", "stopped", "crashed", "running"] = "crashed"
    folder: tuple[str, ...] = ()
    read: float = 0.0
    events: int = 0
    left_out: int = 0
    skipped: int = 0
    unknown: int = 0
    torn: bool = False
    draft: str = ""
    is_tail: bool = False
    end: SessionFinished | None = None
    setup: Setup = msgspec.field(default_factory=Setup)
    _costs: Costs = msgspec.field(default_factory=Costs)
    _worked_ms: float = 0.0

    @property
    def cost(self) -> float | None:
        """What it cost in US dollars; None if that is not known."""
        stated = self.end.cost_usd if self.end is not None else None
        return stated if stated is not None or self.is_tail else self._costs.spent

    @property
    def inherited(self) -> float:
        """What the session of which it is a fork had spent before; 0 if that is not known."""
        return self._costs.inherited

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models whose price is unknown."""
        if self.is_tail:
            return tuple(self.end.unpriced) if self.end is not None else ()
        return self._costs.unpriced

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
