"""One demo research session with a heartbeat beside it, in a process of its own: `MODE RESULT_FILE`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from core.events.types import Event, QueryFinished, QueryReceived
from core.settings.loading import load_settings
from core.settings.model import Settings
from tests.bench.heartbeat import Heartbeat

QUERY = "Research the latest AI chip news and write a comprehensive report"
SIZE = (120, 40)
SECONDS = 180.0
SETTLE = 1.0
START, SESSION, CLOSE = "start", "session", "close"


async def in_app(settings: Settings, heart: Heartbeat) -> None:
    """The session in the real application, with Textual's headless driver in place of a terminal."""
    from core.concurrency.spawn import Spawn
    from tui.app.session_source import LiveSource
    from tui.cli.full_screen import make_app
    from tui.ports import SessionPort

    app = make_app(settings, QUERY)
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


async def without_screen(settings: Settings, heart: Heartbeat) -> None:
    """The session in the headless runner."""
    import tui.plain.one_query

    class Noting(tui.plain.one_query.ProgressPrinter):
        def __init__(self, _out: TextIO) -> None:
            super().__init__(sys.stderr)

        def __call__(self, event: Event) -> None:
            if isinstance(event, QueryReceived):
                heart.phase = SESSION
            elif isinstance(event, QueryFinished):
                heart.phase = CLOSE
            super().__call__(event)

    tui.plain.one_query.ProgressPrinter = Noting  # type: ignore[assignment,misc]  # the one place that sees each event
    heart.start()
    code = await tui.plain.one_query.run_headless(settings, QUERY, as_json=False)
    heart.stop()
    if code:
        raise SystemExit(code)


def main(mode: str, result: str) -> None:
    """Run the session of `mode`, and write what the heart felt to `result`."""
    settings = load_settings({"demo": True, "workspace_base": Path.cwd()})
    heart = Heartbeat()
    asyncio.run({"app": in_app, "headless": without_screen}[mode](settings, heart))
    Path(result).write_text(json.dumps(heart.report()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
