"""Measures parts of a team's work: `python -m tests.bench.team faults --jobs 40 --seconds 200`, or names of points."""

from __future__ import annotations

import argparse
import signal
import sys

from tests.bench.table import table
from tests.bench.team.faults import JOBS, SECONDS, faults
from tests.bench.team.section import MEASUREMENTS


def main() -> int:
    """Measure what is named; the exit code is 1 when a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.team", allow_abbrev=False)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"faults, {', '.join(MEASUREMENTS)} (default: all)"
    )
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help=f"jobs of `faults` ({JOBS})")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, metavar="S", help=f"length of `faults` ({SECONDS:g})"
    )
    args = parser.parse_args()
    # What was started is ended, too, when a time limit ends this.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    missed = False
    for name in args.names or ["faults", *MEASUREMENTS]:
        sys.stderr.write(f"measuring {name} …\n")
        section = faults(args.jobs, args.seconds) if name == "faults" else MEASUREMENTS[name]()
        sys.stdout.write("\n".join([table(section.rows), *section.details, ""]) + "\n")
        sys.stdout.flush()
        missed = missed or any(row.verdict == "MISSED" for row in section.rows)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
