"""Statistics of a past session: how it ended, what it cost, how long it took, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ua_tui.core.events.describe import describe_folder
from ua_tui.core.events.types import (
    Event,
    QueryFinished,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.view.costs import Costs
from ua_tui.core.view.setup import Setup


class SessionStats(msgspec.Struct):
    """Statistics of a past session; costs, tokens and times are complete when `read` is 1.

    Attributes:
        unpriced: the models whose price is unknown.
        folder: what of the files of its folder had an effect, in clauses.
        seconds: how long the session took, or, if that is unknown, all of its queries.
        read: the part of the journal that was read, from 0 to 1.
        events: the number of events to show.
        left_out: the bytes at the beginning of the journal that are not shown.
        skipped: the number of lines that are not events.
        unknown: the number of events of a later version.
        torn: whether the last line was cut off.
    """

    state: Literal["finished", "crashed", "running"] = "crashed"
    model: str | None = None
    permission_mode: str = "default"
    demo: bool = False
    folder: tuple[str, ...] = ()
    cost: float | None = None
    unpriced: tuple[str, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    read: float = 0.0
    events: int = 0
    left_out: int = 0
    skipped: int = 0
    unknown: int = 0
    torn: bool = False


class Totals:
    """Adds up the stats of a session; `finished` is whether it ended and was not resumed."""

    def __init__(self, stats: SessionStats) -> None:
        self.finished = False
        self._stats = stats
        self._costs, self._setup = Costs(), Setup()
        self._worked = 0.0

    def add(self, events: Iterable[Event]) -> None:
        """Add events."""
        stats = self._stats
        for event in events:
            stats.events += 1
            self._costs, self._setup = self._costs.after(event), self._setup.after(event)
            match event:
                case SessionStarted():
                    self.finished = False
                    stats.folder = tuple(describe_folder(event))
                case QueryFinished():
                    self._worked += event.duration_ms / 1000
                    stats.seconds, stats.cost = self._worked, self._costs.spent
                case SessionFinished():
                    self.finished = True
                    stats.seconds = event.duration_ms / 1000 or stats.seconds
                    stats.cost = event.cost_usd if event.cost_usd is not None else stats.cost
                case _:
                    pass
        setup = self._setup
        stats.model, stats.permission_mode, stats.demo = setup.model, setup.mode, setup.demo
        stats.unpriced, stats.tokens = self._costs.unpriced, self._costs.tokens.total


def known_at_end(stats: SessionStats, events: Sequence[Event]) -> SessionStats:
    """Replace the sums of a part of a session by those that its last event states for all of it."""
    end = next((event for event in reversed(events) if isinstance(event, SessionFinished)), None)
    stats.tokens = 0
    stats.cost = end.cost_usd if end is not None else None
    stats.unpriced = tuple(end.unpriced) if end is not None else ()
    stats.seconds = end.duration_ms / 1000 if end is not None else 0.0
    return stats
