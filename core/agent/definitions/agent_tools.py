"""Whether the tools that a sub-agent names exist, as far as that is known of the session's servers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.agent.definitions.prompts import SubagentDefinition
from core.events.types import McpServer

__all__ = ["BUILT_IN", "ToolFinding", "look_at_tools"]

BUILT_IN = frozenset(
    {
        "Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
        "ListMcpResourcesTool", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "ReadMcpResourceTool", "Skill",
        "SlashCommand", "Task", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write",
    }
)  # fmt: skip
"""The tools that the agent brings along, whether they are offered here or not."""

_STATES = {"off": "is not set up", "failed": "has failed", "untrusted": "is not trusted yet"}


@dataclass(frozen=True)
class ToolFinding:
    """What is to be said of a tool that a file names: it does not exist (`wrong`), or cannot be had just now."""

    tool: str
    wrong: bool
    told: str


def look_at_tools(
    definition: SubagentDefinition,
    *,
    offered: Iterable[str],
    can_be_offered: Iterable[str],
    servers: Sequence[McpServer],
) -> list[ToolFinding]:
    """Look at each tool a definition names.

    `offered` are the built-in tools of the session, `can_be_offered` those that a setting would add. Of `servers`
    that are not connected, or do not say what they have, every tool is taken to exist.
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
        elif (told := _of_server(name, servers, known)) is not None:
            if told:
                found.append(ToolFinding(tool, False, told))
        else:
            hint = _hint(name, [*offered, *can_be_offered, *known], servers)
            found.append(ToolFinding(tool, True, f"there is no tool {name}{hint}"))
    return found


def _of_server(name: str, servers: Sequence[McpServer], known: Sequence[str]) -> str | None:
    """What keeps a server's tool from being had, empty when nothing does; None when there is none of that name."""
    for server in servers:
        whole = f"mcp__{server.name}"
        if name in (whole, f"{whole}__*") or name.startswith(f"{whole}__"):
            if server.status not in ("connected", "unknown"):
                return f"{server.name} {_STATES.get(server.status, f'is {server.status}')}"
            is_all = name in (whole, f"{whole}__*")
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
    return ": /connections and ua-tui doctor tell which there are."
