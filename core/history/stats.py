"""Statistics of a past session: how it ended, what it cost, how long it took, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ua_tui.core.events.describe import describe_folder
from ua_tui.core.events.types import (
    Event,
    PermissionModeChanged,
    QueryFinished,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.records.counters import TokenCount


@dataclass(slots=True)
class SessionStats:
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
        self._tokens = TokenCount()
        self._worked = 0.0

    def add(self, events: Iterable[Event]) -> None:
        """Add events."""
        stats = self._stats
        for event in events:
            stats.events += 1
            self._tokens.add(event)
            match event:
                case SessionStarted():
                    self.finished = False
                    stats.model = event.model or stats.model
                    stats.permission_mode, stats.demo = event.permission_mode, event.demo
                    stats.folder = tuple(describe_folder(event))
                case PermissionModeChanged(mode=mode):
                    stats.permission_mode = mode
                case QueryFinished():
                    if event.cost_usd is not None:
                        stats.cost = (stats.cost or 0.0) + event.cost_usd
                    stats.unpriced = tuple(dict.fromkeys((*stats.unpriced, *event.unpriced)))
                    self._worked += event.duration_ms / 1000
                    stats.seconds = self._worked
                case SessionFinished():
                    self.finished = True
                    stats.seconds = event.duration_ms / 1000 or stats.seconds
                    stats.cost = event.cost_usd if event.cost_usd is not None else stats.cost
                case _:
                    pass
        stats.tokens = self._tokens.total


def known_at_end(stats: SessionStats, events: Sequence[Event]) -> SessionStats:
    """Replace the sums of a part of a session by those that its last event states for all of it."""
    end = next((event for event in reversed(events) if isinstance(event, SessionFinished)), None)
    stats.tokens = 0
    stats.cost = end.cost_usd if end is not None else None
    stats.unpriced = tuple(end.unpriced) if end is not None else ()
    stats.seconds = end.duration_ms / 1000 if end is not None else 0.0
    return stats
