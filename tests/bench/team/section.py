"""The measurements of a team's work, one after the other: about a quarter of an hour."""

from __future__ import annotations

from pathlib import Path

from tests.bench.table import Section
from tests.bench.team.faults import faults
from tests.bench.team.limits import limits
from tests.bench.team.throughput import throughput


def team(_base: Path, _runs: int) -> Section:
    """The queue, the spending limit of a batch, and a batch through faults."""
    sections = [throughput(), limits(), faults()]
    return Section(
        [row for each in sections for row in each.rows], [line for each in sections for line in each.details]
    )
