"""Which sub-agents, skills and custom commands a session has, where each comes from, and its problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from ua_tui.core.agent.definitions.commands import CustomCommand, find_commands
from ua_tui.core.agent.definitions.files import FoundDefinitions, Source, UnusableFile, definition_folders
from ua_tui.core.agent.definitions.rules import SubagentRule
from ua_tui.core.agent.definitions.skills import Skill, chosen_skills, find_skills
from ua_tui.core.agent.definitions.subagents import (
    SubagentDefinition,
    ToolFinding,
    check_tools,
    find_subagents,
    of_agent,
)
from ua_tui.core.agent.options import BASE_TOOLS, RESOURCE_TOOLS
from ua_tui.core.connections.base import COMPOSIO
from ua_tui.core.connections.toolkit import WEB_READER
from ua_tui.core.connections.toolkit_tools import SERVER as TOOLKIT
from ua_tui.core.connections.toolkit_tools import toolkit_tools
from ua_tui.core.connections.user_servers import UserServer, find_user_servers
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import Event, McpServer, McpStatus, SessionStarted
from ua_tui.core.json_values import JsonObject
from ua_tui.core.settings.model import EXTRA_TOOLS, Settings
from ua_tui.core.settings.places import Places

MAX_REPORTED = 5
"""How many problems a session reports one by one as it starts."""

_PENDING = frozenset({"pending", "reconnecting", "enabling", "disabling"})
_OTHER_MODELS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")

Kind = Literal["agent", "skill", "command"]
RosterState = Literal["ready", "broken", "left out", "replaced", "off"]
"""A file is used (`ready`, or `broken` if a tool does not exist), left out, replaced by another, or switched off."""


class Roster(msgspec.Struct, frozen=True):
    """What was found for a session: its sub-agents, its skills, those of them that are switched on, its commands."""

    found: FoundDefinitions[SubagentDefinition]
    skills: FoundDefinitions[Skill]
    chosen: tuple[Skill, ...] = ()
    not_chosen: tuple[str, ...] = ()
    commands: FoundDefinitions[CustomCommand] = msgspec.field(default_factory=FoundDefinitions)

    @property
    def subagents(self) -> tuple[SubagentDefinition, ...]:
        """The sub-agents that the model is offered."""
        return self.found.definitions

    @property
    def rules(self) -> tuple[SubagentRule, ...]:
        """The rules that they must meet before they may stop."""
        return tuple(rule for each in self.subagents for rule in each.rules)

    @property
    def problems(self) -> list[str]:
        """The problems of sub-agents and skills and of the setting, each in a sentence."""
        return [*_problems_in((*self.found.unusable, *self.skills.unusable)), *self.not_chosen]


class RosterEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the list. `problems` need to be fixed; `notes` are for information.

    `replaces` says which sub-agents with its name are not used because of it; a note says so, too.
    """

    kind: Kind
    name: str
    state: RosterState
    source: Source
    origin: str
    description: str = ""
    tools: tuple[str, ...] | None = ()
    model: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()


def read_roster(settings: Settings, places: Places) -> Roster:
    """Read every definition; never fails, as problems of files are part of the result."""
    where = partial(
        definition_folders,
        cwd=places.cwd,
        home=places.home,
        config_dir=places.config_dir,
        trust=settings.folder,
    )
    # A server other than Anthropic's may have models of any name.
    any_model = bool(settings.base_url) or any(places.environ.get(name) for name in _OTHER_MODELS)
    skills = find_skills(where("skills"))
    chosen, problems = chosen_skills(settings.skills, skills.definitions)
    return Roster(
        find_subagents(where("agents"), any_model=any_model),
        skills,
        tuple(chosen),
        tuple(problems),
        find_commands(where("commands")),
    )


def expected_servers(settings: Settings, folder: Path) -> list[McpServer]:
    """The servers that a session in this folder would have, as known before it is started."""
    # The demo uses only its own servers.
    own = [] if settings.demo else find_user_servers(settings, folder)
    names = [TOOLKIT, COMPOSIO, WEB_READER, *(each.name for each in own if isinstance(each, UserServer))]
    off = {
        COMPOSIO: not (settings.composio_api_key or settings.demo),
        WEB_READER: not settings.web_reader_key,
    }
    toolkit = _toolkit_names("always", *(["knowledge"] if settings.knowledge != "off" else []))
    tools = {TOOLKIT: toolkit}
    if settings.demo:
        from ua_tui.core.demo.composio.tools import REMOTE_TOOLS

        tools = {
            TOOLKIT: [*toolkit, *_toolkit_names("sandbox")],
            COMPOSIO: [each.slug for each in REMOTE_TOOLS],
        }
    return [
        McpServer(
            name=name,
            status="off" if off.get(name) else "unknown",
            tool_names=tools.get(name, []),
        )
        for name in dict.fromkeys(names)
    ]


def roster_entries(roster: Roster, settings: Settings, servers: Sequence[McpServer]) -> list[RosterEntry]:
    """Everything that was found: sub-agents, skills, then commands; unusable files before usable ones."""
    return [
        *_entries("agent", roster.found, lambda each: _of_subagent(each, roster, settings, servers)),
        *_entries("skill", roster.skills, lambda each: _of_skill(each, roster)),
        *_entries("command", roster.commands, lambda _each: {}),
    ]


def _entries(
    kind: Kind, found: FoundDefinitions[Any], more: Callable[[Any], JsonObject]
) -> Iterator[RosterEntry]:
    """The files of a kind; `more` is what the list says of a usable one besides its name and origin."""
    for file in found.unusable:
        path = Path(file.origin)
        yield RosterEntry(
            kind=kind,
            name=path.parent.name if path.name == "SKILL.md" else path.stem,
            state="left out",
            source=file.source,
            origin=file.origin,
            problems=() if file.untrusted else (file.problem,),
            notes=(file.problem,) if file.untrusted else (),
        )
    origins = {each.name: each.origin for each in found.definitions}
    for each in (*found.definitions, *found.replaced):
        replaced = {"state": "replaced", "notes": (f"replaced by {origins[each.name]}",)}
        about: JsonObject = {
            "kind": kind,
            "name": each.name,
            "state": "ready",
            "source": each.source,
            "origin": each.origin,
            "description": each.description,
            "tools": getattr(each, "tools", ()),
            "model": getattr(each, "model", ""),
        }
        yield RosterEntry(**about | (more(each) if each in found.definitions else replaced))


def problems_of(entry: RosterEntry) -> list[str]:
    """The problems of a file, each with the name of the file."""
    named = entry.state != "left out"
    return [f"{entry.origin}: {problem}" if named else problem for problem in entry.problems]


class RosterWatch(msgspec.Struct, eq=False):
    """Reports problems in a session: those of the files as it starts, those of their tools once the servers are up."""

    roster: Roster
    settings: Settings
    report: Callable[[str, Exception], object]
    _reported: set[tuple[str, str]] = set()
    _begun: bool = False

    def __call__(self, event: Event) -> None:
        """Report problems when an event of the session allows it."""
        match event:
            case SessionStarted() if not self._begun:
                self._begun = True
                self._report_problems(self.roster.problems)
                self._report_problems(_problems_in(self.roster.commands.unusable), "commands")
                # The model calls the agent's own sub-agents without asking for one of that name.
                for each in self.roster.subagents:
                    if built_in := of_agent(each.name):
                        message = f"{each.origin} replaces {built_in}: rename it if that is not intended."
                        self.report("sub-agents", SettingsError(message))
            case McpStatus(servers=servers) if _are_started(servers):
                found = [
                    (definition, self._new_findings(definition, servers))
                    for definition in self.roster.subagents
                ]
                self._report_problems([_named(definition, new) for definition, new in found if new])

    def _new_findings(
        self, definition: SubagentDefinition, servers: Sequence[McpServer]
    ) -> list[ToolFinding]:
        found = _check_tools(definition, self.settings, servers)
        new = [
            each for each in found if each.is_problem and (definition.origin, each.tool) not in self._reported
        ]
        self._reported.update((definition.origin, each.tool) for each in new)
        return new

    def _report_problems(self, problems: Sequence[str], where: str = "sub-agents and skills") -> None:
        for problem in problems[:MAX_REPORTED]:
            self.report(where, SettingsError(problem))
        if (more := len(problems) - MAX_REPORTED) > 0:
            message = f"{more} more files of {where} have problems: /agents lists them."
            self.report(where, SettingsError(message))


def _toolkit_names(*groups: str) -> list[str]:
    """The names of the tools of the local toolkit in these groups."""
    return [tool["name"] for group in groups for tool in toolkit_tools()[group]]


def _are_started(servers: Sequence[McpServer]) -> bool:
    states = {server.name: server.status for server in servers}
    return states.get(TOOLKIT, "pending") not in _PENDING and _PENDING.isdisjoint(states.values())


def _check_tools(
    definition: SubagentDefinition, settings: Settings, servers: Sequence[McpServer]
) -> list[ToolFinding]:
    offered = [*BASE_TOOLS, *RESOURCE_TOOLS, *settings.extra_tools, *(["Skill"] if settings.skills else [])]
    found = check_tools(definition, offered=offered, can_be_offered=EXTRA_TOOLS, servers=servers)
    of_workbench = [f"mcp__{TOOLKIT}__{name}" for name in _toolkit_names("sandbox")]
    for each in found:
        # The toolkit has some tools only with a workbench, and a shipped sub-agent names those of several services.
        if each.tool in of_workbench:
            each.is_problem, each.message = False, "the workbench is off"
        elif each.is_problem and definition.source == "shipped":
            each.is_problem, each.message = False, f"{tool_name(each.tool).short} is not offered here"
    return found


def _named(definition: SubagentDefinition, findings: Sequence[ToolFinding]) -> str:
    first, *more = (each.message for each in findings)
    message = " ".join([first, *(each[0].upper() + each[1:] for each in more)])
    without = "it" if len(findings) == 1 else "them"
    return f"{definition.origin}: {message} The sub-agent {definition.name} works without {without}."


def _of_subagent(
    definition: SubagentDefinition, roster: Roster, settings: Settings, servers: Sequence[McpServer]
) -> JsonObject:
    found = _check_tools(definition, settings, servers)
    problems = tuple(each.message for each in found if each.is_problem)
    notes = [each.message for each in found if not each.is_problem]
    replaces = [
        "the one that ships with ua-tui" if each.source == "shipped" else each.origin
        for each in roster.found.replaced
        if each.name == definition.name
    ]
    if built_in := of_agent(definition.name):
        replaces.append(built_in)
    if replaces:
        notes.append("replaces " + ", ".join(replaces))
    if definition.ignored_fields:
        notes.append(f"has no effect here: {', '.join(definition.ignored_fields)}")
    return {
        "state": "broken" if problems else "ready",
        "problems": problems,
        "notes": tuple(dict.fromkeys(notes)),
        "replaces": tuple(replaces),
    }


def _of_skill(skill: Skill, roster: Roster) -> JsonObject:
    if skill in roster.chosen:
        return {}
    names = ",".join([*(each.name for each in roster.chosen), skill.name])
    return {"state": "off", "notes": (f"off; `ua-tui config set skills {names}` turns it on",)}


def _problems_in(unusable: Sequence[UnusableFile]) -> list[str]:
    return [each.problem for each in unusable if not each.untrusted]
