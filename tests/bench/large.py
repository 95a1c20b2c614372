from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bench.apart import report_of
from tests.bench.table import Row, Section

STALL = 30.0
HOSTILE_STALL = 100.0
BURST_GROWTH = 150.0
HOSTILE_GROWTH = 300.0
SECONDS = 400.0
OBSERVED = {"observe-ascii": "20 MB of English", "observe-cjk": "20 MB of Japanese"}
SETTLED = {"settle-ascii": "20 MB of English", "settle-cjk": "20 MB of Japanese"}
HOSTILE = {"array": "an array of 104 MB", "brackets": "100,000 times [", "objects": '5,000 times {"a":'}


def large(base: Path, _runs: int) -> Section:
    """What large results, many results and hostile ones do to the event loop and to the memory."""
    rows: list[Row] = []
    for mode, title in (OBSERVED | SETTLED).items():
        report = _measure(base / mode, mode)
        what = "observed" if mode in OBSERVED else "settled, handed over and observed"
        rows.append(
            Row(
                f"longest stall, {title} {what}",
                report["longest"],
                "ms",
                STALL,
                f"{report['took']:.1f} s, {report['items']} rows saved; {_growth(report)}",
            )
        )
    report = _measure(base / "burst", "burst")
    times = f"in at {report['submitted']:.1f} s, done at {report['took']:.1f} s"
    reported = f"{report['artifacts']} of {report['results']} saved, {times}"
    rows += [
        Row(
            "results of 30 KB that were not saved", report["results"] - report["artifacts"], "", 0.0, reported
        ),
        Row("memory for 3,000 results of 30 KB", report["growth"], "MB", BURST_GROWTH, reported),
        Row("longest stall meanwhile", report["longest"], "ms", None, reported),
    ]
    for mode, title in HOSTILE.items():
        report = _measure(base / mode, mode)
        reason = "; ".join(report["said"])[:90]
        rows += [
            Row(f"longest stall, {title}", report["longest"], "ms", HOSTILE_STALL, reason),
            Row(
                f"memory for {title}", report["growth"], "MB", HOSTILE_GROWTH, f"{report['artifacts']} saved"
            ),
        ]
    return Section(rows)


def _growth(report: dict[str, Any]) -> str:
    return f"memory + {report['growth']:.0f} MB"


def _measure(base: Path, mode: str) -> dict[str, Any]:
    return report_of("tests.bench.large_child", mode, base, seconds=SECONDS)
