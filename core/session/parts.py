"""What a session is made of, and what it may be doing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum

from ua_tui.core.agent.assembly import AgentParts
from ua_tui.core.agent.definitions.commands import CustomCommand
from ua_tui.core.pipelines import Pipelines
from ua_tui.core.provider.request import AskModel
from ua_tui.core.session.resume import PreviousState


class SessionState(StrEnum):
    """What a session is doing."""

    STARTING = "starting"
    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    FAILED = "failed"
    CLOSED = "closed"


class SessionParts(AgentParts, frozen=True, kw_only=True):
    """What a session is made of, put together by the composition root: its agent, and what follows it.

    `previous` is the state of the session before it starts, whose view its records keep up to date, and `overruled` are
    the settings that were chosen in the session that is resumed and no longer apply, by name. `custom_commands` are
    those that a query may begin with. `ask_model` is the classifier's small request. `drain` waits for the observers
    and names what they lost. `after_finish` runs once `session_finished` is published.
    """

    pipelines: Pipelines
    previous: PreviousState
    overruled: Mapping[str, str | float | None]
    custom_commands: tuple[CustomCommand, ...]
    ask_model: AskModel | None
    drain: Callable[[], Awaitable[list[str]]]
    after_finish: Callable[[], Awaitable[None]]
