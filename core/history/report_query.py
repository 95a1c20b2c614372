"""The query for which a report was written, to be asked again."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ua_tui.core.claims.files import is_report
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import QueryFinished
from ua_tui.core.history.versions import TextOrigin, find_origin
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.storage.ownership import is_own_session, not_own
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import fold

PAGE_AGE = 7 * 86_400
"""Seconds: how old a page may be, by default, that is not fetched again when a query is asked again."""


class ReportQuery(msgspec.Struct, frozen=True):
    """The query of a report: its text, the report it is of, whether it was asked in the demo, and how it ended."""

    text: str
    origin: TextOrigin
    is_demo: bool
    end: QueryFinished | None = None


def find_query(report: Path) -> ReportQuery:
    """Find the query for which a report of the user's own session was written. Blocks.

    Raises:
        SettingsError: there is no such report, or its session is not here, is somebody else's, or has no query.
        JournalError: the session cannot be read.
    """
    shown = clean_line(str(report), 300)
    if not report.is_file():
        why = "Is a directory" if report.is_dir() else "No such file or directory"
        raise SettingsError(f"{shown} cannot be read: {why}")
    origin = find_origin(report)
    advice = "name a report in the work_products of a session, or its copy in SAVED_REPORTS"
    if origin is None:
        raise SettingsError(f"{shown} is not the report of any session: {advice}; an export does not count")
    if not origin.session.is_dir():
        raise SettingsError(f"the session that wrote {shown} is not here: {advice}")
    # What others wrote is asked as nobody's query.
    if not is_own_session(origin.session):
        raise SettingsError(
            not_own(origin.session, "its reports can be read, but its query is not run again")
        )
    view = fold(read_events(origin.session))
    artifact = view.artifacts.get(origin.source)
    if artifact is None or not is_report(artifact.path, artifact.kind):
        raise SettingsError(
            f"{shown} is not a report of its session: `ua-tui again` needs one that the agent wrote"
        )
    call = view.call(artifact.tool_use_id)
    query = (view.query(call.query_id) if call is not None else None) or view.last_query
    if query is None:
        raise SettingsError(f"the session {clean_line(origin.session.name, 100)} has no query to ask again")
    return ReportQuery(query.text, origin, view.setup.demo, query.end)
