"""`ua-tui blacklist`: shows and clears the sites that the web reader cannot read."""

from __future__ import annotations

import argparse
import logging
from typing import Any

from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.text import clean_line
from ua_tui.core.web_reader import Blacklist, Listing
from ua_tui.tui.cli.arguments import WrongUsage, settings_of
from ua_tui.tui.cli.output import complain, local_time, print_json, print_line, print_list
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

_HEADER = ("SITE", "ERRORS", "LAST ERROR", "LISTED SINCE", "UNTIL")
_NONE = "nothing is on the blacklist"


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code: 0, 1 when a site or the file is at fault, 2 for wrong usage."""
    if args.action is None and args.all:
        raise WrongUsage("--all can only be used with clear")
    if args.action == "clear" and bool(args.hosts) == args.all:
        raise WrongUsage("name the sites to clear, or give --all")
    warnings = logging.StreamHandler()
    warnings.setFormatter(logging.Formatter("ua-tui: %(message)s"))
    logging.getLogger().addHandler(warnings)
    try:
        blacklist = Blacklist(settings_of(args).workspace_base / WORKSPACES)
        return _clear(blacklist, args) if args.action == "clear" else _list(blacklist, as_json=args.json)
    finally:
        logging.getLogger().removeHandler(warnings)


def _list(blacklist: Blacklist, *, as_json: bool) -> int:
    entries = blacklist.entries()
    print_list(map(_plain, entries), _HEADER, map(_row, entries), as_json=as_json, empty=_NONE)
    if entries and not as_json and not any(entry.listed for entry in entries):
        print_line("\nnothing is on the blacklist now; these sites have had errors")
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
        print_json({"cleared": cleared})
    elif cleared:
        for host in cleared:
            print_line(f"cleared {host}")
    elif args.all:
        print_line(_NONE)
    if unknown:
        names = ", ".join(clean_line(host, 100) for host in unknown)
        return complain(f"not on the blacklist: {names}; `ua-tui blacklist` shows what is", EXIT_USAGE)
    return 0


def _row(entry: Listing) -> tuple[str, ...]:
    since, until = (local_time(moment) if moment else "-" for moment in (entry.since, entry.expires))
    return (clean_line(entry.host), str(len(entry.strikes)), entry.last_error, since, until)


def _plain(entry: Listing) -> dict[str, Any]:
    first, last = entry.strikes[0], entry.strikes[-1]
    return {
        "host": entry.host,
        "listed": entry.listed,
        "strikes": len(entry.strikes),
        "first": first.at,
        "last": last.at,
        "codes": sorted({clean_line(strike.code, 20) for strike in entry.strikes}),
        "reason": entry.last_error,
        "url": clean_line(last.url, 1_000),
        "since": entry.since,
        "expires": entry.expires,
    }
