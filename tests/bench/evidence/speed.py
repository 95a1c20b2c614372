"""How long the checks of a long report and of the demo's take, and whether the screen waits for them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.bench.apart import report_of
from tests.bench.table import Row, Section, median
from tests.e2e.running import run
from ua_tui.core.storage.folders import WORKSPACES

CHILD = "tests.bench.evidence.speed_child"
SECONDS = 120.0
LONGEST, STALL, DEMO = 0.3, 20.0, 0.2
RESEARCH = "Research the latest AI chip news and write a comprehensive report"


def speed(base: Path) -> Section:
    """A report of 5,000 words with 50 sources, the longest stall of the event loop meanwhile, and the demo's report."""
    alone = report_of(CHILD, "alone", base / "alone", seconds=SECONDS)
    screen = report_of(CHILD, "screen", base / "screen", seconds=SECONDS)
    demo = base / "demo"
    demo.mkdir(parents=True)
    done = run(demo, "run", "--demo", RESEARCH)
    if done.code:
        raise RuntimeError(f"the session failed:\n{done.stderr}")
    (folder,) = (demo / WORKSPACES).glob("session_*")
    of_demo = report_of(CHILD, str(folder), base / "check", seconds=SECONDS)
    rows = [
        Row(
            "evidence: processor time of the check of the demo's report",
            median(of_demo["took"]),
            "s",
            DEMO,
            f"median of {len(of_demo['took'])}; {of_demo['claims']} claims, {of_demo['sources']} sources",
        ),
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
