from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.trusted import TRUSTED
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Patch
from tests.tui.pictured import DARK, SMALL, Compare, Size, looks
from tests.tui.theme.test_contrast import quiet_colours, unreadable
from tests.waiting import until
from ua_tui.core.events.types import McpServer
from ua_tui.core.settings.places import Places
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.screens.services.agents import AgentsScreen
from ua_tui.tui.widgets.choice_list import RowList

SERVERS = [
    McpServer(
        name="local_toolkit",
        status="connected",
        tool_names=["crawl_parallel", "save_corpus", "write_local_file", "read_local_file", "list_directory"],
    ),
    McpServer(name="composio", status="failed"),
]
REVIEWER = """---
name: reviewer
description: Checks a report against its sources. Delegate to it after a report was written.
tools: [Reed, mcp__local_toolkit__read_local_file, mcp__composio__COMPOSIO_SEARCH_TOOLS]
model: sonnet
---
Check.
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.chdir(tmp_path)
    # Relative, so that pictures are the same in each folder.
    places = Places(environ={}, cwd=Path("project"), home=Path("home"), config_dir=Path("config"))
    monkeypatch.setattr("ua_tui.tui.screens.services.agents.Places", lambda: places)
    for path, text in {
        "project/.claude/agents/reviewer.md": REVIEWER,
        "project/.claude/agents/broken.md": "You are broken.",
        "home/.claude/agents/mail.md": "---\nname: email-writer\ndescription: Writes as I do.\n---\nWrite.",
        "home/.claude/skills/house-style/SKILL.md": "---\ndescription: How we write.\n---\nShort.",
    }.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def screen_of(app: UaTuiApp) -> AgentsScreen:
    return AgentsScreen(app.settings, lambda: app.session)


@asynccontextmanager
async def agents(
    tmp_path: Path, size: Size = (120, 40), **settings: Any
) -> AsyncIterator[tuple[UaTuiApp, Pilot[Any]]]:
    session = make_session(tmp_path)
    session.servers.known = SERVERS
    app = make_app(tmp_path, session, folder=TRUSTED, **settings)
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.state == "idle")
        app.push_screen(screen_of(app))
        await until(lambda: "sub-agents ·" in screen_text(app))
        yield app, pilot


async def test_what_is_wrong_is_said_of_the_file_under_the_cursor(tmp_path: Path) -> None:
    async with agents(tmp_path, skills=("house-stile",)) as (app, pilot):
        assert "4 sub-agents · 0 skills on · 2 problem" in screen_text(app)
        await until(lambda: "must start with front matter" in screen_text(app))
        assert "which does not exist" in screen_text(app)
        await pilot.press("j")
        await until(lambda: "there is no tool Reed: did you mean Read?" in screen_text(app))
        assert "composio has failed" in screen_text(app)
        await pilot.press("down")
        await until(lambda: "replaces the one that ships with ua-tui" in screen_text(app))
        assert "all tools of the session" in screen_text(app)
        await pilot.press("end")
        await until(lambda: "ua-tui config set skills house-style" in screen_text(app))
        # A row has one line where its last column has no room.
        rows = app.screen.query_one(RowList)
        for width in (60, 28):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            assert rows.virtual_size.height == rows.option_count


async def test_tools_and_files_are_checked_again_when_they_are_read(tmp_path: Path) -> None:
    async with agents(tmp_path) as (app, pilot):
        await pilot.press("j")
        await until(lambda: "composio has failed" in screen_text(app))
        assert app.controls is not None
        answered = McpServer(name="composio", status="connected", tool_names=["COMPOSIO_SEARCH_TOOLS"])
        app.controls.servers.known = [SERVERS[0], answered]  # type: ignore[misc, assignment]  # the one of a fake session
        await pilot.press("r")
        await until(lambda: "composio has failed" not in screen_text(app))
        assert "there is no tool Reed" in screen_text(app)
        # The files are put right.
        folder = Path("project/.claude/agents")
        (folder / "reviewer.md").write_text(REVIEWER.replace("Reed", "Read"))
        (folder / "broken.md").unlink()
        await pilot.press("r")
        await until(lambda: "4 sub-agents · 0 skills on" in screen_text(app))
        await until(lambda: "problem" not in screen_text(app))
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, AgentsScreen))


async def test_each_row_can_be_read_under_the_cursor_and_beside_it(tmp_path: Path) -> None:
    async with agents(tmp_path, (80, 24)) as (app, pilot):
        for theme in ("ua-dark", "ua-light", "ua-ansi"):
            app.theme = theme
            await pilot.press("home")
            for _ in range(7):
                await pilot.pause()
                assert unreadable(app, quiet_colours(app)) == {}
                await pilot.press("down")


@looks(DARK)
async def test_the_list(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, size: Size, theme: str
) -> None:
    async with agents(tmp_path, size, skills=("house-style",), theme=theme) as (_, pilot):
        await pilot.press("down")
        await snap_compare(pilot)
        await pilot.resize_terminal(*SMALL)
        await screen_compare(pilot, "80x24")
