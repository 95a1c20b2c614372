"""The moment that the cursor of a pane is at, so that the cursor of another pane can follow it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

END = float("inf")
"""The moment of a cursor that follows the end."""


@dataclass
class CursorMoved(Message):
    """A person moved the cursor of a pane: to what happened `at` this time of day, in seconds.

    `call` is the call of the sub-agent that the entry belongs to; empty for the main agent.
    """

    pane: str
    at: float
    call: str = ""
