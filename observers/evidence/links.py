"""Checks the links of a report."""

from __future__ import annotations

from collections.abc import Iterator

from core.concurrency.cancellation import NEVER, Stop
from core.evidence.records import Claim
from observers.evidence.report import Report
from observers.evidence.sources import Sources

__all__ = ["check_links"]


def check_links(report: Report, sources: Sources, stop: Stop = NEVER) -> Iterator[Claim]:
    """Give a claim for each of the links of the report."""
    yield from ()
