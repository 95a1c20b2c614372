"""How a session starts background work: a front end can supply its own workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class Handle(Protocol):
    """Something that runs, or is scheduled, and can be cancelled: a task, a timer, a Textual worker."""

    def cancel(self) -> object:
        """Stop it."""


Work = Callable[[], Coroutine[Any, Any, Any]]
"""A coroutine function, with its arguments in a `partial`: nothing is left to be awaited if it never begins."""

Spawn = Callable[[Work, str, str], Handle]
"""Starts work in the background: (work, name, group) -> handle."""


def spawn_task(work: Work, name: str, group: str) -> Handle:
    """Start work as a plain asyncio task; the caller keeps the handle."""
    return asyncio.get_running_loop().create_task(work(), name=f"{group}:{name}")
