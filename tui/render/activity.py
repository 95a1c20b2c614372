"""What the agent is doing right now, in few words, for whoever is about to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from core.events.tool_names import main_argument, tool_label
from core.events.types import Event, QueryFinished, QueryReceived, ToolCallFinished, ToolCallStarted
from core.events.units import duration
from core.text import clean_line

__all__ = ["AtWork"]

MOST_CALLS = 4
LONGEST = 120


class AtWork:
    """Keeps the running query and its open calls; `finished` counts the queries that came to an end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._query: tuple[str, float] | None = None
        self._calls: dict[str, tuple[str, float]] = {}
        self.finished = 0

    @property
    def is_running(self) -> bool:
        """Whether a query runs."""
        return self._query is not None

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, in order."""
        for event in events:
            match event:
                case QueryReceived():
                    self._query = (clean_line(event.text, LONGEST), self._clock())
                    self._calls.clear()
                case ToolCallStarted():
                    argument = clean_line(main_argument(event.name, event.input), LONGEST)
                    name = tool_label(event.name, event.input)
                    self._calls[event.tool_use_id] = (f"{name}  {argument}".rstrip(), self._clock())
                case ToolCallFinished():
                    self._calls.pop(event.tool_use_id, None)
                case QueryFinished():
                    self._query = None
                    self._calls.clear()
                    self.finished += 1
                case _:
                    pass

    def rows(self) -> list[tuple[str, str]]:
        """The query and its oldest open calls, each with how long it has run; empty when nothing runs."""
        if self._query is None:
            return []
        rows = [("Query", self._told(*self._query))]
        calls = list(self._calls.values())
        rows += [("Runs" if not at else "", self._told(*call)) for at, call in enumerate(calls[:MOST_CALLS])]
        if len(calls) > MOST_CALLS:
            rows.append(("", f"and {len(calls) - MOST_CALLS} more"))
        return rows

    def _told(self, text: str, since: float) -> str:
        return f"{duration(self._clock() - since)}  {text}"
