"""`ua-tui sessions`: the sessions of a folder, on a screen of their own or as a list."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.units import duration, money
from ua_tui.core.history.headline import Summary
from ua_tui.core.history.index import SessionIndex, branch, with_families
from ua_tui.core.knowledge.place import place_of
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import settings_of
from ua_tui.tui.cli.output import complain, has_screen, local_time, print_list

_HEADER = ("SESSION", "STATE", "STARTED", "DURATION", "COST", "CALLS", "FILES", "TITLE OR FIRST QUERY")


def run(args: argparse.Namespace) -> int:
    """Show the sessions; returns the exit code.

    Without a terminal, or with `--json`, the sessions are printed.

    Raises:
        SettingsError: there is no such folder.
    """
    settings = settings_of(args)
    if not settings.workspace_base.is_dir():
        raise SettingsError(f"there is no folder {clean_line(str(settings.workspace_base), 700)}")
    index = SessionIndex(settings.workspace_base, knowledge=place_of(settings))
    if args.json or not has_screen():
        found = [summary for batch in index.refresh() for summary in batch]
        if not found and not args.json:
            complain(f"there are no sessions in {index.sessions}")
        else:
            rows = (
                (*_row(each), f"{branch(at)}{clean_line(each.line, 200)}")
                for each, at in with_families(found)
            )
            print_list(map(_fields, found), _HEADER, rows, as_json=args.json)
        return 0
    from ua_tui.tui.app.list_apps import ListApp
    from ua_tui.tui.screens.session.sessions import SessionsScreen

    screen = SessionsScreen(index, comes_back=True, database=place_of(settings))
    app = ListApp(settings, screen, "ua-tui sessions")
    app.run()
    return app.return_code or 0


def _fields(summary: Summary) -> dict[str, Any]:
    return {
        "session": summary.name,
        "state": summary.state,
        "title": summary.title,
        "query": summary.query,
        "started": None if summary.started is None else datetime.fromtimestamp(summary.started, UTC),
        "seconds": summary.seconds,
        "cost_usd": summary.known_cost,
        "cost_is_estimated": summary.is_estimated,
        "tool_calls": summary.calls,
        "artifacts": summary.artifacts,
        "demo": summary.demo,
        "forked_from": summary.forked_from or None,
        "error": summary.why or None,
    }


def _row(summary: Summary) -> tuple[str, ...]:
    return (
        summary.name,
        summary.state,
        "-" if summary.started is None else local_time(datetime.fromtimestamp(summary.started, UTC)),
        "-" if summary.seconds is None else duration(summary.seconds),
        "?" if summary.unpriced else money(summary.cost, is_estimated=summary.is_estimated) or "-",
        "-" if summary.calls is None else str(summary.calls),
        "-" if summary.artifacts is None else str(summary.artifacts),
    )
