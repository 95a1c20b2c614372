"""The current activity of the agent in a few rows, for a user who is about to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ua_tui.core.events.tool_names import main_argument, tool_label
from ua_tui.core.events.types import Event, QueryFinished, QueryReceived, ToolCallFinished, ToolCallStarted
from ua_tui.core.events.units import duration
from ua_tui.core.text import clean_line

_MAX_CALLS = 4
_MAX_TEXT = 120


class CurrentActivity:
    """The running query and its open calls; `finished` counts the finished queries."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._query: tuple[str, float] | None = None
        self._calls: dict[str, tuple[str, float]] = {}
        self.finished = 0

    @property
    def is_running(self) -> bool:
        """Whether a query is running."""
        return self._query is not None

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, in order."""
        for event in events:
            match event:
                case QueryReceived():
                    self._query = (clean_line(event.text, _MAX_TEXT), self._clock())
                    self._calls.clear()
                case ToolCallStarted():
                    argument = clean_line(main_argument(event.name, event.input), _MAX_TEXT)
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
        """Return the query and its oldest open calls, each with its duration; empty if nothing is running."""
        if self._query is None:
            return []
        rows = [("Query", self._describe(*self._query))]
        calls = list(self._calls.values())
        rows += [
            ("" if number else "Running", self._describe(*call))
            for number, call in enumerate(calls[:_MAX_CALLS])
        ]
        if len(calls) > _MAX_CALLS:
            rows.append(("", f"and {len(calls) - _MAX_CALLS} more"))
        return rows

    def _describe(self, text: str, since: float) -> str:
        return f"{duration(self._clock() - since)}  {text}"
