"""Pictures of the pages of the setup, alone on the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from core.provider.claude_login import Login
from core.provider.probe import ModelVerdict
from core.provider.setup import ModelSetup, SetupPlan, StoredSetup
from core.settings.model import Settings
from tests.tui.files_host import finished, until
from tests.tui.pictured import Drawn, cases, draw_once, no_blinking
from tui.screens.setup import pages as setup_pages
from tui.screens.setup.screen import SetupScreen

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
        super().__init__(Settings(), environ={}, config_dir=FOLDER)
        self.verdict = verdict

    async def check(self, plan: SetupPlan) -> ModelVerdict:
        return self.verdict

    def store(self, plan: SetupPlan) -> StoredSetup:
        wins = "wins over what is stored, from the next start on: take it out there."
        return StoredSetup(self.path, (f"The environment variable ANTHROPIC_BASE_URL {wins}",))


PAGES = ("methods", "login", "server", "unknown-model", "stored")


@pytest.fixture(scope="module")
def drawn(shared_folder: Path) -> Iterator[Callable[[tuple[int, int], str], dict[str, str]]]:
    """Pages of a machine with one Claude command line, and no login, for everybody."""
    with pytest.MonkeyPatch.context() as patch:
        login = Login(False, "There is no login in /home/ann/.claude yet.")
        patch.setattr(setup_pages, "find_login", lambda _settings: login)
        patch.setattr(setup_pages, "command_to_log_in", lambda _settings: ["/opt/claude", "auth", "login"])
        yield draw_once(shared_folder, "setup", pages)


async def opened(app: App[Any], desk: Desk) -> SetupScreen:
    screen = SetupScreen(desk, "No API key, token, login or local server was found.")
    app.push_screen(screen)
    await until(lambda: screen.is_attached and not screen.has_class("-quiet"))
    return screen


async def come_to_rest(app: App[Any]) -> None:
    if trying := [each for each in app.workers if each.group == "setup"]:
        await finished(trying)
    no_blinking(app)


async def pages(pilot: Pilot[Any]) -> AsyncIterator[str]:
    """Go through the pages alone on the screen."""
    app = pilot.app
    for page, keys in (("methods", []), ("login", ["2"])):
        screen = await opened(app, Desk(GOOD))
        await pilot.press(*keys)
        await come_to_rest(app)
        yield page
        screen.dismiss(None)
        await pilot.pause()
    for page, verdict in (("unknown-model", BAD), ("stored", GOOD)):
        screen = await opened(app, Desk(verdict))
        for key, text in zip(("4", "tab", "tab"), ENTERED, strict=True):
            await pilot.press(key)
            assert isinstance(app.focused, Input)
            app.focused.insert_text_at_cursor(text)
        await come_to_rest(app)
        if verdict is BAD:
            yield "server"
        await pilot.press("enter")
        await come_to_rest(app)
        yield page
        screen.dismiss(None)
        await pilot.pause()


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize(("page", "size", "theme"), cases(PAGES))
def test_a_page(
    snap_compare: Callable[..., bool],
    drawn: Callable[[tuple[int, int], str], dict[str, str]],
    page: str,
    size: tuple[int, int],
    theme: str,
) -> None:
    assert snap_compare(Drawn(drawn(size, theme)[page]))
