"""One demo research session with a heartbeat beside it, in a process of its own: `QUERY RESULT_FILE`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

from tests.bench.heartbeat import Heartbeat
from ua_tui.core.events.types import Event, QueryFinished, QueryReceived
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings

QUERY = "Research the latest AI chip news and write a comprehensive report"
SIZE = (120, 40)
SECONDS = 180.0
SETTLE = 1.0
START, SESSION, CLOSE = "start", "session", "close"


async def in_app(settings: Settings, query: str, heart: Heartbeat) -> None:
    """The session in the real application, with Textual's headless driver in place of a terminal."""
    from ua_tui.core.concurrency.spawn import Spawn
    from ua_tui.tui.app.session_source import LiveSource
    from ua_tui.tui.cli.full_screen import NextSession, make_app
    from ua_tui.tui.ports import SessionPort

    app = make_app(NextSession(settings, query))
    assert isinstance(app.source, LiveSource)
    build = app.source.build
    finished = asyncio.Event()

    def follow(event: Event) -> None:
        if isinstance(event, QueryReceived):
            heart.phase = SESSION
        elif isinstance(event, QueryFinished):
            finished.set()

    async def build_followed(spawn: Spawn) -> SessionPort:
        session = await build(spawn)
        session.bus.subscribe(follow)
        return session

    app.source.build = build_followed
    async with app.run_test(size=SIZE):
        heart.start()
        async with asyncio.timeout(SECONDS):
            while not finished.is_set():
                if not app.is_running:
                    raise RuntimeError("the application ended before the session")
                with suppress(TimeoutError):
                    await asyncio.wait_for(finished.wait(), 1.0)
        await asyncio.sleep(SETTLE)
        heart.phase = CLOSE
    heart.stop()


def main(query: str, result: str) -> None:
    """Run the session, and write what the heart felt to `result`."""
    settings = load_settings({"demo": True, "workspace_base": Path.cwd()})
    heart = Heartbeat()
    asyncio.run(in_app(settings, query, heart))
    Path(result).write_text(json.dumps(heart.report()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
