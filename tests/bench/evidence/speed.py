"""How long the check of a long report takes, and whether the screen waits for it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.bench.apart import report_of
from tests.bench.table import Row, Section, median

CHILD = "tests.bench.evidence.speed_child"
SECONDS = 120.0
LONGEST, STALL = 1.0, 20.0


def speed(base: Path) -> Section:
    """A report of 5,000 words with 50 sources: the time of its check, and the longest stall of the event loop."""
    alone = report_of(CHILD, "alone", base / "alone", seconds=SECONDS)
    screen = report_of(CHILD, "screen", base / "screen", seconds=SECONDS)
    rows = [
        Row(
            f"evidence: check of a report, {alone['sources']} sources",
            median(alone["took"]),
            "s",
            LONGEST,
            f"median of {len(alone['took'])}, longest {max(alone['took']):.2f} s; {alone['claims']} claims",
        ),
        Row(
            "evidence: longest stall while a report is checked",
            screen["longest"],
            "ms",
            STALL,
            f"checked and saved after {screen['took']:.2f} s; at rest {screen['before']:.1f} ms",
        ),
    ]
    details = [f"the long report: {screen['summary']}"]
    for stall in screen["stalls"]:
        details += [f"checking, at {stall['at']:.2f} s: {stall['late']:.0f} ms"]
        details += [f"    {times}x {where}" for where, times in Counter(stall["seen"]).most_common(6)]
    return Section(rows, details)
