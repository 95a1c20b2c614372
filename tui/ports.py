"""The interfaces between the screen and the rest: the session, its parts, and the workers that run it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ua_tui.core.concurrency.spawn import Spawn

if TYPE_CHECKING:
    from ua_tui.core.bus import Bus
    from ua_tui.core.session.session import Session
    from ua_tui.core.telemetry.tracer import Trace


class WorkspacePort(Protocol):
    """Where the session's files are."""

    @property
    def path(self) -> Path:
        """The session's folder."""


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
    def controls(self) -> Session | None:
        """Controls the session; None if it is over, or another program runs it."""

    async def start(self) -> None:
        """Connect; failures become events and the state `failed`."""

    async def close(self, reason: str) -> None:
        """End the session and everything it started."""


Build = Callable[[Spawn], Awaitable[SessionPort]]
"""Creates the session; heavy imports happen here, after the first frame."""
