"""The pages of the setup, alone on the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.files_host import finished
from tests.tui.fixture_types import Patch
from tests.tui.pictured import DARK, SMALL, Compare, Size, Stage, looks, no_blinking
from tests.waiting import until
from ua_tui.core.provider.credentials import Login
from ua_tui.core.provider.probe import ModelVerdict
from ua_tui.core.provider.setup import ModelSetup, SetupPlan, StoredSetup
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.tui.screens.setup import pages as setup_pages
from ua_tui.tui.screens.setup.screen import SetupScreen

FOLDER = Path("/home/ann/.config/ua-tui")
SERVER = "http://127.0.0.1:11434"
GOOD = ModelVerdict(kind="ok", server=SERVER, model="llama4", status=200, seconds=0.8)
BAD = ModelVerdict(
    kind="unknown_model",
    server=SERVER,
    model="llama",
    status=404,
    detail="model 'llama' not found",
    models=("llama4:scout", "qwen4-coder", "gpt-oss:20b"),
)
ENTERED = ("127.0.0.1:11434", "llama4", "token-of-mine")


class Desk(ModelSetup):
    """Finds what a picture wants, at once, and stores nothing."""

    def __init__(self, verdict: ModelVerdict) -> None:
        super().__init__(Settings(), Places(environ={}, config_dir=FOLDER))
        self.verdict = verdict

    async def check(self, plan: SetupPlan) -> ModelVerdict:
        return self.verdict

    def store(self, plan: SetupPlan) -> StoredSetup:
        wins = "will override the stored value at the next start: remove it there."
        return StoredSetup(self.path, (f"The environment variable ANTHROPIC_BASE_URL {wins}",))


@pytest.fixture(autouse=True)
def no_login(monkeypatch: Patch, still: None) -> None:
    """A machine with one Claude Code CLI, and no login."""
    login = Login(False, "There is no login in /home/ann/.claude yet.")
    monkeypatch.setattr(setup_pages, "find_login", lambda _settings: login)
    monkeypatch.setattr(setup_pages, "command_to_log_in", lambda _settings: ["/opt/claude", "auth", "login"])


@asynccontextmanager
async def opened(pilot: Pilot[Any], verdict: ModelVerdict = GOOD) -> AsyncIterator[SetupScreen]:
    screen = SetupScreen(Desk(verdict), "No API key, token, login or local server was found.")
    pilot.app.push_screen(screen)
    await until(lambda: screen.is_attached and not screen.has_class("-quiet"))
    yield screen
    screen.dismiss(None)
    await pilot.pause()


async def come_to_rest(app: App[Any]) -> None:
    if trying := [each for each in app.workers if each.group == "setup"]:
        await finished(trying)
    no_blinking(app)


async def enter(pilot: Pilot[Any]) -> None:
    for key, text in zip(("4", "tab", "tab"), ENTERED, strict=True):
        await pilot.press(key)
        assert isinstance(pilot.app.focused, Input)
        pilot.app.focused.insert_text_at_cursor(text)
    await come_to_rest(pilot.app)


@looks(DARK)
async def test_the_first_page(snap_compare: Compare, size: Size, theme: str) -> None:
    async with Stage(theme).run_test(size=size) as pilot, opened(pilot):
        await snap_compare(pilot)


@looks(DARK)
async def test_an_outcome(snap_compare: Compare, size: Size, theme: str) -> None:
    async with Stage(theme).run_test(size=size) as pilot, opened(pilot, BAD):
        await enter(pilot)
        await pilot.press("enter")
        await come_to_rest(pilot.app)
        await snap_compare(pilot)


async def test_the_text_of_each_page(screen_compare: Compare) -> None:
    async with Stage().run_test(size=SMALL) as pilot:
        async with opened(pilot):
            await screen_compare(pilot, "methods")
            await pilot.press("2")
            await come_to_rest(pilot.app)
            await screen_compare(pilot, "login")
        for page, verdict in (("unknown-model", BAD), ("stored", GOOD)):
            async with opened(pilot, verdict):
                await enter(pilot)
                if verdict is BAD:
                    await screen_compare(pilot, "server")
                await pilot.press("enter")
                await come_to_rest(pilot.app)
                await screen_compare(pilot, page)
