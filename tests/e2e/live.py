"""A session in this process with the real command line and toolkit, and what happened in it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.waiting import until
from ua_tui.core.events.types import Event, McpServer, QueryFinished, ToolCallFinished
from ua_tui.core.session.session import Session
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.tui import compose


class Live:
    """A session that runs, and its events."""

    def __init__(self, session: Session, events: list[Event]) -> None:
        self.session = session
        self.events = events

    def of(self, *kinds: type[Event]) -> list[Any]:
        """The events of these kinds, in order."""
        return of(self.events, *kinds)

    async def ask(self, text: str) -> QueryFinished:
        """Run a query to its end."""
        before = len(self.of(QueryFinished))
        self.session.submit(text)
        await until(lambda: len(self.of(QueryFinished)) > before)
        finished: QueryFinished = self.of(QueryFinished)[before]
        return finished

    async def call(self, text: str) -> ToolCallFinished:
        """Run a query that makes a call; gives how the last one went."""
        await self.ask(text)
        finished: ToolCallFinished = self.of(ToolCallFinished)[-1]
        return finished

    def server(self, name: str) -> McpServer | None:
        """A server as it was last told of."""
        return next((each for each in self.session.servers.known if each.name == name), None)

    def status(self, name: str) -> str:
        """How a server stands; empty if nobody told of it."""
        return getattr(self.server(name), "status", "")

    async def comes_to(self, name: str, *statuses: str) -> None:
        """Wait until a server stands in one of these ways."""
        await until(lambda: self.status(name) in statuses, reported=lambda: self.server(name))


@asynccontextmanager
async def live(
    settings: Settings, *connected: str, interactive: bool = False, **more: Any
) -> AsyncIterator[Live]:
    """Start a session, wait until these servers are connected, and close it at the end."""
    events: list[Event] = []
    session = await compose.compose_session(
        settings, interactive=interactive, subscribers=(events.append,), **more
    )
    try:
        await session.start()
        here = Live(session, events)
        for name in connected:
            await here.comes_to(name, "connected")
        yield here
    finally:
        await session.close("finished")


def demo_settings(base: Path, **more: Any) -> Settings:
    """The settings of a session of the demo, which does not dawdle."""
    given = {"demo": True, "workspace_base": base, "demo_pace": 0.0, **more}
    return load_settings(given, Places(environ={}, cwd=base))


def of(events: Sequence[Event], *kinds: type[Event]) -> list[Any]:
    """The events of these kinds, in order."""
    return [event for event in events if isinstance(event, kinds)]


def processes() -> Iterator[tuple[int, int, str]]:
    """What runs: (pid, the parent's pid, command line), without what has ended and nobody waited for."""
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_text().replace("\0", " ")
        except (OSError, IndexError):
            continue
        if entry.name.isdigit() and fields[0] != "Z":
            yield int(entry.name), int(fields[1]), command


def children(pid: int) -> list[tuple[int, str]]:
    """The direct children of a process, with their command lines."""
    return [(child, command) for child, parent, command in processes() if parent == pid]


def agent_of(session: Session) -> int:
    """The process of the session's command line: the child of this process that works in its folder."""
    (found,) = (
        child
        for child, command in children(os.getpid())
        if "claude" in command and os.readlink(f"/proc/{child}/cwd") == str(session.workspace.path)
    )
    return found
