"""Measures how quick the program is, on this machine and against what it is compared with: `python -m tests.bench`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench.evidence.section import evidence
from tests.bench.extracting import extracting
from tests.bench.fleet.section import fleet
from tests.bench.goals import split
from tests.bench.journal import journal
from tests.bench.knowledge.section import knowledge
from tests.bench.large import large
from tests.bench.living import on_screen
from tests.bench.moments import moments
from tests.bench.observing import cost
from tests.bench.scale import scale
from tests.bench.stalls import stalls
from tests.bench.startup import first_frame, session_cost
from tests.bench.streaming import streaming
from tests.bench.table import Row, Section, table
from tests.bench.team.section import team
from tests.bench.turns import turns

MEASUREMENTS: dict[str, Callable[[Path, int], Section]] = {
    "frame": first_frame,
    "start": session_cost,
    "observers": cost,
    "extracting": extracting,
    "large": large,
    "journal": journal,
    "stalls": stalls,
    "streaming": streaming,
    "scale": scale,
    "turns": turns,
    "knowledge": knowledge,
    "evidence": evidence,
    "fleet": fleet,
    "team": team,
    "time": moments,
    "screen": on_screen,
}

UNDER_LOAD = ("frame", "streaming", "turns", "screen")
"""What gives the rows of the goals."""


def main() -> int:
    """Measure what is asked for; the exit code is 1 when a bound is missed, 2 when something was not measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", allow_abbrev=False)
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="runs of each start, in turns (10)")
    parser.add_argument(
        "--only", action="append", choices=MEASUREMENTS, help="measure only this (repeatable)"
    )
    parser.add_argument("--load", action="store_true", help="measure the goals under load, nothing else")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--verbose", action="store_true", help="tell what ran during the longest stalls")
    args = parser.parse_args()
    rows: list[Row] = []
    details: list[str] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ua-tui-bench-", ignore_cleanup_errors=True) as folder:
        for name in args.only or (UNDER_LOAD if args.load else MEASUREMENTS):
            sys.stderr.write(f"measuring {name} …\n")
            base = Path(folder) / name
            base.mkdir()
            try:
                section = MEASUREMENTS[name](base, max(args.runs, 1))
            except Exception as error:
                failed.append(name)
                sys.stderr.write(f"{name} could not be measured: {error}\n")
            else:
                rows += section.rows
                details += section.details
    if args.json:
        sys.stdout.write(
            json.dumps([dataclasses.asdict(row) | {"verdict": row.verdict} for row in rows], indent=2) + "\n"
        )
    else:
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        sys.stdout.write(f"{machine}, Python {platform.python_version()}\n")
        for title, part in zip(("Fast under load", "Everything else"), split(rows), strict=True):
            if part:
                sys.stdout.write(f"\n{title}\n\n{table(part)}\n")
        if args.verbose and details:
            sys.stdout.write("\n" + "\n".join(details) + "\n")
    return 2 if failed else int(any(row.verdict == "MISSED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
