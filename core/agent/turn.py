"""One query on its way through the agent, and how it went."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from core.agent.messages.translate import TurnResult
from core.agent.steering import Steering
from core.errors import AgentError
from core.events.types import Usage
from core.observation import ToolCall
from core.provider.refusals import AT_LIMIT

__all__ = ["Turn", "TurnFailed", "TurnOutcome"]


@dataclass(frozen=True)
class TurnOutcome:
    """How one query went; `cost_usd` is of this query alone."""

    status: Literal["success", "error", "interrupted"]
    text: str = ""
    error: str | None = None
    turns: int = 0
    cost_usd: float | None = None
    usage: Usage | None = None
    context_window: int | None = None
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def at_limit(self) -> bool:
        """Whether it was stopped for what the session may cost."""
        return self.error == AT_LIMIT


class TurnFailed(AgentError):
    """The agent ended a query with an error; `outcome` has what it cost all the same."""

    def __init__(self, outcome: TurnOutcome) -> None:
        super().__init__(outcome.error or "the agent failed without a word")
        self.outcome = outcome


@dataclass
class Turn:
    """What is known of a query while the agent works on it.

    `done` has what the agent ends it with. `asked` says that the agent has it, `refusal` why it is stopped though
    nobody asked for that, `links` which links to open were told of, and `going_on` is the timer that ends it when the
    agent does not take up what was said last.
    """

    query_id: str
    query: str
    simple: bool
    done: asyncio.Future[TurnResult]
    links: set[str] = field(default_factory=set)
    calls: list[ToolCall] = field(default_factory=list)
    interrupted: bool = False
    refusal: str | None = None
    asked: bool = False
    going_on: asyncio.TimerHandle | None = None
    steering: Steering = field(default_factory=Steering)

    @property
    def is_stopped(self) -> bool:
        """Whether it is being stopped, by a person or for its refusal."""
        return self.interrupted or self.refusal is not None

    def outcome(self, result: TurnResult, cost_usd: float | None) -> TurnOutcome:
        """How the query went for a person, given what the agent ended it with."""
        status, error = result.status, result.error
        if self.refusal is not None and status != "success":
            status, error = "error", self.refusal
        if self.interrupted and status == "error":
            status, error = "interrupted", None
        return TurnOutcome(
            status=status,
            text=result.text,
            error=error,
            turns=result.turns,
            cost_usd=cost_usd,
            usage=result.usage,
            context_window=result.context_window,
            tool_calls=tuple(self.calls),
        )
