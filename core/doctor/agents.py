"""Whether the files of sub-agents and skills can be used: one finding for all, or one for each that is wrong."""

from __future__ import annotations

from core.agent.definitions.roster import (
    Roster,
    RosterEntry,
    expected_servers,
    problems_of,
    read_roster,
    roster_entries,
)
from core.doctor.check import Finding, failed, ok
from core.settings.model import Places, Settings

__all__ = ["look_at_roster"]

_MOST = 20


def look_at_roster(settings: Settings, places: Places) -> dict[str, Finding]:
    """Read every file as a session here would; gives what is to be said by whom it is said of."""
    roster = read_roster(settings, places)
    listed = roster_entries(roster, settings, expected_servers(settings, places.cwd))
    found = {
        f"{'Skill' if entry.kind == 'skill' else 'Sub-agent'} {entry.name}": failed(
            " ".join(told), f"{_what_becomes_of(entry)}; ua-tui agents lists every file"
        )
        for entry in listed
        if (told := problems_of(entry))
    }
    if roster.not_chosen:
        found["Skills"] = failed(" ".join(roster.not_chosen), "correct the setting skills")
    if len(found) > _MOST:
        more = failed(f"{len(found) - _MOST} more files are wrong", "ua-tui agents lists every file")
        found = dict(list(found.items())[:_MOST]) | {"More of them": more}
    return found or {"Sub-agents": ok(_counted(roster))}


def _what_becomes_of(entry: RosterEntry) -> str:
    if entry.state == "broken":
        return "a session has it all the same, without what is wrong in it"
    return "a session goes on without it"


def _counted(roster: Roster) -> str:
    skills = len(roster.skills.skills)
    told = f"{len(roster.chosen)} of {skills} skills are on" if skills else "no skills"
    return f"{len(roster.subagents)} sub-agents, {told}"
