from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tests.bench.apart import report_of
from tests.bench.table import Row, Section, quantile

BOUND = 50.0
SECONDS = 200.0
MODES = {"app": "screen", "headless": "headless"}


def stalls(base: Path, _runs: int) -> Section:
    """The longest time the event loop was not free, during the demo's research session."""
    rows: list[Row] = []
    details: list[str] = []
    for mode, title in MODES.items():
        report = _measure(base / mode, mode)
        for phase, beats in report["phases"].items():
            slow = [stall for stall in report["stalls"] if stall["phase"] == phase]
            longest = max(slow, key=lambda stall: stall["late"], default=None)
            rows.append(
                Row(
                    f"longest stall, {title}, {phase}",
                    max(beats),
                    "ms",
                    BOUND,
                    f"p99 {quantile(beats, 0.99):.1f} ms, {sum(beat > BOUND for beat in beats)} of {len(beats)} beats "
                    "over the bound" + (f"; of the longest {_parts(longest)}" if longest else ""),
                )
            )
        for stall in report["stalls"]:
            details += [
                f"{title}, {stall['phase']}, at {stall['at']:.2f} s: {stall['late']:.0f} ms, {_parts(stall)}"
            ]
            details += [f"    {times}x {where}" for where, times in Counter(stall["seen"]).most_common(6)]
    return Section(rows, details)


def _parts(stall: dict[str, Any]) -> str:
    return (
        f"{stall['working']:.0f} ms computed, {stall['waiting']:.0f} ms without a core, "
        f"{stall['collecting']:.0f} ms garbage"
    )


def _measure(base: Path, mode: str) -> dict[str, Any]:
    return report_of("tests.bench.stall_child", mode, base, seconds=SECONDS)
