"""Draws the pictures in the documents: the real program, with the sessions of its demo.

Run as `python -m tests.pictures docs`. What a picture must show is said here, so that none is drawn of a screen that
is not whole; times of day are fixed, how long things took is what it was.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from tests.many_sessions import lay_sessions
from tests.waiting import until
from ua_tui.core.concurrency.spawn import Spawn
from ua_tui.core.events.types import AuthRequired, Event, PermissionAsked, QueryFinished
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.session.session import Session
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.list_apps import ListApp
from ua_tui.tui.app.session_source import LiveSource
from ua_tui.tui.compose import compose_session
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.screens.session.sessions import SessionsScreen

RESEARCH = "Research the latest AI chip news and write a comprehensive report"
MAIL = "Email the report to the team"
REPORT = "work_products/ai-chip-news.html"
START = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)
DEADLINE = 240.0
SIGHTS = 120
"""How often is looked, a second apart, whether a screen is whole and at rest."""
LARGEST = 100_000
"""Bytes of a picture."""

# No font from elsewhere is loaded: any monospaced one will do. Nothing is drawn outside of its line.
_NEEDLESS = (
    re.compile(r"@font-face\s*\{.*?\}\s*|<!--.*?-->\s*", re.DOTALL),
    re.compile(r"<clipPath id=\"[^\"]*-line-\d+\">.*?</clipPath>\s*", re.DOTALL),
    re.compile(r" clip-path=\"url\(#[^)]*-line-\d+\)\""),
    re.compile(r"<text [^>]*>(?:&#160;|\s)*</text>"),
    re.compile(r"^\s+", re.MULTILINE),
)
_PAINTED = re.compile(r'<rect fill="(#\w+)" x="[^>]*shape-rendering="crispEdges"/>\n?')
_NAME = re.compile(r"terminal-\d+-")
_COUNTING = re.compile("[0-9\u2800-\u28ff]")
_TEXT = re.compile(r"<text [^>]*?\by=\"([\d.]+)\"[^>]*>(.*?)</text>", re.DOTALL)


@dataclass(frozen=True)
class Picture:
    """A picture of the documents: its file in `docs`, its size in cells, and the texts that it must show."""

    name: str
    size: tuple[int, int]
    shows: tuple[str, ...]


SCREEN = Picture(
    "screen.svg",
    (160, 45),
    (
        *("Workspace", "Conversation", "Trace", "Observers", "DEMO", "ready", "ai-chip-news.html"),
        *("SEARCH_NEWS", "crawl_parallel", "8/10 pages", "Lead stories", "report checked"),
    ),
)
NARROW = Picture(
    "narrow.svg", (80, 24), ("Conversation", "Trace", "Observers", "DEMO", "SEARCH_NEWS", "8/10 pages")
)
VIEWER = Picture(
    "report.svg",
    (100, 32),
    ("AI chips this week", "75 percent", "not found", "Nearest passage", "Tab claims"),
)
PERMISSION = Picture(
    "permission.svg",
    (100, 32),
    ("GMAIL_SEND_EMAIL", "Deny", "Allow once", "Send this e-mail?", "MULTI_EXECUTE"),
)
SESSIONS = Picture(
    "sessions.svg",
    (120, 24),
    ("Sessions", "title or first query", "finished", "crashed", "AI chips", "resume"),
)
PICTURES = (SCREEN, NARROW, VIEWER, PERMISSION, SESSIONS)


def shown(picture: str) -> str:
    """The text in a picture, line by line."""
    rows: dict[float, str] = {}
    for place, text in _TEXT.findall(picture):
        rows[float(place)] = rows.get(float(place), "") + unescape(text).replace("\xa0", " ")
    return "\n".join(row.strip("\n") for row in rows.values())


async def draw_all(base: Path) -> dict[str, str]:
    """Play sessions in `base`; gives the pictures as SVG by their names."""
    drawn: dict[str, str] = {}

    async def draw(pilot: Pilot[Any], picture: Picture) -> None:
        await pilot.resize_terminal(*picture.size)
        drawn[picture.name] = await _still(pilot.app, pilot, picture, base)

    async with _playing(base / "research", RESEARCH, SCREEN.size) as (app, pilot, session, happened):
        ended = await _until(happened, QueryFinished)
        if ended.status != "success":
            raise SystemExit(f"the demo's query failed: {ended.error}")
        app.query_one(WorkspacePane).reveal(session.workspace.path / REPORT)
        await pilot.press("f5")
        await draw(pilot, SCREEN)
        await pilot.resize_terminal(*VIEWER.size)
        await pilot.press("enter")
        await _still(app, pilot, Picture("", VIEWER.size, ("figures:", "Executive summary")), base)
        await pilot.press("right_square_bracket", "enter")
        await draw(pilot, VIEWER)
        await pilot.press("escape", "escape")
        await pilot.resize_terminal(*NARROW.size)
        await pilot.press("f3")
        await draw(pilot, NARROW)
    async with _playing(base / "mail", MAIL, PERMISSION.size) as (app, pilot, session, happened):
        await _until(happened, AuthRequired)
        session.finish_auth("completed")
        await _until(happened, PermissionAsked)
        await draw(pilot, PERMISSION)
    lay_sessions(base, 60)
    listing = ListApp(
        Settings(knowledge="off"),
        SessionsScreen(_Placed(base, base / "cache"), comes_back=True),
        "ua-tui sessions",
    )
    async with listing.run_test(size=SESSIONS.size) as pilot:
        await draw(pilot, SESSIONS)
    return drawn


class _Placed(SessionIndex):
    """Is called by a name that is none of this machine."""

    def __init__(self, base: Path, cache: Path) -> None:
        super().__init__(base, cache)
        self._real = self.sessions
        self.sessions = Path(WORKSPACES)

    def folder(self, name: str) -> Path:
        return self._real / name


@asynccontextmanager
async def _playing(
    base: Path, query: str, size: tuple[int, int]
) -> AsyncIterator[tuple[UaTuiApp, Pilot[Any], Session, list[Event]]]:
    await asyncio.to_thread(base.mkdir, parents=True)
    settings = load_settings(
        {"demo": True, "demo_pace": 0.0, "workspace_base": base},
        Places(environ={}, cwd=base, home=base, config_dir=base),
    )
    happened: list[Event] = []
    made: asyncio.Future[Session] = asyncio.get_running_loop().create_future()

    async def build(spawn: Spawn) -> Session:
        session = await compose_session(
            settings, interactive=True, spawn=spawn, subscribers=(happened.append,)
        )
        # What is told of the time of day is the same each time.
        session.bus.now = _clock()
        made.set_result(session)
        return session

    app = UaTuiApp(settings, LiveSource(build), query, state_dir=base / "state")
    async with app.run_test(size=size) as pilot:
        # What runs is counted from that time of day on.
        since = START.timestamp() - time.time()
        await until(lambda: app.query(TracePane), DEADLINE)
        trace, conversation = app.query_one(TracePane), app.query_one(ConversationPane)
        conversation.clock = trace.calls.clock = lambda: time.time() + since
        yield app, pilot, await asyncio.wait_for(made, DEADLINE), happened


def _clock() -> Callable[[], datetime]:
    now = START

    def tick() -> datetime:
        nonlocal now
        now += timedelta(milliseconds=20)
        return now

    return tick


async def _until(happened: list[Event], kind: type[Any]) -> Any:
    return await until(lambda: next((each for each in happened if isinstance(each, kind)), None), DEADLINE)


async def _still(app: App[Any], pilot: Pilot[Any], picture: Picture, base: Path) -> str:
    """The picture when all of it is there and nothing moves any more."""
    missing: list[str] = []
    before = ""
    for _ in range(SIGHTS):
        await pilot.pause(1.0)
        drawn = app.export_screenshot(title="ua-tui")
        text = shown(drawn)
        missing = [wanted for wanted in picture.shows if wanted not in text]
        # What runs, counts on.
        resting = _COUNTING.sub("", text)
        if not missing and resting == before:
            break
        before = resting
    else:
        raise SystemExit(f"{picture.name} does not show {missing} or does not come to rest:\n{text}")
    if str(base) in text or "/tmp" in text:
        raise SystemExit(f"{picture.name} shows a folder of this machine:\n{text}")
    return _compact(drawn)


def _compact(drawn: str) -> str:
    """The same picture in fewer words: what cannot be seen is left out, and the ground is painted once."""
    for needless in _NEEDLESS:
        drawn = needless.sub("", drawn)
    ((ground, _),) = Counter(_PAINTED.findall(drawn)).most_common(1)
    painted = re.compile(_PAINTED.pattern.replace("(#\\w+)", ground))
    whole = f'<rect fill="{ground}" width="100%" height="100%"/>'
    at = painted.search(drawn)
    assert at is not None
    drawn = (
        drawn[: at.start()] + whole.replace("#clip", f"#{_NAME.findall(drawn)[0]}clip") + drawn[at.end() :]
    )
    return _NAME.sub("t-", painted.sub("", drawn))


def main() -> None:
    """Write the pictures into the folder given on the command line."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tests.pictures FOLDER")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
        os.environ.update(
            HOME=base, XDG_STATE_HOME=base, XDG_CACHE_HOME=base, TZ="UTC", COLORTERM="truecolor"
        )
        os.environ.pop("NO_COLOR", None)
        drawn = asyncio.run(draw_all(Path(base)))
    for name, picture in drawn.items():
        (Path(sys.argv[1]) / name).write_text(picture, encoding="utf-8")
        print(f"{name}  {len(picture.encode()) / 1000:.0f} KB")


if __name__ == "__main__":
    main()
