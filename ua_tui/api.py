"""The public API: a program opens a session, queries it, and has it closed at the end of the block.

It exports everything that a program needs: `open_session`, the `Session` that it gives, the classes of its `events`,
`Settings`, the `Modifier` for Composio's tools, and the root of the errors. `docs/api.md` describes it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ua_tui.core.connections.composio.native import Modifier
from ua_tui.core.errors import AgentUnavailable, CredentialsError, UniversalAgentError
from ua_tui.core.events import types as events
from ua_tui.core.session.session import Session
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings
from ua_tui.tui.compose import compose_session

__all__ = ["Modifier", "Session", "Settings", "UniversalAgentError", "events", "open_session"]


@asynccontextmanager
async def open_session(
    settings: Settings | None = None,
    *,
    interactive: bool = False,
    modifiers: Sequence[Modifier] = (),
    trust_folder: bool = False,
    **overrides: Any,
) -> AsyncIterator[Session]:
    """Open a session for the block of an `async with`, and close it at the end.

    `overrides` are settings by name; they have precedence over the environment and the settings files. The files of
    the current folder have no effect unless the user has trusted it, or `trust_folder` trusts it for this session.
    Unless the session is `interactive`, calls that need permission are denied, because nobody can be asked. `modifiers`
    see what is sent to Composio and what it answers; they apply in the mode `native` only.

    Raises:
        SettingsError: a setting is wrong.
        CredentialsError: no way to reach a model is configured.
        AgentUnavailable: the agent cannot be started.
        UniversalAgentError: the session cannot be put together.
    """
    chosen = settings or load_settings(overrides, by_name=True, trust="trusted" if trust_folder else None)
    if not chosen.has_credentials():
        raise CredentialsError
    failures: list[str] = []

    def note_failure(event: events.Event) -> None:
        if isinstance(event, events.ErrorRaised) and event.where == "agent":
            failures.append(event.message)

    session = await compose_session(
        chosen,
        interactive=interactive,
        subscribers=(note_failure,),
        modifiers=modifiers,
        asks_about_servers=interactive,
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
