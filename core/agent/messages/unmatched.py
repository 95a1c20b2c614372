"""Tool results that fit no open call: one that came before its call is kept, the others are counted."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ua_tui.core.agent.bounds import MOST_ENTRIES
from ua_tui.core.agent.messages.malformed import MalformedMessages
from ua_tui.core.agent.messages.translate import RawToolResult

log = logging.getLogger(__name__)


class UnmatchedResults:
    """The results of one connection that fit no open call; `malformed` counts those that never do."""

    def __init__(self, malformed: MalformedMessages) -> None:
        self._malformed = malformed
        self._early: dict[str, RawToolResult] = {}
        self._cancelled: set[str] = set()

    def add(self, raw: RawToolResult, *, was_called: bool) -> None:
        """Add a result; `was_called` says that its call has started before and is over."""
        if raw.tool_use_id in self._cancelled:
            log.info("a result came for the cancelled call %s", raw.tool_use_id)
        elif was_called:
            self._malformed.note("a second result of a call", raw.tool_use_id)
        elif len(self._early) < MOST_ENTRIES:
            self._early.setdefault(raw.tool_use_id, raw)
        else:
            self._malformed.note("a result without a call", raw.tool_use_id)

    def pop(self, tool_use_id: str) -> RawToolResult | None:
        """Return, and forget, the result of a call that has just started; None if it has not come yet."""
        return self._early.pop(tool_use_id, None)

    def note_cancelled(self, tool_use_id: str) -> None:
        """Record that a call was ended without its result, which may still come."""
        self._cancelled.add(tool_use_id)

    def end_query(self, cancelled: Iterable[str]) -> None:
        """Count what fits no call of the query that ends now; results of `cancelled` calls may still come."""
        self._cancelled.update(cancelled)
        for tool_use_id in self._early:
            self._malformed.note("a result without a call", tool_use_id)
        self._early.clear()
