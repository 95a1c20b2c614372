"""The measurements of a team's work, one after the other: about three quarters of an hour."""

from __future__ import annotations

from pathlib import Path

from tests.bench.table import Section
from tests.bench.team.costs import connections, processor, scans
from tests.bench.team.faults import faults
from tests.bench.team.limits import limits
from tests.bench.team.points import crowded, fairness, revoked, stopped, takeover, visible
from tests.bench.team.simulation import simulation
from tests.bench.team.throughput import throughput

MEASUREMENTS = {
    each.__name__: each
    for each in (
        connections,
        crowded,
        stopped,
        revoked,
        takeover,
        processor,
        visible,
        fairness,
        scans,
        throughput,
        simulation,
        limits,
    )
}
"""What takes no arguments; `faults` takes how many jobs, and how long."""


def team(_base: Path, _runs: int) -> Section:
    """All of them, and a batch through faults."""
    sections = [*(measure() for measure in MEASUREMENTS.values()), faults()]
    return Section(
        [row for each in sections for row in each.rows], [line for each in sections for line in each.details]
    )
