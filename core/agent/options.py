"""Builds the SDK's options from settings: the prompts, the tools, and the environment of the agent."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.agent.definitions.skills import PLUGIN
from ua_tui.core.agent.definitions.subagents import (
    SubagentDefinition,
    fill,
    fill_prompt,
    read_prompt,
)
from ua_tui.core.agent.environment import CACHE, SKILLS, cli_environment, own_agent_home
from ua_tui.core.agent.sdk_import import import_sdk
from ua_tui.core.connections.base import BUILT_IN_SERVERS
from ua_tui.core.events.types import ASK_USER, EXIT_PLAN, LIST_RESOURCES, READ_RESOURCE
from ua_tui.core.json_values import JsonMapping
from ua_tui.core.settings.model import Settings
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

    from ua_tui.core.agent.assembly import AgentParts
    from ua_tui.core.agent.hooks import AgentHooks

BASE_TOOLS = ("Agent", EXIT_PLAN, ASK_USER, "TodoWrite", "ToolSearch", "WebSearch", "Read", "Glob", "Grep")
TOOL_SEARCH = "ENABLE_TOOL_SEARCH"
RESOURCE_TOOLS = (LIST_RESOURCES, READ_RESOURCE)
"""Offered where the user has MCP servers: others have no resources."""


_KNOWLEDGE = (
    "- Before you search the web or open pages on a topic, ask `knowledge_search` once what earlier sessions found: "
    "use it with its date,\n  and fetch only what is missing or too old."
)

# A skill may contain commands that would run when it is loaded, without asking anybody.
_OF_SKILLS = {"disableSkillShellExecution": True, "disableBundledSkills": True}


class Briefing(msgspec.Struct, frozen=True):
    """The agent's prompt and the definitions of its sub-agents."""

    system_prompt: str
    subagents: tuple[SubagentDefinition, ...]


class McpConfig(msgspec.Struct, frozen=True):
    """The MCP servers of an agent: a file with those that it connects itself, and those in this process.

    The file is in the private folder of the session, which is removed at its end.
    """

    file: Path
    here: JsonMapping


def write_briefing(
    workspace: Path,
    now: datetime,
    server_notes: Mapping[str, str],
    subagents: Sequence[SubagentDefinition],
    *,
    knowledge: bool = False,
    system_prompt: str | None = None,
) -> Briefing:
    """Write the prompts for a session; `server_notes` has a line on the purpose of each MCP server.

    `subagents` are those of the session, with unfilled prompts. `knowledge` says that the
    agent has the tools of the knowledge base. `system_prompt` replaces the shipped one, with the same placeholders.
    """
    values = {
        "today": f"{now:%A, %d %B %Y}",
        "workspace": str(workspace),
        "tools": "\n".join(f"- `{name}`: {note}" for name, note in server_notes.items()),
        "knowledge": f"\n{_KNOWLEDGE}" if knowledge else "",
    }
    return Briefing(
        fill(system_prompt, values) if system_prompt else read_prompt("system", values),
        tuple(fill_prompt(each, values) for each in subagents),
    )


async def build_options(
    settings: Settings,
    briefing: Briefing,
    *,
    output_schema: JsonMapping | None,
    parts: AgentParts,
    servers: McpConfig,
    hooks: AgentHooks,
    session_id: str,
    resume: bool,
    telemetry: Mapping[str, str],
) -> sdk.ClaudeAgentOptions:
    """Build the options of one connection; imports the SDK, in a thread, the first time.

    With `resume` the conversation `session_id` is resumed, otherwise it begins. `output_schema` is the JSON Schema of
    every answer; None for text. `telemetry` are variables for the agent's tracing.
    """
    loaded = await asyncio.to_thread(import_sdk)
    private = servers.file.parent
    agents = {
        each.name: loaded.AgentDefinition(
            description=each.description,
            prompt=each.prompt,
            tools=None if each.tools is None else list(each.tools),
            disallowedTools=list(each.without) or None,
            model=each.model,
        )
        for each in briefing.subagents
    }
    # A message to a running turn is repeated when the agent accepts it.
    extra: dict[str, str | None] = {"replay-user-messages": None}
    if servers.here:
        # The SDK accepts a file or its own servers; of its own it puts only the names on the command line.
        extra["mcp-config"] = str(servers.file)
    options: sdk.ClaudeAgentOptions = loaded.ClaudeAgentOptions(
        # A conversation that is resumed gets the prompt of this run: the date and the folder may be others.
        system_prompt={"type": "custom", "prompt": briefing.system_prompt, "snapshot": False},
        tools=[
            *BASE_TOOLS,
            # The user's own servers may have resources.
            *(() if BUILT_IN_SERVERS.issuperset(parts.connectors) else RESOURCE_TOOLS),
            *settings.extra_tools,
            *(["Skill"] if parts.skills else []),
        ],
        mcp_servers=dict(servers.here) or servers.file,
        strict_mcp_config=True,
        setting_sources=[],
        skills=[f"{PLUGIN}:{skill.name}" for skill in parts.skills],
        plugins=[{"type": "local", "path": str(private / SKILLS)}] if parts.skills else [],
        settings=json.dumps(_OF_SKILLS),
        # Every call is judged by the hooks. The other modes of the agent itself would only allow more.
        permission_mode="plan" if settings.permission_mode == "plan" else "default",
        can_use_tool=hooks.may_use,
        hooks=hooks.matchers(),
        agents=agents,
        model=settings.model,
        fallback_model=settings.fallback_model,
        effort=settings.effort,
        max_turns=settings.max_turns,
        max_budget_usd=settings.max_cost_usd,
        cwd=parts.workspace.path,
        cli_path=settings.cli_path,
        env=cli_environment(
            os.environ,
            {
                **own_environment(settings, own_agent_home(settings), private),
                **telemetry,
                TOOL_SEARCH: tool_search(settings, os.environ),
            },
            settings.cloud,
        ),
        include_partial_messages=True,
        forward_subagent_text=True,
        # The agent accepts 16 MB from a server. One character of four bytes makes a line four times as large.
        max_buffer_size=24 << 20,
        client_app=f"ua-tui/{VERSION}",
        extra_args=extra,
        output_format=None
        if output_schema is None
        else {"type": "json_schema", "schema": dict(output_schema)},
        session_id=None if resume else session_id,
        resume=session_id if resume else None,
    )
    return options


def tool_search(settings: Settings, environ: Mapping[str, str]) -> str:
    """From how many tokens on the tools of servers are loaded only when the model searches for them.

    Some services do not know that: the agent tries it at its first request, and sends all tools if that is refused.
    """
    if chosen := environ.get(TOOL_SEARCH):
        return chosen
    # Some thirty tools of usual size, or a tenth of a small context window; the agent wants a share of it in percent.
    window = settings.context_window or 1_000_000
    return f"auto:{max(1, round(100 * min(10_000 / window, 0.1)))}"


def own_environment(settings: Settings, config_dir: Path | None, private: Path) -> dict[str, str]:
    """The variables that a command line gets from us; it keeps its temporary files in the folder `private`."""
    given = {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        # The Task tools replace TodoWrite unless they are switched off.
        "CLAUDE_CODE_ENABLE_TASKS": "0",
        "DISABLE_AUTOUPDATER": "1",
        # We wait for the servers that start, and say so.
        "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "0",
        # A rule on a command is about one that runs in the session's folder.
        "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",
        # Above this, a result with a picture is cut, and another is saved to a file. What is too large for the model is
        # replaced long before (`ua_tui.core.agent.messages.result_files`).
        "MAX_MCP_OUTPUT_TOKENS": "250000",
        # Removed with the session: it logs what servers say on their standard error, readable by everybody, and leaves
        # folders behind.
        "XDG_CACHE_HOME": str(private / CACHE),
        "CLAUDE_CODE_TMPDIR": str(private),
    }
    # Where the agent finds its state and a login, if that is not its default place.
    home = config_dir or settings.claude_config_dir
    for name, value in (
        ("ANTHROPIC_API_KEY", settings.api_key),
        ("ANTHROPIC_AUTH_TOKEN", settings.auth_token),
        ("ANTHROPIC_BASE_URL", settings.base_url),
        ("ANTHROPIC_CUSTOM_HEADERS", settings.custom_headers),
        ("CLAUDE_CODE_MAX_CONTEXT_TOKENS", settings.context_window and str(settings.context_window)),
        ("CLAUDE_CONFIG_DIR", "" if home in (None, Path.home() / ".claude") else str(home)),
    ):
        if value:
            given[name] = value
    if settings.cloud:
        given[f"CLAUDE_CODE_USE_{settings.cloud.upper()}"] = "1"
    if settings.base_url and not (settings.api_key or settings.auth_token):
        # Local servers accept any key, but the agent does not start without one.
        given["ANTHROPIC_API_KEY"] = "none"
    return given
