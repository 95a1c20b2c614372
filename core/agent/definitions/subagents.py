"""Sub-agents, read from Markdown files or built in, with a check of their tools; and the built-in prompts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ua_tui.core.agent.bounds import LONGEST_PROMPT
from ua_tui.core.agent.definitions.files import (
    Definition,
    DefinitionFolder,
    FoundDefinitions,
    Source,
    converted,
    find_definitions,
    split_front_matter,
)
from ua_tui.core.agent.definitions.rules import SubagentRule, read_rules
from ua_tui.core.agent.permissions.actions import TOOLS
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import McpServer
from ua_tui.core.text import clean, clean_line

MODEL_ALIASES = ("inherit", "default", "opus", "sonnet", "haiku", "fable")
"""The short names of models; `inherit` is the model of the caller of the sub-agent."""

LONGEST_DESCRIPTION = 5_000
_SHIPPED = Path(__file__).parents[1]

IGNORED_FIELDS = frozenset({"hooks", "mcpServers", "permissionMode", "memory", "skills", "initialPrompt"})
"""Fields of other programs, with which a file could give itself permissions or tools."""


class _Fields(msgspec.Struct):
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    description: Annotated[str, Meta(pattern=r"\S", max_length=LONGEST_DESCRIPTION)]
    tools: str | list[str] | None = None
    disallowedTools: str | list[str] | None = None
    model: str = "inherit"
    compliance: Any = None


class SubagentDefinition(Definition, frozen=True):
    """A sub-agent: when to call it (`description`), its prompt, and the tools it may use.

    `tools` are those of the session that it may use, None for all; `without` are excluded from them. `rules` must be
    met before it may stop; the agent does not see them beforehand. `origin` is the file, as it is shown;
    `ignored_fields` are its fields that have no effect here.
    """

    prompt: str
    tools: tuple[str, ...] | None
    model: str = "inherit"
    rules: tuple[SubagentRule, ...] = ()
    without: tuple[str, ...] = ()
    ignored_fields: tuple[str, ...] = ()


def read_prompt(name: str, values: Mapping[str, str]) -> str:
    """Read a shipped prompt and fill its `{placeholders}`."""
    return fill((_SHIPPED / "prompts" / f"{name}.md").read_text(encoding="utf-8"), values)


def shipped_subagents() -> list[SubagentDefinition]:
    """Read every sub-agent that ships with the program; its prompt has `{placeholders}`."""
    files = sorted((_SHIPPED / "subagents").glob("*.md"))
    return [read_subagent(f.read_text(encoding="utf-8"), origin=f.name) for f in files]


def fill_prompt(definition: SubagentDefinition, values: Mapping[str, str]) -> SubagentDefinition:
    """A definition with the `{placeholders}` of its prompt filled in."""
    return replace(definition, prompt=fill(definition.prompt, values))


def read_subagent(
    text: str, *, origin: str, source: Source = "shipped", any_model: bool = True
) -> SubagentDefinition:
    """Read one definition: YAML front matter, then the prompt.

    Unless `any_model`, the model is a short name or one of Anthropic's.

    Raises:
        SettingsError: the front matter is missing, incomplete or wrong; the message names `origin`.
    """
    given, body = split_front_matter(text, origin=origin, what="a sub-agent")
    fields: _Fields = converted(given, _Fields, origin)
    prompt = clean(body).strip() + "\n"
    if len(prompt) > LONGEST_PROMPT:
        raise SettingsError(f"the prompt of {origin} has more than {LONGEST_PROMPT:,} characters: shorten it")
    return SubagentDefinition(
        name=fields.name,
        description=clean_line(fields.description, LONGEST_DESCRIPTION),
        prompt=prompt,
        tools=_tools(fields.tools),
        model=_model(fields.model.strip(), origin, any_model=any_model),
        rules=read_rules(fields.compliance, fields.name, origin=origin, compiled=source != "shipped"),
        without=_tools(fields.disallowedTools) or (),
        source=source,
        origin=origin,
        ignored_fields=tuple(sorted(IGNORED_FIELDS & given.keys())),
    )


def _tools(given: str | list[str] | None) -> tuple[str, ...] | None:
    """The tools that a field names, each once; None if it is missing or means every tool."""
    if given is None:
        return None
    names = re.split(r",(?![^()]*\))", given) if isinstance(given, str) else given
    tools = tuple(dict.fromkeys(clean_line(name).strip() for name in names if name.strip()))
    return None if tools == ("*",) else tools


def _model(model: str, origin: str, *, any_model: bool) -> str:
    if model.lower() in MODEL_ALIASES:
        return model.lower()
    of_anthropic = re.match(r"(?:[a-z]+\.)?(?:anthropic\.)?claude-", model)
    if re.fullmatch(r"[A-Za-z0-9][\w.:/@+\[\]-]{0,199}", model) and (any_model or of_anthropic):
        return model
    raise SettingsError(
        f"{origin} has the unknown model {clean_line(model, 60)!r}: use {', '.join(MODEL_ALIASES)} or claude-NAME"
    )


def fill(text: str, values: Mapping[str, str]) -> str:
    """A prompt with its `{placeholders}` filled in; other braces stay."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def find_subagents(
    places: Sequence[DefinitionFolder], *, any_model: bool = True
) -> FoundDefinitions[SubagentDefinition]:
    """Read every definition; an invalid one is skipped and reported."""

    def read(text: str, _path: Path, place: DefinitionFolder, origin: str) -> SubagentDefinition:
        return read_subagent(text, origin=origin, source=place.source, any_model=any_model)

    return find_definitions(places, "*.md", read, shipped=shipped_subagents())


def of_agent(name: str) -> str:
    """The sub-agent of the agent itself that has this name, in words; empty if there is none."""
    return f"the agent's built-in sub-agent {name}" if name in TOOLS["subagents"] else ""


_STATES = {"off": "is not set up", "failed": "has failed", "untrusted": "is not trusted yet"}


class ToolFinding(msgspec.Struct):
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
        elif name in TOOLS["built_in"]:
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
        return (
            f": no server has that name; the servers are {there}." if there else ": there is no such server."
        )
    return ": /connections and `ua-tui doctor` list them."
