"""The real application with a session that holds ten thousand calls, for a terminal: `BASE`.

Everything is real but what the agent would take hours for: its calls are events made here. The session's folder is
`BASE/session`; what a bench writes there comes up in the workspace as it would otherwise.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.tui.fakes import FakeSession, FakeWorkspace
from ua_tui.core.concurrency.spawn import Spawn
from ua_tui.core.events.types import ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.session_source import LiveSource
from ua_tui.tui.terminal.clipboard import Clipboard

CALLS = 10_000
AT_ONCE = 500
QUERY = "Look at everything"


class ScaleApp(UaTuiApp):
    """Publishes the calls behind its first frame, and says in its title when all are there."""

    def on_mount(self) -> None:
        self.spawn(self._bring_calls, "calls", "bench")

    async def _bring_calls(self) -> None:
        while self.session is None or self.state != "idle":  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.05)
        session = self.session
        assert isinstance(session, FakeSession)
        session.submit(QUERY)
        for number in range(CALLS):
            for event in _call(number):
                session.bus.publish(event)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0.05)
        session.finish()


def _call(number: int) -> tuple[ToolCallStarted, ToolCallFinished]:
    name = f"tool_{number}"
    started = ToolCallStarted(
        query_id="q1", tool_use_id=name, name="WebSearch", input={"query": f"chips of the week {number}"}
    )
    observation = McpObservation(
        tool_name="WebSearch", tool_use_id=name, server="s", content=(TextContent(f"found {number} pages"),)
    )
    return started, ToolCallFinished(
        tool_use_id=name, status="success", observation=observation, duration_ms=number % 9_000 + 50
    )


def main(base: Path) -> None:
    """Run until the terminal closes."""
    folder = base / "session"
    folder.mkdir()
    session = FakeSession(FakeWorkspace(folder))

    async def build(_spawn: Spawn) -> FakeSession:
        return session

    clipboard = Clipboard({"TERM": "xterm-256color"}, platform="linux")
    app = ScaleApp(
        Settings(workspace_base=base), LiveSource(build), state_dir=base / "state", clipboard=clipboard
    )
    app.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
