"""`ua-tui again`: asks the query of a report again, and says what changed."""

from __future__ import annotations

import argparse
import hashlib
import sys
from dataclasses import replace
from pathlib import Path

from ua_tui.core.claims.files import LARGEST_REPORT
from ua_tui.core.history.report_query import find_query
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import read_given_file, redactor_of, settings_of
from ua_tui.tui.cli.output import complain, print_line
from ua_tui.tui.export.formats import read_export

_DAY = 86_400


def run(args: argparse.Namespace) -> int:
    """Ask again; returns the exit code.

    Raises:
        SettingsError: the file is no report of a session here, the session is somebody else's, or a setting is wrong.
    """
    from ua_tui.tui.cli.session.compare import print_comparison
    from ua_tui.tui.cli.start import start_headless
    from ua_tui.tui.plain.one_query import OneQuery

    settings = settings_of(args)
    query = find_query(Path(args.report))
    origin, shown = query.origin, clean_line(args.report, 300)
    # What cannot be compared afterwards is not worth a session.
    before = read_export(origin.session, redactor_of(settings), origin.source).record
    digest = hashlib.sha256(read_given_file(args.report, LARGEST_REPORT)).hexdigest()
    if before.report is not None and before.report.sha256 != digest:
        sys.stderr.write(
            f"{shown} is another version: the version in the session, {origin.source}, is compared instead.\n"
        )
    sys.stderr.write(f"Asking again: {clean_line(query.text, 300)}\n")
    opened: list[Path] = []
    settings = replace(settings, demo=settings.demo or query.is_demo, page_age=args.max_age * _DAY)
    code = start_headless(settings, OneQuery(text=query.text, opened=opened.append))
    if code:
        return code
    print_line("")
    compared = print_comparison(origin.session, opened[0], settings, report=origin.source)
    if compared.b.report:
        return 0
    return complain(f"the new session {opened[0].name} wrote no report: there is nothing to compare")
