"""What the screen needs of the rest: a session to hold, and a way to lend it workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from core.events.types import Event, McpServer
from core.provider.models import KnownModel, ModelChoice

if TYPE_CHECKING:
    from core.settings.model import Settings
    from core.telemetry.tracer import Trace

__all__ = [
    "Build",
    "BusPort",
    "Openable",
    "ScreenHost",
    "ServersPort",
    "SessionPort",
    "Spawn",
    "Spawned",
    "WorkspacePort",
]


class Spawned(Protocol):
    """A running piece of work that can be cancelled: an asyncio task or a Textual worker."""

    def cancel(self) -> object:
        """Ask the work to stop."""
        ...


Spawn = Callable[[Coroutine[Any, Any, Any], str, str], Spawned]
"""Starts a coroutine; the strings are its name and its group (`agent`, `observers`, ...)."""


class BusPort(Protocol):
    """Where the session's events come from."""

    def subscribe(self, receive: Callable[[Event], None]) -> Callable[[], None]:
        """Have every event handed to `receive`; the result ends that."""
        ...


class WorkspacePort(Protocol):
    """Where the session's files are."""

    @property
    def path(self) -> Path:
        """The session's folder."""
        ...


class ServersPort(Protocol):
    """The MCP servers. A command returns at once: why it cannot be done, or nothing; what it does comes as events."""

    @property
    def known(self) -> Sequence[McpServer]:
        """Every server as it was last told of."""
        ...

    def refresh(self) -> None:
        """Look how they stand."""
        ...

    def reconnect(self, name: str) -> str:
        """Connect one again."""
        ...

    def switch(self, name: str, *, on: bool) -> str:
        """Give the agent its tools, or take them away."""
        ...


class ModelsPort(Protocol):
    """What answers: the choice that holds from the next query on, and the models the agent lists."""

    @property
    def choice(self) -> ModelChoice:
        """What answers."""
        ...

    @property
    def known(self) -> Sequence[KnownModel]:
        """What the agent lists."""
        ...

    def choose(self, choice: ModelChoice) -> object:
        """Have another one answer; a `SettingsError` when that cannot be."""
        ...


class SessionPort(Protocol):
    """The commands a person can give. `state` is one of starting, idle, running, stopping, failed, closed."""

    @property
    def bus(self) -> BusPort:
        """The session's events."""
        ...

    @property
    def workspace(self) -> WorkspacePort:
        """The session's folder."""
        ...

    @property
    def models(self) -> ModelsPort:
        """What answers, and the choice of another model."""
        ...

    @property
    def commands(self) -> Collection[str]:
        """The names of the agent's own slash commands; none before it is connected."""
        ...

    @property
    def servers(self) -> ServersPort:
        """The MCP servers of the session."""
        ...

    @property
    def trace(self) -> Trace | None:
        """The trace of the session, and where it can be looked at as far as that is known."""
        ...

    @property
    def state(self) -> str:
        """What the session is doing."""
        ...

    @property
    def queued(self) -> tuple[str, ...]:
        """The queries that wait behind the running one, oldest first."""
        ...

    async def start(self) -> None:
        """Connect; failures become events and the state `failed`."""
        ...

    def submit(self, text: str) -> None:
        """Run a query now, or queue it behind the running one."""
        ...

    async def steer(self, text: str) -> bool:
        """Say something into the running query; False when it waits to run next instead."""
        ...

    def unqueue(self) -> str | None:
        """Take the newest queued query back."""
        ...

    @property
    def queue_paused(self) -> bool:
        """Whether the waiting queries stay until `resume_queue` or the next `submit`."""
        ...

    def change_queue(self, seen: Sequence[str], wanted: Sequence[str]) -> bool:
        """Let `wanted` wait instead of `seen`; False when other queries than `seen` wait by now."""
        ...

    def resume_queue(self) -> None:
        """Go on with held queries."""
        ...

    def raise_budget(self, limit_usd: float) -> None:
        """Let the session cost more, in US dollars; a `SettingsError` when it has cost that already."""
        ...

    async def interrupt(self) -> None:
        """Stop the running query."""
        ...

    def answer_permission(
        self,
        request_id: str,
        *,
        allow: bool,
        scope: str = "once",
        reason: str = "",
        patterns: Sequence[str] = (),
    ) -> object:
        """Answer a `permission_asked`; `scope` is `once` or `session`, `patterns` what the latter means."""
        ...

    def finish_auth(self, outcome: Literal["completed", "cancelled", "expired"]) -> None:
        """Say that the person came back from the link, or gave up."""
        ...

    def answer_trust(self, server: str, decision: Literal["trusted", "refused", "not_now"]) -> None:
        """Answer a `server_trust_asked`; a `WorkspaceError` when it cannot be kept."""
        ...

    async def restart(self) -> None:
        """Connect again after the agent died, with the conversation so far."""
        ...

    async def close(self, reason: str) -> None:
        """End the session and everything it started."""
        ...


Build = Callable[[Spawn], Awaitable[SessionPort]]
"""Makes the session; heavy imports happen in here, behind the first frame."""


class Openable(Protocol):
    """A part of the application that opens its own dialog."""

    def open(self) -> object:
        """Open the dialog."""
        ...


class ScreenHost(Protocol):
    """What `open_screen(app)` of a screen with a command may use of the application."""

    @property
    def settings(self) -> Settings:
        """What the person configured."""
        ...

    @property
    def session(self) -> SessionPort | None:
        """The session; None before it starts."""
        ...

    @property
    def setup(self) -> Openable:
        """The setup of the model."""
        ...

    @property
    def model_selection(self) -> Openable:
        """The choice of the model."""
        ...

    @property
    def queries(self) -> Openable:
        """The queue."""
        ...

    @property
    def budget(self) -> Openable:
        """The spending limit."""
        ...

    @property
    def status(self) -> Openable:
        """The status line."""
        ...

    def open_sessions(self) -> None:
        """Show the sessions."""
        ...

    def push_screen(self, screen: Any) -> object:
        """Show a screen."""
        ...
