"""`ua-tui agents`: the sub-agents, skills and commands of a session in this folder, with their sources and problems."""

from __future__ import annotations

import argparse

from ua_tui.core.agent.definitions.roster import (
    RosterEntry,
    expected_servers,
    problems_of,
    read_roster,
    roster_entries,
)
from ua_tui.core.settings.places import Places
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import settings_of
from ua_tui.tui.cli.output import complain, print_json, print_line, print_table

_HEADER = ("NAME", "KIND", "STATE", "TOOLS", "MODEL", "FROM")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code: 0, or 1 when a file cannot be used as it is.

    Raises:
        SettingsError: a settings file is wrong.
    """
    settings, places = settings_of(args), Places()
    roster = read_roster(settings, places)
    listed = roster_entries(roster, settings, expected_servers(settings, places.cwd))
    if args.json:
        print_json({"entries": listed, "problems": roster.not_chosen})
    else:
        _list(listed)
    problems = [*(problem for each in listed for problem in problems_of(each)), *roster.not_chosen]
    for problem in () if args.json else problems:
        complain(problem)
    return 1 if problems else 0


def tools_of(entry: RosterEntry) -> str:
    """How many tools a sub-agent names, in a word."""
    if entry.kind != "agent" or entry.state == "left out":
        return "-"
    return "all" if entry.tools is None else str(len(entry.tools)) if entry.tools else "none"


def _list(listed: list[RosterEntry]) -> None:
    rows = [
        _HEADER,
        *(
            (
                clean_line(each.name, 64),
                each.kind,
                each.state,
                tools_of(each),
                clean_line(each.model, 40) or "-",
                "ua-tui" if each.source == "shipped" else each.origin,
            )
            for each in listed
        ),
    ]
    print_table(rows)
    for each in listed:
        if each.replaces:
            print_line(f"{clean_line(each.name, 64)} ({each.origin}) replaces {', '.join(each.replaces)}.")
