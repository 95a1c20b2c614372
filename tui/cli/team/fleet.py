"""`ua-tui fleet`: all sessions of this machine and of a team, live on a screen, or printed once."""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import (
    add_address,
    add_sessions_folder,
    add_theme,
    optional_address,
    workspace_settings,
)
from ua_tui.tui.cli.output import complain, has_screen, local_time, print_json, print_line, print_table
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED

if TYPE_CHECKING:
    from ua_tui.core.team.fleet.rows import Fleet, FleetRow

EXAMPLES = """\
Without an address, and without the setting `team`, only the sessions and jobs of this machine are listed.

examples:
  ua-tui fleet
  ua-tui fleet --from postgresql://mary@db.example/desk
  ua-tui fleet --json | jq '.sessions[] | select(.state == "needs_you")'
"""
_HEADER = ("STATE", "STARTED", "TIME", "COST", "WHERE", "OWNER", "TITLE OR FIRST QUERY", "NOW")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to the parser."""
    add_address(parser, "--from", "the team's database")
    add_sessions_folder(parser)
    add_theme(parser)
    parser.add_argument("--json", action="store_true", help="print the sessions once, as JSON")
    # For the list, which opens a session this way and waits.
    parser.add_argument("--follow", metavar="ID", help=argparse.SUPPRESS)
    parser.add_argument("--folder", metavar="DIR", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Show the fleet; returns the exit code.

    Without a terminal, or with `--json`, it is printed once.

    Raises:
        SettingsError: the settings or the address are wrong.
        TeamError: the team's database cannot be used.
    """
    settings = workspace_settings(args)
    address = optional_address(args.address or None, settings)
    if args.follow:
        from ua_tui.tui.cli.team.following import follow

        return follow(settings, args.follow, address, Path(args.folder) if args.folder else None)
    from ua_tui.core.history.index import SessionIndex
    from ua_tui.core.team.fleet.source import FleetSource

    index = SessionIndex(settings.workspace_base)
    if args.json or not has_screen():
        return _print(
            asyncio.run(FleetSource(index, address).read()),
            as_json=args.json,
            place=str(address or index.sessions),
        )

    from ua_tui.tui.app.list_apps import FleetApp
    from ua_tui.tui.keys.keymap import choose_keys

    app = FleetApp(FleetSource(index, address), settings, keys=choose_keys(settings.keys))
    app.run()
    return app.return_code or 0


def _print(fleet: Fleet, *, as_json: bool, place: str) -> int:
    if fleet.notice:
        complain(fleet.notice)
    if as_json:
        rows = [_fields(each) for each in fleet.rows]
        print_json({"sessions": rows, "waiting": fleet.waiting, "cost_usd": fleet.cost_usd})
    elif not fleet.rows:
        return complain(f"there are no sessions in {place}", 0)
    else:
        print_table([_HEADER, *map(_row, fleet.rows)])
        listed = sum(row.state == "waiting" and not row.session for row in fleet.rows)
        if fleet.waiting > listed:
            print_line(f"and {fleet.waiting - listed:,} more jobs that wait")
    return EXIT_FAILED if fleet.notice else 0


def _fields(row: FleetRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "state": row.state,
        "title": row.title,
        "now": row.activity,
        "cost_usd": row.cost_usd,
        "started": _iso(row.started),
        "finished": _iso(row.finished),
        "where": row.where,
        "owner": row.owner,
        "session": row.name,
        "job": row.job,
        "folder": row.folder or None,
        "private": row.private,
        "demo": row.demo,
    }


def _row(row: FleetRow) -> tuple[str, ...]:
    import time

    from ua_tui.core.events.units import duration, money

    seconds = row.seconds(time.time())
    return (
        row.state.replace("_", " "),
        "-" if row.started is None else local_time(datetime.fromtimestamp(row.started, UTC)),
        "-" if seconds is None else duration(seconds),
        money(row.cost_usd) or "-",
        row.where or "-",
        row.owner or "-",
        clean_line(row.title or row.name or "-", 100),
        clean_line(row.activity, 100),
    )


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
