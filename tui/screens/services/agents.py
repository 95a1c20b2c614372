"""The sub-agents, skills and custom commands: where each comes from, its tools and model, and its problems."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from textual.content import Content

from ua_tui.core.agent.definitions.roster import RosterEntry, expected_servers, read_roster, roster_entries
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import McpServer
from ua_tui.core.events.units import quantity
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.core.text import clean_line
from ua_tui.tui.ports import SessionPort
from ua_tui.tui.render.format import middle_cut
from ua_tui.tui.screens.services.row_screen import MUTED, RowScreen, field, hanging
from ua_tui.tui.widgets.column_list import Column
from ua_tui.tui.workers import start_job

_LONGEST = 6_000
_STATES = {
    "ready": ("✓", "$success"),
    "broken": ("!", "$warning"),
    "left out": ("✗", "$error"),
    "replaced": ("⊘", MUTED),
    "off": ("·", MUTED),
}
_FROMS = {"project": "folder", "user": "yours", "shipped": "ua-tui"}


class AgentsScreen(RowScreen[RosterEntry]):
    """Lists the files as they are now; the running session keeps what it read at its start.

    Args:
        settings: the settings.
        session: returns the session, whose servers provide the tools; None before it starts.
    """

    OFFERED = (("agents.read", "reload", "read"),)

    def __init__(self, settings: Settings, session: Callable[[], SessionPort | None]) -> None:
        super().__init__()
        self._find_session = session
        self._settings = settings
        self._setting_problems: tuple[str, ...] = ()
        self._failure = ""

    def on_mount(self) -> None:
        """Read the files."""
        self.title_line.show("Sub-agents and skills", facts="reading …")
        self.action_read()

    def action_read(self) -> None:
        """Read the files again."""
        start_job(self, self._read, "agents")

    async def _read(self) -> None:
        session = self._find_session()
        controls = session.controls if session is not None else None
        known = controls.servers.known if controls is not None else ()
        try:
            self.rows, self._setting_problems = await asyncio.to_thread(self._read_entries, known)
            self._failure = ""
        except (UniversalAgentError, OSError) as error:
            self._failure = clean_line(str(error), 400)
        self.show_rows()

    def _read_entries(self, known: Sequence[McpServer]) -> tuple[list[RosterEntry], tuple[str, ...]]:
        places = Places()
        roster = read_roster(self._settings, places)
        servers = known or expected_servers(self._settings, places.cwd)
        return roster_entries(roster, self._settings, servers), roster.not_chosen

    def show_rows(self) -> None:
        """Show the files and how many there are."""
        if self.rows:
            self.title_line.show(facts=_counts(self.rows))
        super().show_rows()

    def columns(self, width: int) -> Sequence[Column[RosterEntry]]:
        """The name and what it is; where it is from if there is room, as the details say that, too."""
        columns: list[Column[RosterEntry]] = [
            Column("kind", 8, lambda row: row.kind, MUTED),
            Column("state", 9, lambda row: row.state, lambda row: _STATES[row.state][1], gap=0),
            Column("tools", 5, _tools, MUTED, right=True),
            Column("model", 9, lambda row: clean_line(row.model) or "–", MUTED),
            Column("from", 8, lambda row: _FROMS[row.source], MUTED),
        ]
        others = 3 + sum(each.width + each.gap for each in columns)
        room = max(12, min(40, width - others))
        name = Column[RosterEntry]("name", room, lambda row: clean_line(row.name), gap=0, cut=middle_cut)
        return [name, *columns[: None if width >= 12 + others else -1]]

    def mark(self, row: RosterEntry) -> tuple[str, str]:
        """The sign of its state."""
        return _STATES[row.state]

    def details(self) -> Iterator[Content]:
        """The details of the file under the cursor, and the problems of the setting."""
        entry, width = self.chosen, self._width
        failures = filter(None, (self._failure, *self._setting_problems))
        yield from (_line("✗ ", each, width, "$error") for each in failures)
        if entry is not None:
            mark, style = _STATES[entry.state]
            yield Content.assemble(
                (clean_line(entry.name), "bold"),
                (f"  {mark} {entry.state}", style),
                (f" · {entry.kind}", MUTED),
            )
            yield from (_line("✗ ", each, width, "$error") for each in entry.problems)
            yield from (_line("· ", each, width, MUTED) for each in entry.notes)
            if entry.description:
                yield _line("", entry.description, width)
            if entry.kind == "agent" and entry.state != "left out":
                names = [tool_name(tool).short for tool in entry.tools or ()]
                tools = "all tools of the session" if entry.tools is None else ", ".join(names) or "none"
                yield _field("tools", tools, width)
                model = "same as the calling agent" if entry.model == "inherit" else entry.model
                yield _field("model", model, width)
            if entry.source == "shipped":
                yield _field("from", "shipped with ua-tui", width)
            else:
                yield _field("from", entry.origin, width)
        where = "Sub-agents: .claude/agents/NAME.md here or in your home folder. Skills: .claude/skills/NAME/SKILL.md. "
        where += "Commands: .claude/commands/NAME.md. Changes apply from the next session."
        yield from (Content(""), _line("", where, width, MUTED))


def _counts(entries: Sequence[RosterEntry]) -> str:
    """How many there are, and how many have a problem."""
    count = Counter(each.kind for each in entries if each.state in ("ready", "broken"))
    problems = sum(bool(each.problems) for each in entries)
    facts = (
        f"{count['agent']} sub-agents",
        f"{quantity(count['skill'], 'skill')} on",
        quantity(count["command"], "command") if count["command"] else "",
        quantity(problems, "problem") if problems else "",
    )
    return " · ".join(filter(None, facts))


def _tools(entry: RosterEntry) -> str:
    if entry.kind != "agent" or entry.state == "left out":
        return "–"
    return "all" if entry.tools is None else f"{len(entry.tools)}"


def _line(mark: str, text: str, width: int, style: str = "") -> Content:
    return hanging((mark, style), clean_line(text, _LONGEST), width, style)


def _field(label: str, text: str, width: int) -> Content:
    return field(label, clean_line(text, _LONGEST), width)
