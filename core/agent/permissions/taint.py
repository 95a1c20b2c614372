"""Whether an action needs a question because of what the agent has read."""

from __future__ import annotations

from typing import Protocol

from core.agent.permissions.actions import Action

__all__ = ["Taint", "no_taint"]


class Taint(Protocol):
    """Gives the reason to ask a person about an action; None if there is none."""

    def __call__(self, action: Action, /) -> str | None:
        """The reason in words, such as "it sends something after the agent read papers.example"."""
        ...


def no_taint(_action: Action, /) -> str | None:
    """Never gives a reason to ask."""
    return None
