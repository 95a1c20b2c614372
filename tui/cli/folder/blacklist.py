"""`ua-tui blacklist`: shows and clears the sites that the web reader cannot read."""

from __future__ import annotations

import argparse
import json
import logging
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import add_sessions_folder
from ua_tui.tui.cli.output import complain, print_line, print_table
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.web_reader.blacklist import Blacklist, Listing

_complain = partial(complain, prog="ua-tui blacklist")
_HEADER = ("SITE", "ERRORS", "LAST ERROR", "LISTED SINCE", "UNTIL")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to the parser."""
    parser.add_argument(
        "action", nargs="?", choices=["clear"], help="clear sites; without an action, show the list"
    )
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="a site to clear, such as papers.example")
    parser.add_argument("--all", action="store_true", help="with clear: every site")
    add_sessions_folder(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code: 0, 1 when a site or the file is at fault, 2 for wrong usage."""
    if args.action is None and args.all:
        return _complain("--all goes with clear", EXIT_USAGE)
    if args.action == "clear" and bool(args.hosts) == args.all:
        return _complain("name the sites to clear, or give --all", EXIT_USAGE)
    logging.basicConfig(format="ua-tui blacklist: %(message)s", level=logging.WARNING)
    try:
        blacklist = _open(args.workspace)
        return _clear(blacklist, args) if args.action == "clear" else _list(blacklist, as_json=args.json)
    except UniversalAgentError as error:
        return _complain(str(error), EXIT_FAILED)


def _open(workspace: str | None) -> Blacklist:
    from ua_tui.core.settings.loading import load_settings
    from ua_tui.core.storage.folders import WORKSPACES
    from ua_tui.core.web_reader.blacklist import Blacklist

    settings = load_settings({"workspace_base": Path(workspace) if workspace else None})
    return Blacklist(settings.workspace_base / WORKSPACES)


def _list(blacklist: Blacklist, *, as_json: bool) -> int:
    entries = blacklist.entries()
    if as_json:
        print_line(json.dumps([_plain(entry) for entry in entries], indent=2))
        return 0
    listed = sum(entry.listed for entry in entries)
    if not entries:
        print_line("nothing is on the blacklist")
        return 0
    print_table([_HEADER, *(_row(entry) for entry in entries)])
    if not listed:
        print_line("\nnothing is on the blacklist now; these sites have errors that count")
    return 0


def _clear(blacklist: Blacklist, args: argparse.Namespace) -> int:
    cleared: list[str] = []
    unknown: list[str] = []
    for host in [None] if args.all else args.hosts:
        gone = blacklist.clear(host)
        cleared += gone
        if host is not None and not gone:
            unknown.append(host)
    if args.json:
        print_line(json.dumps({"cleared": cleared}, indent=2))
    elif cleared:
        for host in cleared:
            print_line(f"cleared {host}")
    elif args.all:
        print_line("nothing is on the blacklist")
    if unknown:
        names = ", ".join(clean_line(host, 100) for host in unknown)
        return _complain(f"not on the blacklist: {names}; `ua-tui blacklist` shows what is", EXIT_FAILED)
    return 0


def _row(entry: Listing) -> tuple[str, ...]:
    since, until = (_local(moment) if moment else "-" for moment in (entry.since, entry.expires))
    return (clean_line(entry.host), str(len(entry.strikes)), entry.last_error, since, until)


def _plain(entry: Listing) -> dict[str, Any]:
    first, last = entry.strikes[0], entry.strikes[-1]
    return {
        "host": entry.host,
        "listed": entry.listed,
        "strikes": len(entry.strikes),
        "first": first.at.isoformat(),
        "last": last.at.isoformat(),
        "codes": sorted({clean_line(strike.code, 20) for strike in entry.strikes}),
        "reason": entry.last_error,
        "url": clean_line(last.url, 1_000),
        "since": entry.since.isoformat() if entry.since else None,
        "expires": entry.expires.isoformat() if entry.expires else None,
    }


def _local(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
