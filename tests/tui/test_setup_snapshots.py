"""Pictures of the pages of the setup, alone on the screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from core.claude_login import Login
from core.model_check import ModelVerdict
from core.setting_up import Plan, SettingUp, Stored
from core.settings import Settings
from tests.tui.files_host import until
from tests.tui.test_snapshots import SIZES
from tui.clipboard import Clipboard
from tui.screens import setup
from tui.screens.setup import SetupScreen
from tui.styled import StyledApp

THEMES = ["ua-dark", "ua-light", "ua-ansi"]
FOLDER = Path("/home/ann/.config/ua-tui")
SERVER = "http://127.0.0.1:11434"
GOOD = ModelVerdict(kind="ok", server=SERVER, model="llama4", status=200, seconds=0.8)
BAD = ModelVerdict(
    kind="unknown_model",
    server=SERVER,
    model="llama",
    status=404,
    said="model 'llama' not found",
    models=("llama4:scout", "qwen4-coder", "gpt-oss:20b"),
)
ENTERED = ("4", *"127.0.0.1:11434", "tab", *"llama4", "tab", *"token-of-mine")


class Desk(SettingUp):
    """Finds what a picture wants, at once, and stores nothing."""

    def __init__(self, verdict: ModelVerdict) -> None:
        super().__init__(Settings(), environ={}, config_dir=FOLDER)
        self._verdict = verdict

    async def check(self, plan: Plan) -> ModelVerdict:
        return self._verdict

    def store(self, plan: Plan) -> Stored:
        wins = "wins over what is stored, from the next start on: take it out there."
        return Stored(self.path, (f"The environment variable ANTHROPIC_BASE_URL {wins}",))


PAGES: dict[str, tuple[ModelVerdict, tuple[str, ...]]] = {
    "ways": (GOOD, ()),
    "login": (GOOD, ("2",)),
    "server": (GOOD, ENTERED),
    "unknown-model": (BAD, (*ENTERED, "enter")),
    "stored": (GOOD, (*ENTERED, "enter")),
}


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No animation, one time zone and one Claude command line for everybody."""
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setenv("TZ", "UTC")
    login = Login(False, "There is no login in /home/ann/.claude yet.")
    monkeypatch.setattr(setup, "look_for_login", lambda _settings: login)
    monkeypatch.setattr(setup, "command_to_log_in", lambda _settings: ["/opt/claude", "auth", "login"])
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class Stage(StyledApp):
    """Nothing but the setup."""

    def __init__(self, page: str, theme: str) -> None:
        super().__init__(Clipboard({"TERM": "xterm-256color"}, platform="linux"), theme)
        self.verdict, self.keys = PAGES[page]

    def on_mount(self) -> None:
        self.read_other_styles()
        message = "There is no key, no token, no login and no server of your own."
        self.push_screen(SetupScreen(Desk(self.verdict), message))


async def before(pilot: Pilot[None]) -> None:
    app = pilot.app
    assert isinstance(app, Stage)
    await pilot.pause()
    await until(lambda: isinstance(app.screen, SetupScreen) and not app.screen.has_class("-quiet"))
    await pilot.press(*app.keys)
    if trying := [each for each in app.workers if each.group == "setup"]:
        await app.workers.wait_for_complete(trying)
    for line in app.screen.query(Input).results(Input):
        line.cursor_blink = False
    await pilot.pause(0.2)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40", "200x50"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page(snap_compare: Callable[..., bool], page: str, size: tuple[int, int], theme: str) -> None:
    assert snap_compare(Stage(page, theme), terminal_size=size, run_before=before)
