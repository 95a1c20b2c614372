"""Finds sources that give different values for the same thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.concurrency.cancellation import NEVER, Stop
from core.evidence.records import Claim, Disagreement
from observers.evidence.report import Report
from observers.evidence.sources import Sources

__all__ = ["find_disagreements"]


def find_disagreements(
    claims: Sequence[Claim], report: Report, sources: Sources, stop: Stop = NEVER
) -> Iterator[Disagreement]:
    """Give each disagreement of the sources about a figure of the report."""
    yield from ()
