"""Which sub-agents and skills a session has, where each comes from, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from core.agent.definitions.prompts import Source, SubagentDefinition
from core.agent.definitions.rules import Rule
from core.agent.definitions.skills import FoundSkills, Skill, chosen_skills, find_skills
from core.agent.definitions.subagents import Found, ToolFinding, find_subagents, homes, look_at_tools
from core.agent.options import BASE_TOOLS
from core.connections.composio.session import SERVER as COMPOSIO
from core.connections.toolkit import SERVER as TOOLKIT
from core.connections.user_servers import OwnServer, project_servers, set_servers
from core.connections.web_reader import SERVER as WEB_READER
from core.errors import SettingsError
from core.events.types import Event, McpServer, McpStatus, SessionStarted
from core.settings.model import EXTRA_TOOLS, Places, Settings

__all__ = [
    "Entry",
    "Roster",
    "RosterWatch",
    "State",
    "entries",
    "expected_servers",
    "problems_of",
    "read_roster",
]

MOST_TOLD = 5
"""How many problems a session tells of, one by one, as it starts."""

_PENDING = frozenset({"pending", "reconnecting", "enabling", "disabling"})
_OTHER_MODELS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")

State = Literal["ready", "wrong", "left out", "replaced", "off"]
"""What becomes of a file: it is used, also when a tool is wrong; it is not; another one has its name; it is not on."""


@dataclass(frozen=True)
class Roster:
    """What was found for a session: its sub-agents, the skills there are, and those that are switched on."""

    found: Found
    skills: FoundSkills
    chosen: tuple[Skill, ...] = ()
    not_chosen: tuple[str, ...] = ()

    @property
    def subagents(self) -> tuple[SubagentDefinition, ...]:
        """The sub-agents that the model is offered."""
        return self.found.subagents

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What they must have done before they may stop."""
        return tuple(rule for each in self.subagents for rule in each.rules)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the files and with the setting, each in a sentence."""
        unusable = [*self.found.unusable, *self.skills.unusable]
        return [*(each.problem for each in unusable), *self.not_chosen]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file of the list. `problems` are to be mended; `notes` are to be known."""

    kind: Literal["agent", "skill"]
    name: str
    state: State
    source: Source
    origin: str
    description: str = ""
    tools: tuple[str, ...] | None = ()
    model: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_roster(settings: Settings, places: Places) -> Roster:
    """Read every definition; never fails, as what is wrong with a file is part of what was found."""
    where = {"cwd": places.cwd, "home": places.home, "config_dir": places.config_dir}
    # Elsewhere than at Anthropic a model may have any name.
    any_model = bool(settings.base_url) or any(places.environ.get(name) for name in _OTHER_MODELS)
    skills = find_skills(homes("skills", **where))
    chosen, problems = chosen_skills(settings.skills, skills.skills)
    return Roster(
        find_subagents(homes("agents", **where), any_model=any_model), skills, tuple(chosen), tuple(problems)
    )


def expected_servers(settings: Settings, folder: Path) -> list[McpServer]:
    """The servers that a session here would have, as far as that is known before one is started."""
    own = [*set_servers(settings.mcp_servers), *project_servers(folder)]
    names = [TOOLKIT, COMPOSIO, WEB_READER, *(each.name for each in own if isinstance(each, OwnServer))]
    off = {
        COMPOSIO: not (settings.composio_api_key or settings.demo),
        WEB_READER: not settings.web_reader_key,
    }
    return [
        McpServer(
            name=name,
            status="off" if off.get(name) else "unknown",
            tool_names=list(_TOOLKIT_TOOLS) if name == TOOLKIT else [],
        )
        for name in dict.fromkeys(names)
    ]


def entries(roster: Roster, settings: Settings, servers: Sequence[McpServer]) -> list[Entry]:
    """Everything that was found, sub-agents first, what is wrong before what is right."""
    listed = [
        *(_unusable("agent", each.origin, each.source, each.problem) for each in roster.found.unusable),
        *(_subagent(each, roster, settings, servers) for each in roster.subagents),
        *(
            Entry(
                kind="agent",
                name=name,
                state="replaced",
                source=each.source,
                origin=each.origin,
                description=each.description,
                tools=each.tools,
                model=each.model,
                notes=(f"replaced by {_of(roster, name).origin}",),
            )
            for name, lost in roster.found.replaced.items()
            for each in lost
        ),
        *(_unusable("skill", each.origin, each.source, each.problem) for each in roster.skills.unusable),
    ]
    for skill in (*roster.skills.skills, *roster.skills.replaced):
        state, notes = _standing(skill, roster)
        listed.append(
            Entry(
                kind="skill",
                name=skill.name,
                state=state,
                source=skill.source,
                origin=skill.origin,
                description=skill.description,
                notes=notes,
            )
        )
    return listed


def problems_of(entry: Entry) -> list[str]:
    """What is wrong with a file, each told with its name."""
    named = entry.state != "left out"
    return [f"{entry.origin}: {problem}" if named else problem for problem in entry.problems]


class RosterWatch:
    """Tells in a session what is wrong: of the files as it starts, and of their tools once the servers are there."""

    def __init__(
        self, roster: Roster, settings: Settings, report: Callable[[str, Exception], object]
    ) -> None:
        self._roster = roster
        self._settings = settings
        self._report = report
        self._told: set[tuple[str, str]] = set()
        self._begun = False

    def __call__(self, event: Event) -> None:
        """Take an event of the session."""
        match event:
            case SessionStarted() if not self._begun:
                self._begun = True
                self._tell(self._roster.problems)
            case McpStatus(servers=servers) if _are_settled(servers):
                found = [
                    (definition, self._new(definition, servers)) for definition in self._roster.subagents
                ]
                self._tell([_named(definition, new) for definition, new in found if new])
            case _:
                return

    def _new(self, definition: SubagentDefinition, servers: Sequence[McpServer]) -> list[ToolFinding]:
        if definition.source == "shipped":
            return []
        found = _look(definition, self._settings, servers)
        new = [each for each in found if each.wrong and (definition.origin, each.tool) not in self._told]
        self._told.update((definition.origin, each.tool) for each in new)
        return new

    def _tell(self, problems: Sequence[str]) -> None:
        for problem in problems[:MOST_TOLD]:
            self._report("sub-agents and skills", SettingsError(problem))
        if (more := len(problems) - MOST_TOLD) > 0:
            told = f"{more} more files of sub-agents and skills are wrong: /agents lists them."
            self._report("sub-agents and skills", SettingsError(told))


_OF_AGENT = frozenset({"claude", "Explore", "general-purpose", "Plan", "statusline-setup"})
_OF_WORKBENCH = (f"mcp__{TOOLKIT}__workbench_download", f"mcp__{TOOLKIT}__workbench_upload")
_TOOLKIT_TOOLS = (
    "crawl_parallel",
    "save_corpus",
    "write_local_file",
    "read_local_file",
    "list_directory",
)


def _are_settled(servers: Sequence[McpServer]) -> bool:
    states: Mapping[str, str] = {server.name: server.status for server in servers}
    return states.get(TOOLKIT, "pending") not in _PENDING and _PENDING.isdisjoint(states.values())


def _look(
    definition: SubagentDefinition, settings: Settings, servers: Sequence[McpServer]
) -> list[ToolFinding]:
    offered = [*BASE_TOOLS, *settings.extra_tools, *(["Skill"] if settings.skills else [])]
    found = look_at_tools(definition, offered=offered, can_be_offered=EXTRA_TOOLS, servers=servers)
    # The toolkit has these only where there is a workbench.
    return [
        replace(each, wrong=False, told="the workbench is off") if each.tool in _OF_WORKBENCH else each
        for each in found
    ]


def _named(definition: SubagentDefinition, findings: Sequence[ToolFinding]) -> str:
    first, *more = (each.told for each in findings)
    told = " ".join([first, *(each[0].upper() + each[1:] for each in more)])
    without = "it" if len(findings) == 1 else "them"
    return f"{definition.origin}: {told} The sub-agent {definition.name} goes on without {without}."


def _subagent(
    definition: SubagentDefinition, roster: Roster, settings: Settings, servers: Sequence[McpServer]
) -> Entry:
    found = _look(definition, settings, servers)
    problems = tuple(each.told for each in found if each.wrong)
    notes = [each.told for each in found if not each.wrong]
    lost = roster.found.replaced.get(definition.name, ())
    if lost:
        notes.append("replaces " + ", ".join(_whose(each) for each in lost))
    if definition.name in _OF_AGENT:
        notes.append("replaces one that the agent brings along")
    if definition.unheeded:
        notes.append(f"has no effect here: {', '.join(definition.unheeded)}")
    return Entry(
        kind="agent",
        name=definition.name,
        state="wrong" if problems else "ready",
        source=definition.source,
        origin=definition.origin,
        description=definition.description,
        tools=definition.tools,
        model=definition.model,
        problems=problems,
        notes=tuple(dict.fromkeys(notes)),
    )


def _standing(skill: Skill, roster: Roster) -> tuple[State, tuple[str, ...]]:
    if skill in roster.chosen:
        return "ready", ()
    if skill in roster.skills.replaced:
        winner = next(each for each in roster.skills.skills if each.name == skill.name)
        return "replaced", (f"{winner.origin} has the name",)
    names = ",".join([*(each.name for each in roster.chosen), skill.name])
    return "off", (f"off: ua-tui config set skills {names}",)


def _whose(definition: SubagentDefinition) -> str:
    return "the one that ships with ua-tui" if definition.source == "shipped" else definition.origin


def _of(roster: Roster, name: str) -> SubagentDefinition:
    return next(each for each in roster.subagents if each.name == name)


def _unusable(kind: Literal["agent", "skill"], origin: str, source: Source, problem: str) -> Entry:
    path = Path(origin)
    name = path.parent.name if kind == "skill" and path.name == "SKILL.md" else path.stem
    return Entry(kind=kind, name=name, state="left out", source=source, origin=origin, problems=(problem,))
