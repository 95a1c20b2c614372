"""`ua-tui again`: asks the query of a report again, and says what changed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.errors import SettingsError
from ua_tui.core.storage.ownership import is_own_session, not_own
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import redactor_of, settings_of, whole_number
from ua_tui.tui.cli.output import complain, print_line

if TYPE_CHECKING:
    from ua_tui.core.claims.changes import ClaimChanges
    from ua_tui.core.claims.files import ReportCheck
    from ua_tui.core.history.versions import TextOrigin
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.view.session import SessionView

EXAMPLES = """\
The same query is asked in a new session. A page that a session read at most --max-age days ago is taken from the
knowledge base and not fetched again. In the end the new report is compared with this one, claim by claim. It exits as
`run` does, and with 1 if no report was written.

examples:
  ua-tui again SAVED_REPORTS/ai-chip-news_20261121_074232.html
  ua-tui again AGENT_RUN_WORKSPACES/session_20261121_074110/work_products/ai-chip-news.html --max-age 1
"""
_DAY = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ua-tui again`."""
    parser.add_argument(
        "report", metavar="REPORT", help="a report of a session, or its copy in SAVED_REPORTS"
    )
    parser.add_argument(
        "--max-age",
        metavar="DAYS",
        type=whole_number(0, 3_650),
        default=7,
        help="how old a page may be that is not fetched again (default: %(default)s; 0: fetch all)",
    )


def run(args: argparse.Namespace) -> int:
    """Ask again; returns the exit code.

    Raises:
        SettingsError: the file is no report of a session here, the session is somebody else's, or a setting is wrong.
    """
    from ua_tui.core.history.versions import find_origin
    from ua_tui.tui.cli.start import start_headless

    settings = settings_of(args)
    path = Path(args.report)
    shown = clean_line(args.report, 300)
    if not path.is_file():
        raise SettingsError(f"there is no report {shown}")
    origin = find_origin(path)
    if origin is None or not origin.session.is_dir():
        raise SettingsError(
            f"the session that wrote {shown} is not here: name a report of a session, or of SAVED_REPORTS"
        )
    # What others wrote is asked as nobody's query.
    if not is_own_session(origin.session):
        raise SettingsError(not_own(origin.session, "its reports can be read, but its query is not asked"))
    query = _query_of(origin)
    sys.stderr.write(f"Asking again: {clean_line(query, 300)}\n")
    opened: list[Path] = []
    settings = replace(settings, page_age=args.max_age * _DAY)
    code = start_headless(settings, query, as_json=False, opened=opened.append)
    return code or _compare(path, origin, opened[0], settings)


def _view(session: Path) -> SessionView:
    from ua_tui.core.records.journal_reader import read_events
    from ua_tui.core.view.session import fold

    return fold(read_events(session))


def _query_of(origin: TextOrigin) -> str:
    """The query for which a report was written.

    Raises:
        SettingsError: the session has none.
    """
    view = _view(origin.session)
    artifact = view.artifacts.get(origin.source)
    call = view.call(artifact.tool_use_id) if artifact is not None else None
    query = (view.query(call.query_id) if call is not None else None) or view.last_query
    if query is None:
        raise SettingsError(f"the session {clean_line(origin.session.name, 100)} has no query to ask again")
    return query.text


def _compare(path: Path, origin: TextOrigin, session: Path, settings: Settings) -> int:
    """Print what differs between a report and the newest one of a session."""
    from ua_tui.core.claims.changes import compare_claims
    from ua_tui.core.claims.files import report_format

    artifacts = _view(session).artifacts.values()
    written = [each.path for each in artifacts if each.kind == "work_product" and report_format(each.path)]
    if not written:
        return complain(f"the new session {session.name} wrote no report: there is nothing to compare")
    before = _check(path, origin.source, origin.session, settings)
    after = _check(session / written[-1], written[-1], session, settings)
    print_line(f"\nCompared with {path.name}: {session.name}/{written[-1]}")
    for line in _lines(compare_claims(before.claims, after.claims), before, after):
        print_line(line)
    return 0


def _check(path: Path, report: str, session: Path, settings: Settings) -> ReportCheck:
    from ua_tui.core.knowledge.place import place_of
    from ua_tui.observers.check.session import check_in_session

    return check_in_session(path.read_bytes(), report, session, redactor_of(settings), place_of(settings))


def _lines(changes: ClaimChanges, before: ReportCheck, after: ReportCheck) -> Iterator[str]:
    counts = (changes.same, len(changes.changed), len(changes.new), len(changes.gone))
    yield "Claims: {} the same, {} changed, {} new, {} gone".format(*counts)
    for old, new in changes.changed:
        yield f"  changed  {_quoted(old.quote.exact)} is now {_quoted(new.quote.exact)}: {_short(new.sentence)}"
    for claim in changes.new:
        yield f"  new      {_quoted(claim.quote.exact)}: {_short(claim.sentence)}"
    for claim in changes.gone:
        yield f"  gone     {_quoted(claim.quote.exact)}: {_short(claim.sentence)}"
    old_pages, new_pages = (
        {each.url for each in check.sources if each.kind == "article"} for check in (before, after)
    )
    both = len(old_pages & new_pages)
    yield f"Pages: {both} in common, {len(new_pages) - both} new, {len(old_pages) - both} gone"


def _quoted(text: str) -> str:
    return f'"{clean_line(text, 120)}"'


def _short(sentence: str) -> str:
    return clean_line(sentence, 160)
