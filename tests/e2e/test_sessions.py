"""A session of the demo that is closed while its agent connects."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.e2e.live import children, demo_settings
from tests.waiting import until
from ua_tui.core.connections.base import Connection
from ua_tui.core.events.types import Event
from ua_tui.core.session.parts import SessionState
from ua_tui.tui.compose import compose_session


async def test_closing_while_the_agent_connects_ends_everything_once(tmp_path: Path) -> None:
    events: list[Event] = []
    may_open = asyncio.Event()

    async def open_late() -> Connection:
        await may_open.wait()
        return Connection()

    session = await compose_session(
        demo_settings(tmp_path),
        interactive=True,
        subscribers=(events.append,),
        connectors={"records": open_late},
    )
    starting = asyncio.create_task(session.start())
    session.submit("What is the capital of France?")
    await until(lambda: session.starts_with == "connecting records")
    may_open.set()
    await until(lambda: session.starts_with == "starting the Claude Code CLI")
    await until(lambda: any("_bundled/claude" in command for _, command in children(os.getpid())))
    await session.close("test")
    await starting
    assert [event.event_name for event in events].count("session_finished") == 1
    assert events[-1].event_name == "session_finished"
    assert session.state is SessionState.CLOSED
    left = [
        command
        for _, command in children(os.getpid())
        if "claude" in command or "ua_tui.core.demo" in command
    ]
    assert left == []
