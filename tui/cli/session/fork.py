"""`ua-tui fork`: a new session that continues another one from an earlier query, which can be changed."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import QueryReceived
from ua_tui.core.history.lookup import find_session
from ua_tui.core.history.session import queries_of
from ua_tui.core.session.fork import fork_with
from ua_tui.core.session.resume import prepare_resume
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import named_settings, settings_of
from ua_tui.tui.cli.output import has_screen, print_line


def run(args: argparse.Namespace) -> int:
    """Fork a session; returns the exit code.

    Raises:
        UniversalAgentError: it cannot be forked.
    """
    from ua_tui.tui.cli.session.compare import print_comparison
    from ua_tui.tui.cli.start import start_headless, start_on_screen
    from ua_tui.tui.plain.one_query import OneQuery

    settings = settings_of(args)
    folder = find_session(settings.workspace_base, args.session)
    query = _query(folder, args.at) if args.at or args.model else None
    fork = fork_with(settings, folder, query.query_id if query is not None else None)
    if not args.model and not has_screen():
        print_line(str(fork))
        return 0
    settings, resume = prepare_resume(settings, fork, named=named_settings(args))
    if not args.model or query is None:
        return start_on_screen(settings, None, resume)
    if has_screen():
        return start_on_screen(settings, query.text, msgspec.structs.replace(resume, compared_with=folder))
    code = start_headless(settings, OneQuery(text=query.text, resume=resume))
    print_line("")
    print_comparison(folder, fork, settings)
    return code


def _query(folder: Path, wanted: str | None) -> QueryReceived:
    """The query that a person names, or the last one.

    Raises:
        SettingsError: there is none.
    """
    queries = queries_of(folder)
    if wanted is None and queries:
        return queries[-1]
    name = f"q{wanted}" if re.fullmatch(r"\d{1,9}", wanted or "") else wanted
    found = next((query for query in queries if query.query_id == name), None)
    if found is None:
        shown = f"the session {clean_line(folder.name, 100)} has no query"
        if wanted is None:
            raise SettingsError(f"{shown} to send to another model")
        ids = list(dict.fromkeys((queries[0].query_id, queries[-1].query_id))) if queries else []
        known = f"it has {'only ' if len(ids) == 1 else ''}{' to '.join(ids) or 'none'}"
        raise SettingsError(f"{shown} {clean_line(wanted, 40)!r}: {known}")
    return found
