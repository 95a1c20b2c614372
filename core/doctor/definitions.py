"""Checks the files of sub-agents, skills and commands: one finding for all, or one for each file with a problem."""

from __future__ import annotations

from ua_tui.core.agent.definitions.roster import (
    Roster,
    RosterEntry,
    expected_servers,
    problems_of,
    read_roster,
    roster_entries,
)
from ua_tui.core.doctor.findings import Finding, failed, ok
from ua_tui.core.events.units import quantity
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places

_MOST = 20
_KINDS = {"agent": "Sub-agent", "skill": "Skill", "command": "Command"}


def check_definitions(settings: Settings, places: Places) -> dict[str, Finding]:
    """Read every file as a session in the current folder would; gives findings by title."""
    roster = read_roster(settings, places)
    listed = roster_entries(roster, settings, expected_servers(settings, places.cwd))
    found = {
        f"{_KINDS[entry.kind]} {entry.name}": failed(
            " ".join(problems), f"{_consequence(entry)}; ua-tui agents lists every file"
        )
        for entry in listed
        if (problems := problems_of(entry))
    }
    if roster.not_chosen:
        found["Skills"] = failed(" ".join(roster.not_chosen), "correct the setting skills")
    if len(found) > _MOST:
        more = failed(f"{len(found) - _MOST} more files have problems", "ua-tui agents lists every file")
        found = dict(list(found.items())[:_MOST]) | {"More files": more}
    return found or {"Sub-agents": ok(_counted(roster))}


def _consequence(entry: RosterEntry) -> str:
    if entry.state == "broken":
        return "sessions use it without the invalid parts"
    return "sessions do not use it"


def _counted(roster: Roster) -> str:
    skills = len(roster.skills.definitions)
    chosen = f"{len(roster.chosen)} of {skills} skills are on" if skills else "no skills"
    commands = len(roster.commands.definitions)
    more = f", {quantity(commands, 'command')}" if commands else ""
    return f"{len(roster.subagents)} sub-agents, {chosen}{more}"
