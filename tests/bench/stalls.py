from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench.apart import report_of
from tests.bench.stall_child import QUERY
from tests.bench.table import Row, Section, quantile

BOUND = 50.0
SECONDS = 200.0


def stalls(base: Path, _runs: int) -> Section:
    """The longest time the event loop was not free, during the demo's research session."""
    return stall_rows(report_of("tests.bench.stall_child", QUERY, base, seconds=SECONDS), "screen")


def stall_rows(
    report: Mapping[str, Any], title: str, bounds: Mapping[str, float | None] | None = None
) -> Section:
    """The longest stall of each phase that a heartbeat reported; `bounds` are those of phases, else `BOUND`."""
    rows: list[Row] = []
    details: list[str] = []
    for phase, beats in report["phases"].items():
        slow = [stall for stall in report["stalls"] if stall["phase"] == phase]
        over = sum(beat > BOUND for beat in beats)
        told = f"p99 {quantile(beats, 0.99):.1f} ms, {over} of {len(beats)} beats over {BOUND:.0f} ms"
        if slow:
            told += f"; of the longest {_parts(max(slow, key=lambda stall: float(stall['late'])))}"
        bound = BOUND if bounds is None else bounds[phase]
        rows.append(Row(f"longest stall, {title}, {phase}", max(beats), "ms", bound, told))
    for stall in report["stalls"]:
        parts = _parts(stall)
        details.append(f"{title}, {stall['phase']}, at {stall['at']:.2f} s: {stall['late']:.0f} ms, {parts}")
        details += [f"    {times}x {where}" for where, times in Counter(stall["seen"]).most_common(6)]
    return Section(rows, details)


def _parts(stall: Mapping[str, Any]) -> str:
    return (
        f"{stall['working']:.0f} ms computed, {stall['waiting']:.0f} ms without a core, "
        f"{stall['collecting']:.0f} ms garbage"
    )
