"""How a session starts background work: a front end can supply its own workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

__all__ = ["Handle", "Spawn", "spawn_task"]


class Handle(Protocol):
    """Something that runs and can be cancelled: an asyncio task, a Textual worker."""

    def cancel(self) -> object:
        """Stop it."""


Spawn = Callable[[Coroutine[Any, Any, None], str, str], Handle]
"""Starts a coroutine in the background: (coroutine, name, group) -> handle."""


def spawn_task(work: Coroutine[Any, Any, None], name: str, group: str) -> Handle:
    """Start a coroutine as a plain asyncio task; the caller keeps the handle."""
    return asyncio.get_running_loop().create_task(work, name=f"{group}:{name}")
