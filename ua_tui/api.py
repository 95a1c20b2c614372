"""The public API: a program opens a session, queries it, and has it closed at the end of the block.

It exports everything that a program needs: `open_session`, the `Session` that it gives, the classes of its `events`,
`Settings`, the `Modifier` for Composio's tools, the error of a wrong form, and the root of the errors. `docs/api.md`
describes it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.agent.output_schema import checked_schema
from ua_tui.core.connections.base import PROGRAM
from ua_tui.core.connections.composio.native import Modifier
from ua_tui.core.errors import (
    AgentUnavailable,
    CredentialsError,
    FormError,
    SettingsError,
    UniversalAgentError,
)
from ua_tui.core.events import types as events
from ua_tui.core.net.urls import exempt_loopback
from ua_tui.core.session.session import Session
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.tui.compose import compose_session

if TYPE_CHECKING:
    from claude_agent_sdk import SdkMcpTool

__all__ = ["FormError", "Modifier", "Session", "Settings", "UniversalAgentError", "events", "open_session"]


@asynccontextmanager
async def open_session(
    settings: Settings | None = None,
    *,
    interactive: bool = False,
    resume: str | Path | None = None,
    fresh: bool = False,
    system_prompt: str | None = None,
    output_schema: Mapping[str, Any] | None = None,
    tools: Sequence[Callable[..., Any] | SdkMcpTool[Any]] = (),
    modifiers: Sequence[Modifier] = (),
    on_event: Callable[[events.Event], None] | None = None,
    trust_folder: bool = False,
    **overrides: Any,
) -> AsyncIterator[Session]:
    """Open a session for the block of an `async with`, and close it at the end.

    Where the environment sets a proxy, `NO_PROXY` gets the names of this machine, for the whole process.

    Args:
        settings: by default those of the environment and the settings files.
        interactive: whether the program answers questions; otherwise calls that need permission are denied.
        resume: a past session to resume: its folder, its name, or `latest`.
        fresh: whether it is resumed with a new conversation, which knows nothing of the earlier one.
        system_prompt: replaces the shipped one; `{today}`, `{workspace}` and `{tools}` are filled in.
        output_schema: the JSON Schema of an object that every answer fits: `QueryFinished.output`.
        tools: functions that the agent can call, as `mcp__this_program__NAME`: with a name, a docstring and annotated
            parameters, async or called in a thread; or what the decorator `tool` of `claude_agent_sdk` makes.
        modifiers: see what is sent to Composio and what it answers, in the mode `native`.
        on_event: called with every event, from the first one on; it must return at once.
        trust_folder: whether the files of the current folder have an effect although its user has not trusted it.
        overrides: settings by name; they have precedence over the environment and the settings files.

    Raises:
        SettingsError: a setting or an argument is wrong, or the session cannot be resumed.
        CredentialsError: no way to reach a model is configured.
        AgentUnavailable: the agent cannot be started.
        UniversalAgentError: the session cannot be put together.
    """
    exempt_loopback(os.environ)
    chosen = settings or load_settings(
        overrides, Places(trust="trusted" if trust_folder else None), by_name=True
    )
    if not chosen.has_credentials():
        raise CredentialsError
    if modifiers and chosen.composio_mode != "native":
        raise SettingsError('modifiers have no effect in the mode mcp: add composio_mode="native"')
    if fresh and resume is None:
        raise SettingsError("fresh needs resume: name the session to resume")
    resumed, connectors = None, {}
    if resume is not None:
        from ua_tui.core.history.lookup import find_session
        from ua_tui.core.session.resume import prepare_resume

        folder = find_session(chosen.workspace_base, str(resume))
        chosen, resumed = prepare_resume(chosen, folder, fresh=fresh, named=overrides)
    if tools:
        from ua_tui.core.agent.mcp.program_tools import program_connector

        connectors[PROGRAM] = await asyncio.to_thread(program_connector, tools)
    failures: list[str] = []

    def note_failure(event: events.Event) -> None:
        if isinstance(event, events.ErrorRaised) and event.where == "agent":
            failures.append(event.message)

    session = await compose_session(
        chosen,
        interactive=interactive,
        subscribers=(note_failure, *([on_event] if on_event else [])),
        resume=resumed,
        modifiers=modifiers,
        output_schema=None if output_schema is None else checked_schema(dict(output_schema), "output_schema"),
        system_prompt=system_prompt,
        connectors=connectors,
    )
    try:
        await session.start()
        if session.state == "failed":
            raise AgentUnavailable(failures[-1] if failures else "the agent could not be started") from (
                session.last_error
            )
        yield session
    finally:
        await session.close("finished")
