"""Counts the messages of the command line that are malformed, for one report with the count at the end of a query."""

from __future__ import annotations

import logging

from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean_line

log = logging.getLogger(__name__)

_LOGGED = 50
_SAMPLE = 200


class MalformedMessages:
    """Counts what was malformed since the last report, and logs the first of it in detail."""

    def __init__(self) -> None:
        self._count = 0

    def note(self, problem: str, sample: object = "") -> None:
        """Count a message; `sample` is what was wrong in it."""
        self._count += 1
        if self._count <= _LOGGED:
            shown = sample if isinstance(sample, str) else repr(sample)
            log.warning("malformed message of the agent: %s: %s", problem, clean_line(shown, _SAMPLE))

    def pop_report(self) -> str | None:
        """Return the report of what was counted since the last one; None if there was nothing."""
        count, self._count = self._count, 0
        if not count:
            return None
        if count > _LOGGED:
            log.warning("%d more malformed messages are not listed", count - _LOGGED)
        were = "was" if count == 1 else "were"
        return (
            f"{quantity(count, 'message')} of the agent {were} malformed; what could be read is kept. "
            "Details are in run.log."
        )
