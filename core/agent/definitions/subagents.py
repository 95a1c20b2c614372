"""Finds the sub-agents of a session (the current folder's, the user's own, the shipped ones) and checks their tools."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Generic, TypeVar

from ua_tui.core.agent.definitions.front_matter import read_markdown
from ua_tui.core.agent.definitions.prompts import Source, SubagentDefinition, read_subagent, shipped_subagents
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import McpServer
from ua_tui.core.text import clean_line
from ua_tui.core.trust.files import files_below
from ua_tui.core.trust.state import FolderTrust

D = TypeVar("D")

MAX_FILES = 100
"""The maximum number of files that are read from a folder."""


class NotTrusted(SettingsError):
    """The user has not trusted the content of a project's file."""


@dataclass(frozen=True)
class DefinitionFolder:
    """A folder with definitions, and its source; of a project's only files that `trust` allows are used."""

    folder: Path
    source: Source
    trust: FolderTrust = field(default_factory=FolderTrust)

    @property
    def bound(self) -> Path | None:
        """The folder that no link may lead out of; None for the user's own folders, where any link is allowed."""
        return self.folder.parent.parent if self.source == "project" else None

    def check(self, path: Path, data: bytes) -> None:
        """Refuse the content of a project's file that the user has not trusted.

        Raises:
            NotTrusted: it may not be used.
        """
        if self.bound is None or self.trust.allows(path.relative_to(self.bound).as_posix(), data):
            return
        changed = "it has changed since this folder was trusted"
        raise NotTrusted(f"{self.trust.why_not if not self.trust.is_trusted else changed}: ua-tui trust")


@dataclass(frozen=True)
class UnusableFile:
    """A file that cannot be used: `problem` names it and says what is wrong and what to do.

    With `untrusted` nothing is wrong with it: its folder is not trusted.
    """

    origin: str
    source: Source
    problem: str
    untrusted: bool = False


@dataclass(frozen=True)
class Found(Generic[D]):
    """The definitions of a kind, one for each name; `replaced` are those whose name another one has."""

    definitions: tuple[D, ...] = ()
    unusable: tuple[UnusableFile, ...] = ()
    replaced: tuple[D, ...] = ()


def definition_folders(
    kind: str, *, cwd: Path, home: Path, config_dir: Path, trust: FolderTrust
) -> tuple[DefinitionFolder, ...]:
    """The folders for definitions of a kind (`agents`, `skills`), in the order of precedence, each once.

    `trust` is what of `cwd` may be used.
    """
    places = (
        DefinitionFolder(cwd / ".claude" / kind, "project", trust),
        DefinitionFolder(config_dir / kind, "user"),
        DefinitionFolder(home / ".claude" / kind, "user"),
    )
    kept: dict[Path, DefinitionFolder] = {}
    for place in places[1:]:
        kept.setdefault(_resolved(place.folder), place)
    # The home folder is no project: a project cannot have the user's own definitions.
    there = () if _resolved(places[0].folder) in kept else places[:1]
    return (*there, *kept.values())


def of_agent(name: str) -> str:
    """The sub-agent of the agent itself that has this name, in words; empty if there is none."""
    return f"the agent's built-in sub-agent {name}" if name in _OF_AGENT else ""


def find_subagents(
    places: Sequence[DefinitionFolder], *, any_model: bool = True
) -> Found[SubagentDefinition]:
    """Read every definition; an invalid one is skipped and reported."""

    def read(path: Path, place: DefinitionFolder, origin: str) -> SubagentDefinition:
        text = read_markdown(path, inside=place.bound, check=place.check)
        return read_subagent(text, origin=origin, source=place.source, any_model=any_model)

    given, unusable = read_definitions(places, "*.md", read)
    winners: dict[str, SubagentDefinition] = {}
    replaced: list[SubagentDefinition] = []
    for each in (*given, *shipped_subagents()):
        winner = winners.setdefault(each.name, each)
        if winner is each:
            continue
        if Path(winner.origin).parent == Path(each.origin).parent and each.source != "shipped":
            beside = Path(winner.origin).name
            message = (
                f"{each.origin}: the name {each.name} is taken by {beside} beside it: give it another one"
            )
            unusable.append(UnusableFile(each.origin, each.source, f"{message}. It is left out."))
        else:
            replaced.append(each)
    return Found(tuple(winners.values()), tuple(unusable), tuple(replaced))


def read_definitions(
    places: Iterable[DefinitionFolder],
    pattern: str,
    read: Callable[[Path, DefinitionFolder, str], D],
    *,
    file: str = "",
    deep: bool = False,
) -> tuple[list[D], list[UnusableFile]]:
    """Read each file whose name matches `pattern`, or the `file` in each such folder; returns those that fail, too.

    With `deep`, files in folders below count, too. `read` gets the path, its folder, and the path as it is shown; it
    raises SettingsError.
    """
    given: list[D] = []
    unusable: list[UnusableFile] = []
    for place in places:
        paths, problem = _files_of(place, pattern, deep=deep)
        for path in (path / file for path in paths if not file or path.is_dir()):
            origin = clean_line(str(path), 500)
            try:
                given.append(read(path, place, origin))
            except NotTrusted as error:
                unusable.append(UnusableFile(origin, place.source, str(error), untrusted=True))
            except SettingsError as error:
                unusable.append(UnusableFile(origin, place.source, f"{error}. It is left out."))
        if problem:
            unusable.append(UnusableFile(clean_line(str(place.folder), 500), place.source, problem))
    return given, unusable


def _files_of(place: DefinitionFolder, pattern: str, *, deep: bool) -> tuple[list[Path], str]:
    """The paths in a folder that match a pattern, sorted by name, and the problem with the folder, if any."""
    shown = clean_line(str(place.folder), 500)
    try:
        found = sorted(
            path
            for path in (files_below(place.folder) if deep else place.folder.iterdir())
            if fnmatchcase(path.name, pattern) and not path.name.startswith(".")
        )
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as error:
        return [], f"{shown} cannot be read: {error.strerror}. Check its permissions."
    if (more := len(found) - MAX_FILES) > 0:
        return found[:MAX_FILES], (
            f"{shown} holds more than {MAX_FILES} of them: {more} are not read. Move away those you do not need."
        )
    return found, ""


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


_OF_AGENT = frozenset({"claude", "Explore", "general-purpose", "Plan", "statusline-setup"})
BUILT_IN = frozenset(
    {
        "Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
        "ListMcpResourcesTool", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "ReadMcpResourceTool", "Skill",
        "SlashCommand", "Task", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write",
    }
)  # fmt: skip
"""The built-in tools of the agent, whether they are offered here or not."""

_STATES = {"off": "is not set up", "failed": "has failed", "untrusted": "is not trusted yet"}


@dataclass(frozen=True)
class ToolFinding:
    """A remark on a tool that a file names: it does not exist (`is_problem`), or is not available now."""

    tool: str
    is_problem: bool
    message: str


def check_tools(
    definition: SubagentDefinition,
    *,
    offered: Iterable[str],
    can_be_offered: Iterable[str],
    servers: Sequence[McpServer],
) -> list[ToolFinding]:
    """Check each tool that a definition names.

    `offered` are the built-in tools of the session, `can_be_offered` those that a setting would add. Of `servers`
    that are not connected, or do not list their tools, every tool is assumed to exist.
    """
    offered, can_be_offered = frozenset(offered), frozenset(can_be_offered)
    known = [f"mcp__{server.name}__{tool}" for server in servers for tool in server.tool_names]
    found = []
    for tool in definition.tools or ():
        name = tool.partition("(")[0]
        if name in offered:
            continue
        if name in can_be_offered:
            found.append(ToolFinding(tool, False, f"{name} is off: --tool {name} offers it"))
        elif name in BUILT_IN:
            found.append(ToolFinding(tool, False, f"{name} is not offered here"))
        elif (note := _of_server(name, servers, known)) is not None:
            if note:
                found.append(ToolFinding(tool, False, note))
        else:
            hint = _hint(name, [*offered, *can_be_offered, *known], servers)
            found.append(ToolFinding(tool, True, f"there is no tool {name}{hint}"))
    return found


def _of_server(name: str, servers: Sequence[McpServer], known: Sequence[str]) -> str | None:
    """Why a server's tool is not available, empty if it is; None if no server has such a tool."""
    for server in servers:
        prefix = f"mcp__{server.name}"
        if name in (prefix, f"{prefix}__*") or name.startswith(f"{prefix}__"):
            if server.status not in ("connected", "unknown"):
                return f"{server.name} {_STATES.get(server.status, f'is {server.status}')}"
            is_all = name in (prefix, f"{prefix}__*")
            return "" if is_all or not server.tool_names or name in known else None
    return None


def _hint(name: str, names: Sequence[str], servers: Sequence[McpServer]) -> str:
    by_short = {each.split("__", 2)[-1].lower(): each for each in reversed(names)}
    short = name.split("__", 2)[-1].lower()
    longer = [each for each in by_short if len(short) > 3 and short in each]
    close = difflib.get_close_matches(short, by_short, n=2, cutoff=0.7) or longer[:2]
    if close:
        return f": did you mean {' or '.join(by_short[each] for each in close)}?"
    if name.startswith("mcp__") and not any(name.startswith(f"mcp__{each.name}__") for each in servers):
        there = ", ".join(server.name for server in servers)
        return f": no server has that name; there are {there}." if there else ": there is no such server."
    return ": /connections and ua-tui doctor list them."
