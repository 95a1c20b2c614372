"""`ua-tui doctor`: checks what a session needs, and says how to fix what fails."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from core.text import clean_line
from tui.cli.output import print_line
from tui.cli.start import report_untrusted
from tui.terminal.exit_codes import EXIT_FAILED

if TYPE_CHECKING:
    from core.doctor.findings import Check
    from core.settings.model import Settings

__all__ = ["add_arguments", "run"]

MARKS = {"ok": "ok     ", "warning": "WARNING", "failed": "FAILED ", "skipped": "skipped"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to the parser."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(settings: Settings, *, as_json: bool) -> int:
    """Check everything; returns the exit code: 0 if a session can start, else 1."""
    from core.doctor.checks import run_checks
    from core.doctor.findings import can_start
    from core.records.log import install_root_handler

    report_untrusted(settings)
    # Libraries that find no handler write to the terminal.
    handler = install_root_handler(settings.log_level)
    try:
        checks = asyncio.run(run_checks(settings, os.environ))
    finally:
        handler.uninstall()
    could = can_start(checks)
    if as_json:
        result = {"could_start": could, "checks": [asdict(check) for check in checks]}
        print_line(json.dumps(result, indent=2))
    else:
        for line in _lines(checks, could=could):
            print_line(line)
    return 0 if could else EXIT_FAILED


def _lines(checks: list[Check], *, could: bool) -> list[str]:
    width = max(len(check.title) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{MARKS[check.status]}  {check.title:<{width}}  {clean_line(check.found, 400)}")
        if check.advice and check.status != "ok":
            lines.append(f"{'':<{len(MARKS['ok']) + width + 4}}-> {clean_line(check.advice, 400)}")
    lines.append("")
    lines.append("a session can start" if could else "no session can start: fix the checks that FAILED")
    return lines
