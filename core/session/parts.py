"""What a session is made of, and what it may be doing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum

import msgspec

from ua_tui.core.agent.assembly import AgentParts
from ua_tui.core.connections.trust import UserConnections
from ua_tui.core.pipelines import Pipelines
from ua_tui.core.provider.request import AskModel
from ua_tui.core.session.resume import PreviousState
from ua_tui.core.view.session import SessionView


class SessionState(StrEnum):
    """What a session is doing."""

    STARTING = "starting"
    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    FAILED = "failed"
    CLOSED = "closed"


class SessionParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is made of, put together by the composition root.

    `view` is the fold of the session's events, which its records keep up to date.
    `previous` is the state of the session that is resumed, and `overruled` are the settings that were chosen in it and
    no longer apply, by name. `user_servers` are the user's MCP servers. `ask_model` is the classifier's small request.
    `drain` waits for the observers and names what they lost. `after_finish` runs once `session_finished` is
    published.
    """

    agent: AgentParts
    pipelines: Pipelines
    view: SessionView
    previous: PreviousState | None = None
    overruled: Mapping[str, str | float | None] = {}
    user_servers: UserConnections | None = None
    ask_model: AskModel | None = None
    drain: Callable[[], Awaitable[list[str]]] | None = None
    after_finish: Callable[[], Awaitable[None]] | None = None
