from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tests.bench.apart import report_of
from tests.bench.sights import SIGHTS
from tests.bench.table import Row, Section

FILES_STALL = 100.0
STALL = 50.0
SIGHT = 200.0
SECONDS = 400.0
FILES = {"files": "a new folder", "open": "a folder that is listed"}
SORTS = {"sort numbers": "numbers", "sort words": "words"}


def viewers(base: Path, _runs: int) -> Section:
    """First sights and stalls in the real application, with Textual's headless driver in place of a terminal."""
    rows: list[Row] = []
    details: list[str] = []
    report = _measure(base / "files", "files", details)
    for phase, where in FILES.items():
        reported = f"all marked after {report['times'][phase]:.0f} ms"
        rows.append(
            Row(
                f"longest stall, 5,000 files in {where}", _longest(report, phase), "ms", FILES_STALL, reported
            )
        )
    report = _measure(base / "see", "see", details)
    for name, (title, _) in SIGHTS.items():
        for pane in ("preview", "viewer"):
            phase = f"{pane} {name}"
            whole = report["times"].get(f"{phase} whole")
            reported = (
                f"all of it after {whole:.0f} ms"
                if whole is not None
                else "after a pause of 60 ms for the cursor"
            )
            rows += [
                Row(f"first sight in the {pane}, {title}", report["times"][phase], "ms", SIGHT, reported),
                Row(f"longest stall in the {pane}, {title}", _longest(report, phase), "ms", STALL),
            ]
    report = _measure(base / "sort", "sort", details)
    for phase, title in SORTS.items():
        reported = f"sorted after {report['times'][phase] / 1_000:.1f} s"
        rows.append(
            Row(
                f"longest stall, a million rows sorted by {title}",
                _longest(report, phase),
                "ms",
                STALL,
                reported,
            )
        )
    return Section(rows, details)


def _longest(report: dict[str, Any], phase: str) -> float:
    return float(max(report["phases"][phase]))


def _measure(base: Path, mode: str, details: list[str]) -> dict[str, Any]:
    report = report_of("tests.bench.viewing_child", mode, base, seconds=SECONDS)
    for stall in report["stalls"]:
        details.append(
            f"{stall['phase']}, at {stall['at']:.2f} s: {stall['late']:.0f} ms, {stall['working']:.0f} ms computed, "
            f"{stall['waiting']:.0f} ms without a core, {stall['collecting']:.0f} ms garbage"
        )
        details += [f"    {times}x {where}" for where, times in Counter(stall["seen"]).most_common(6)]
    return report
