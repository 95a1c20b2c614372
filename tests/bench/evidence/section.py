from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench.evidence.export import export_section
from tests.bench.evidence.faults import measure_faults
from tests.bench.evidence.quotations import quotations
from tests.bench.evidence.speed import speed
from tests.bench.table import Section

MEASUREMENTS: Sequence[Callable[[Path], Section]] = (
    quotations,
    measure_faults,
    export_section,
    speed,
)


def evidence(base: Path, _runs: int) -> Section:
    """The check of reports: what it finds, whom it accuses falsely, how quick it is, and the export."""
    sections = [measure(base / f"{number}") for number, measure in enumerate(MEASUREMENTS)]
    rows = [row for section in sections for row in section.rows]
    return Section(rows, [line for section in sections for line in section.details])
