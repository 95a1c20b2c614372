"""`ua-tui doctor`: checks what a session needs, and says how to fix what fails."""

from __future__ import annotations

import argparse
import asyncio
import os

from ua_tui.core.doctor.checks import run_checks, run_team_checks
from ua_tui.core.doctor.findings import DoctorCheck, can_start
from ua_tui.core.postgres.address import Address
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import settings_of
from ua_tui.tui.cli.output import print_json, print_line, quiet_libraries
from ua_tui.tui.cli.start import report_untrusted
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED

MARKS = {"ok": "ok     ", "warning": "WARNING", "failed": "FAILED ", "skipped": "skipped"}
_OF_SESSION = {True: "a session can start", False: "no session can start"}
_OF_TEAM = {True: "the team's database can be used", False: "the team's database cannot be used"}


def run(args: argparse.Namespace) -> int:
    """Check everything, or with an address the database of a team; returns the exit code.

    It is 1 if a check has failed, also if a session can start without what it checks.
    """
    address = Address.parse(args.address) if args.address is not None else None
    settings = settings_of(args)
    report_untrusted(settings)
    with quiet_libraries(settings.log_level):
        work = run_team_checks(address, settings, os.environ) if address else run_checks(settings, os.environ)
        checks = asyncio.run(work)
    could, fine = can_start(checks), all(check.status != "failed" for check in checks)
    if args.json:
        print_json({"could_work" if address else "could_start": could, "checks": checks})
    else:
        for line in _lines(checks):
            print_line(line)
        advice = "" if fine else "; fix the checks that FAILED"
        print_line(f"\n{(_OF_TEAM if address else _OF_SESSION)[could]}{advice}")
    return 0 if fine else EXIT_FAILED


def _lines(checks: list[DoctorCheck]) -> list[str]:
    width = max(len(check.title) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{MARKS[check.status]}  {check.title:<{width}}  {clean_line(check.found, 400)}")
        if check.advice and check.status != "ok":
            lines.append(f"{'':<{len(MARKS['ok']) + width + 4}}-> {clean_line(check.advice, 400)}")
    return lines
