"""The interfaces between the screen and the rest: the session, its parts, and the workers that run it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ua_tui.core.concurrency.spawn import Spawn
from ua_tui.core.events.types import McpServer
from ua_tui.core.provider.models import KnownModel, ModelChoice

if TYPE_CHECKING:
    from ua_tui.core.agent.attachments.places import AttachmentPlaces
    from ua_tui.core.agent.definitions.commands import CustomCommand
    from ua_tui.core.agent.mcp.references import ServerReferences
    from ua_tui.core.agent.messages.context_usage import ContextUsage
    from ua_tui.core.agent.permissions.rule_set import RuleSet
    from ua_tui.core.bus import Bus
    from ua_tui.core.settings.model import PermissionMode, Settings
    from ua_tui.core.telemetry.tracer import Trace


class WorkspacePort(Protocol):
    """Where the session's files are."""

    @property
    def path(self) -> Path:
        """The session's folder."""


class ServersPort(Protocol):
    """The MCP servers. A command returns immediately; its effects are reported as events."""

    @property
    def known(self) -> Sequence[McpServer]:
        """Every server in its last known state."""

    def refresh(self) -> None:
        """Ask for their current state."""

    def reconnect(self, name: str) -> str:
        """Reconnect a server; returns the reason if that is impossible."""

    def switch(self, name: str, *, on: bool) -> str:
        """Enable or disable the tools of a server; returns the reason if that is impossible."""


class ModelsPort(Protocol):
    """The choice of the model for the next queries, and the models that the agent lists."""

    @property
    def choice(self) -> ModelChoice:
        """The current choice."""

    @property
    def known(self) -> Sequence[KnownModel]:
        """The models that the agent lists."""

    def choose(self, choice: ModelChoice) -> object:
        """Choose another model. Raises a `SettingsError` if that is impossible."""


class Inbox(Protocol):
    """What a person can say to a session, also to one that another program runs."""

    def submit(self, text: str) -> None:
        """Run a query now, or queue it behind the running one."""

    async def steer(self, text: str) -> bool:
        """Send text to the running query; returns False if it became the next query instead."""

    async def interrupt(self) -> None:
        """Stop the running query."""

    def answer_permission(
        self,
        request_id: str,
        *,
        allow: bool,
        scope: str = "once",
        reason: str = "",
        patterns: Sequence[str] = (),
        input: dict[str, Any] | None = None,
    ) -> object:
        """Answer a `permission_asked`; `scope` is `once` or `session`; `patterns` apply to the latter.

        `input` are the arguments with which the call runs, if the person changed them or answered in them.
        """

    def answer_elicitation(
        self,
        request_id: str,
        action: Literal["accept", "decline", "cancel"],
        values: Mapping[str, object] | None = None,
    ) -> object:
        """Answer an `elicitation_asked`; `values` fill in the form. Raises a `FormError` if one does not fit."""


class Controls(Protocol):
    """What a person can control in a session that this program runs: its parts, its queue, its limits."""

    @property
    def models(self) -> ModelsPort:
        """The choice of the model."""

    @property
    def custom_commands(self) -> Sequence[CustomCommand]:
        """The custom commands, which a query may begin with."""

    @property
    def commands(self) -> Collection[str]:
        """The names of the agent's own slash commands; none before it is connected."""

    @property
    def servers(self) -> ServersPort:
        """The MCP servers of the session."""

    @property
    def references(self) -> ServerReferences:
        """The resources and prompts of the user's own servers."""

    @property
    def rules(self) -> RuleSet:
        """The permission rules of the session."""

    @property
    def places(self) -> AttachmentPlaces:
        """Where the names of files in a query lead."""

    async def attach(self, file: Path) -> str:
        """Copy a file into the session's folder; returns what names it in a query. Raises a `WorkspaceError`."""

    async def prepare(self, text: str) -> None:
        """Fetch the resources that a query mentions, before it is submitted. Raises a `UniversalAgentError`."""

    @property
    def queue_paused(self) -> bool:
        """Whether the waiting queries stay until `resume_queue` or the next `submit`."""

    def unqueue(self) -> str | None:
        """Remove the newest queued query and return it."""

    def change_queue(self, seen: Sequence[str], wanted: Sequence[str]) -> bool:
        """Replace the queue `seen` with `wanted`; returns False if the queue is no longer `seen`."""

    def resume_queue(self) -> None:
        """Send the paused queries."""

    def raise_budget(self, limit_usd: float) -> None:
        """Raise the spending limit, in US dollars. Raises a `SettingsError` if that much is spent already."""

    async def context_usage(self) -> ContextUsage | None:
        """What fills the context; None before the agent is connected. Raises a `ConnectionFailed`."""

    async def stop_subagent(self, tool_use_id: str) -> bool:
        """Stop one sub-agent; returns False if it does not run. Raises a `ConnectionFailed` if the agent refuses."""

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        """Change the permission mode, also for calls that wait. Raises a `SettingsError` if it is refused."""

    def finish_auth(self, outcome: Literal["completed", "cancelled", "expired"]) -> None:
        """Report that the person came back from the link, or gave up."""

    async def restart(self) -> None:
        """Reconnect after the agent died, with the previous conversation."""


class SessionPort(Protocol):
    """What is shown of a session; `state` is one of starting, idle, running, stopping, failed, closed."""

    @property
    def bus(self) -> Bus:
        """The session's events."""

    @property
    def workspace(self) -> WorkspacePort:
        """The session's folder."""

    @property
    def trace(self) -> Trace | None:
        """The trace of the session, with its address if known."""

    @property
    def state(self) -> str:
        """What the session is doing."""

    @property
    def queued(self) -> tuple[str, ...]:
        """The queries that wait behind the running one, oldest first."""

    @property
    def permission_mode(self) -> str:
        """What happens to calls that no rule decides."""

    @property
    def inbox(self) -> Inbox | None:
        """Accepts queries and answers; None if the session is only shown."""

    @property
    def controls(self) -> Controls | None:
        """Controls the session; None if it is over, or another program runs it."""

    async def start(self) -> None:
        """Connect; failures become events and the state `failed`."""

    async def close(self, reason: str) -> None:
        """End the session and everything it started."""


Build = Callable[[Spawn], Awaitable[SessionPort]]
"""Creates the session; heavy imports happen here, after the first frame."""


class Openable(Protocol):
    """A part of the application that opens its own dialog."""

    def open(self) -> object:
        """Open the dialog."""


class Choosable(Openable, Protocol):
    """A part of the application that opens its own dialog, and accepts a choice without it."""

    def choose(self, name: str, /) -> object:
        """Choose by name."""


class ScreenHost(Protocol):
    """What `open_screen(app)` of a screen with a command may use of the application."""

    @property
    def settings(self) -> Settings:
        """What the person configured."""

    @property
    def session(self) -> SessionPort | None:
        """The session; None before it starts."""

    @property
    def setup(self) -> Openable:
        """The setup of the model."""

    @property
    def model_selection(self) -> Openable:
        """The choice of the model."""

    @property
    def permission_mode(self) -> Choosable:
        """The choice of the permission mode."""

    @property
    def queries(self) -> Openable:
        """The queue."""

    @property
    def budget(self) -> Openable:
        """The spending limit."""

    @property
    def status(self) -> Openable:
        """The status line."""

    def open_sessions(self) -> None:
        """Show the sessions."""

    def open_fleet(self) -> None:
        """Show the sessions of this machine and of the team."""

    def open_find(self, words: str = "") -> None:
        """Show what was found for these words."""

    def push_screen(self, screen: Any) -> object:
        """Show a screen."""
