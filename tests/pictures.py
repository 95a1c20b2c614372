"""Draws the picture of the screen in the README: the real app after the demo's research session.

Run as `python -m tests.picture docs/screen.svg`.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

from core.events import Event, QueryFinished
from core.session import Session, Spawn
from core.settings import load_settings
from tui.app import UaTuiApp
from tui.compose import compose_session
from tui.panes.workspace import WorkspacePane

QUERY = "Research the latest AI chip news and write a comprehensive report"
REPORT = "work_products/ai-chip-news.html"
SIZE = (160, 45)
DEADLINE = 100.0
# The picture must not load a font from elsewhere: any monospaced one will do.
FONTS_AND_COMMENTS = re.compile(r"@font-face\s*\{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)


async def draw(base: Path) -> str:
    """Play the research session in `base` and give the last screen as SVG."""
    settings = load_settings(
        {"demo": True, "demo_pace": 0.0, "workspace_base": base},
        environ={},
        cwd=base,
        home=base,
        config_dir=base,
    )
    finished: asyncio.Future[QueryFinished] = asyncio.get_running_loop().create_future()
    sessions: list[Session] = []

    def receive(event: Event) -> None:
        if isinstance(event, QueryFinished) and not finished.done():
            finished.set_result(event)

    async def build(spawn: Spawn) -> Session:
        sessions.append(
            await compose_session(settings, interactive=True, spawn=spawn, subscribers=(receive,))
        )
        return sessions[0]

    app = UaTuiApp(settings, build, QUERY, state_dir=base / "state")
    async with app.run_test(size=SIZE) as pilot:
        ended = await asyncio.wait_for(finished, DEADLINE)
        if ended.status != "success":
            raise SystemExit(f"the demo's query failed: {ended.error}")
        app.query_one(WorkspacePane).reveal(sessions[0].workspace.path / REPORT)
        await pilot.press("f5")
        before, picture = "", app.export_screenshot(title="ua-tui")
        while picture != before:
            await pilot.pause(1.0)
            before, picture = picture, app.export_screenshot(title="ua-tui")
    if str(base) in picture:
        raise SystemExit("the picture shows a folder of this machine")
    return FONTS_AND_COMMENTS.sub("", picture)


def main() -> None:
    """Write the picture to the path given on the command line."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tests.picture FILE")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
        os.environ.update(
            HOME=base, XDG_STATE_HOME=base, XDG_CACHE_HOME=base, TZ="UTC", COLORTERM="truecolor"
        )
        os.environ.pop("NO_COLOR", None)
        picture = asyncio.run(draw(Path(base)))
    Path(sys.argv[1]).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
