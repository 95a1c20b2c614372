"""The progress of a batch on standard error: one line that changes, or a line for each job."""

from __future__ import annotations

import shutil
import sys

from ua_tui.core.events.units import money, quantity
from ua_tui.core.team.fleet.rows import describe_counts
from ua_tui.core.team.records import Counts, JobResult, Submitted
from ua_tui.core.text import clean_line

_CLEAR = "\r\x1b[K"
"""Goes to the beginning of the line of the terminal, and removes it."""


def submitted_line(submitted: Submitted, rows: int, *, resumed: int = 0) -> str:
    """What became of a batch of so many rows, of whose jobs some resume a session that was interrupted."""
    parts = [f"{submitted.new:,} new"]
    if submitted.known:
        parts.append(f"{submitted.known:,} known")
    if submitted.reopened:
        parts.append(f"{submitted.reopened:,} of them failed and are run again")
    if submitted.others:
        parts.append(f"{submitted.others:,} failed for other people (--again runs all rows as yours)")
    if resumed:
        parts.append(f"{quantity(resumed, 'session')} resumed")
    if twice := rows - submitted.new - submitted.known:
        parts.append(f"{quantity(twice, 'duplicate')} in the file")
    return f"{quantity(submitted.new + submitted.known, 'job')}: {', '.join(parts)}"


def counts_line(counts: Counts) -> str:
    """The state of a batch in a line."""
    shown = {name: getattr(counts, name) for name in ("running", "needs_you", "failed", "cancelled")}
    parts = [f"{counts.over:,} of {counts.total:,} finished", *describe_counts(shown)]
    # A model without a price says nothing of what it costs.
    return " · ".join([*parts, money(counts.cost_usd)] if counts.cost_usd else parts)


class Reporter:
    """A line for each job that is over, or `in_place`, for a terminal, one line that changes; close it at the end."""

    def __init__(self, *, in_place: bool = False) -> None:
        self._in_place = in_place
        self._shown = ""

    def counts(self, counts: Counts) -> None:
        """The jobs by their state have changed: a log would be full of it."""
        if self._in_place:
            # One that is wrapped could not be removed.
            self._shown = counts_line(counts)[: shutil.get_terminal_size().columns - 1]
            self._write(f"{_CLEAR}{self._shown}")

    def finished(self, result: JobResult, counts: Counts) -> None:
        """Write how a job ended, unless the counts have it."""
        if not self._in_place:
            reason = f": {result.error}" if result.error else ""
            query = clean_line(result.job.query, 80)
            self.line(f"{counts_line(counts)} | line {result.job.number}: {query}: {result.state}{reason}")

    def line(self, text: str) -> None:
        """Write something else that a person should know, above the line that changes."""
        clear = _CLEAR if self._shown else ""
        self._write(f"{clear}{clean_line(text, 500)}\n{clear}{self._shown}")

    def close(self) -> None:
        """Leave the last state as an ordinary line: what is printed next begins a line."""
        if self._shown:
            self._write("\n")
            self._shown = ""

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
