from __future__ import annotations

import os
import stat
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Button, Input, Static

from tests.model_server import Answer, ModelServer, model_server, refusal
from tests.paths import STYLES
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.provider.request import DEFAULT_URL
from ua_tui.core.provider.setup import LOCAL_URL, ZAI_URL, ModelSetup
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.tui.screens.setup.pages import FORMS, METHODS, FormField
from ua_tui.tui.screens.setup.screen import SetupResult, SetupScreen
from ua_tui.tui.terminal.foreground import NoProgram
from ua_tui.tui.theme.themes import DEFAULT_THEME, THEMES
from ua_tui.tui.widgets.dialog import QUIET_SECONDS

KEY = "sk-ant-api03-canary-9f8e7d6c5b4a"
REFUSED = Answer(401, refusal("authentication_error", "invalid x-api-key"))
LOGIN = '{"claudeAiOauth": {"accessToken": "t", "refreshToken": "r", "subscriptionType": "max"}}'


class Stage(App[None]):
    CSS_PATH = [STYLES / "dialogs.tcss", STYLES / "setup.tcss"]  # noqa: RUF012

    def __init__(self, base: Path, settings: Settings | None = None, **environ: str) -> None:
        super().__init__()
        self.now = 0.0
        self.answers: list[object] = []
        self.kept: set[str] = set()
        self.logins: list[Path | None] = []
        self.on_login: Callable[[], int] = lambda: 0
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DEFAULT_THEME
        (base / "work").mkdir(exist_ok=True)
        now = settings or Settings(claude_config_dir=base / "claude")
        self.desk = ModelSetup(now, Places(environ=environ, cwd=base / "work", config_dir=base / "conf"))
        self.file = base / "conf" / "config.toml"

    async def open(self, pilot: Pilot[None], **options: Any) -> SetupScreen:
        screen = SetupScreen(self.desk, keep_secret=self.kept.update, login=self.log_in, **options)
        screen.clock = lambda: self.now
        self.push_screen(screen, self.answers.append)
        # Its quiet time begins only then.
        await until(lambda: screen.is_drawn)
        self.now += QUIET_SECONDS
        return screen

    async def log_in(self, _app: App[Any], settings: Settings) -> int:
        self.logins.append(settings.claude_config_dir)
        return self.on_login()

    @property
    def shown(self) -> str:
        """Everything that can be seen, with what is written in lines that are not hidden."""
        seen = [each for each in self.screen.query(Static).results(Static) if each.region]
        fields = self.screen.query(Input).results(Input)
        lines = [each.value for each in fields if each.region and not each.password]
        buttons = [str(each.label) for each in self.screen.query(Button).results(Button) if each.region]
        return "\n".join([*(str(each.content) for each in seen), *lines, *buttons])

    @property
    def stored(self) -> dict[str, object]:
        return tomllib.loads(self.file.read_text())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: Patch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(monkeypatch: Patch) -> Iterator[ModelServer]:
    """A model that answers, also in the place of Anthropic's own and of Z.AI's."""
    with model_server() as running:
        monkeypatch.setattr("ua_tui.core.provider.request.DEFAULT_URL", running.url)
        monkeypatch.setattr("ua_tui.core.provider.setup.ZAI_URL", f"{running.url}/zai")
        running.answers["/zai/v1/messages"] = running.answers["/v1/messages"]
        yield running


async def enter(pilot: Pilot[None], *parts: str) -> None:
    """Press keys; a text of several letters that is no key is written into the focused line at once."""
    for part in parts:
        focused = pilot.app.focused
        if isinstance(focused, Input) and part not in ("tab", "enter"):
            focused.insert_text_at_cursor(part)
        else:
            await pilot.press(part)


async def paste(pilot: Pilot[None], text: str) -> None:
    focused = pilot.app.focused
    assert focused is not None
    focused.post_message(events.Paste(text))
    await pilot.pause()


async def test_a_way_is_chosen_by_digit_or_arrows_and_esc_leads_back(tmp_path: Path) -> None:
    app = Stage(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        for keys, page in (
            (["1"], "anthropic"), (["enter"], "anthropic"), (["2"], "login"), (["4"], "server"),
            (["down", "down", "up", "down", "enter"], "zai"),
        ):  # fmt: skip
            screen = await app.open(pilot)
            shown = app.shown.replace("\n", "")
            assert all(title in shown for title in (*(title for _, title, _ in METHODS), str(app.file)))
            await pilot.press(*keys)
            await pilot.pause()
            assert screen.query_one(f"#page-{page}").display, keys
            assert not screen.query_one("#page-methods").display
            await pilot.press("escape")
            assert screen.query_one("#page-methods").display
            assert app.focused is screen.query_one(f"#{page}")
            await pilot.press("escape")
            await pilot.pause()
            assert app.answers.pop() is None


async def test_a_pasted_key_is_tidied_hidden_tried_stored_and_used(
    tmp_path: Path, server: ModelServer
) -> None:
    app = Stage(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.open(pilot)
        await pilot.press("1")
        await paste(pilot, f"\n  {KEY[:9]}\n{KEY[9:]}\r\n")
        entry = app.screen.query_one("#page-anthropic FormField", FormField)
        assert entry.value == KEY
        assert entry.password
        # A hidden line gives its text to nobody.
        await pilot.press("ctrl+shift+a", "ctrl+c", "ctrl+x")
        assert (app.clipboard, entry.value) == ("", "")
        await paste(pilot, KEY)
        await pilot.press("enter")
        await until(lambda: "The model works" in app.shown)
        assert server.messages[0][0]["x-api-key"] == KEY
        assert app.stored == {"api_key": KEY}
        assert stat.S_IMODE(app.file.stat().st_mode) == 0o600
        assert str(app.file) in app.shown
        assert KEY in app.kept
        assert KEY not in app.export_screenshot()
        await pilot.press("enter")
        await pilot.pause()
        (answer,) = app.answers
        assert isinstance(answer, SetupResult)
        assert answer.settings.api_key == KEY
        assert KEY not in repr(answer)


async def test_z_ai_is_asked_at_its_own_address_with_a_token(tmp_path: Path, server: ModelServer) -> None:
    app = Stage(tmp_path)
    async with app.run_test() as pilot:
        await app.open(pilot)
        await enter(pilot, "3", "z-key.123456", "tab", "glm-9", "enter")
        await until(lambda: "The model works" in app.shown)
        ((path, headers, body),) = server.asked
        assert path == "/zai/v1/messages"
        assert headers["authorization"] == "Bearer z-key.123456"
        assert body["model"] == "glm-9"
        assert app.stored == {"auth_token": "z-key.123456", "base_url": f"{server.url}/zai", "model": "glm-9"}
    assert ZAI_URL == "https://api.z.ai/api/anthropic"
    assert DEFAULT_URL == "https://api.anthropic.com"


WRONG: list[tuple[Answer, str, bool]] = [
    (REFUSED, "Copy the key again", False),
    (Answer(403, refusal("permission_error", "no")), "what these credentials may do", False),
    (Answer(404, refusal("not_found_error", "model: x")), "Choose a model", False),
    (Answer(200, "<html>", "text/html"), "web page", False),
    (Answer(529, refusal("overloaded_error", "busy")), "Try again in a minute", True),
]


async def test_what_does_not_work_is_reported_and_nothing_is_lost_or_stored(tmp_path: Path) -> None:
    app = Stage(tmp_path)
    with model_server() as server:
        async with app.run_test(size=(80, 24)) as pilot:
            await app.open(pilot)
            await enter(pilot, "4", server.url, "tab", "m1", "tab", "tok-123456")
            for answer, message, away in WRONG:
                server.answers["/v1/messages"] = answer
                await pilot.press("enter")
                await until(lambda: "That didn't work" in app.shown)
                # The buttons are shown with the next layout.
                await pilot.pause()
                assert message in app.shown
                assert ("Save anyway" in app.shown) == away
                assert not app.file.exists()
                await pilot.press("enter")
                entries = app.screen.query("#page-server FormField").results(FormField)
                assert [entry.value for entry in entries] == [server.url, "m1", "tok-123456"]
            # A limit that is reached is no reason to refuse a good key.
            server.answers["/v1/messages"] = Answer(429, refusal("rate_limit_error", "30 a minute"))
            await pilot.press("enter")
            await until(lambda: "The key works" in app.shown)
            assert "30 a minute" in app.shown
            assert app.stored["model"] == "m1"


async def test_without_a_network_it_is_stored_anyway(tmp_path: Path) -> None:
    app = Stage(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.open(pilot)
        await pilot.press("4", *"127.0.0.1:1", "enter")
        await until(lambda: "That didn't work" in app.shown)
        assert "Nothing is listening at http://127.0.0.1:1" in app.shown
        assert not app.file.exists()
        await pilot.press("s")
        await until(lambda: "Saved, but not tested" in app.shown)
        assert app.stored == {"base_url": "http://127.0.0.1:1"}
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.answers[0], SetupResult)


async def test_a_trial_that_takes_long_can_be_given_up(tmp_path: Path) -> None:
    app = Stage(tmp_path)
    wait = threading.Event()
    with model_server(Answer(wait=wait)) as server:
        async with app.run_test() as pilot:
            await app.open(pilot)
            await enter(pilot, "4", server.url, "enter")
            await until(lambda: "Testing…" in app.shown and bool(server.asked))
            await pilot.press("escape")
            assert app.screen.query_one("#page-server").display
            wait.set()
            await until(lambda: all(each.is_finished for each in app.workers))
            assert app.screen.query_one("#page-server").display
            assert not app.file.exists()


async def test_enter_takes_the_address_that_is_offered(
    tmp_path: Path, server: ModelServer, monkeypatch: Patch
) -> None:
    assert FORMS["server"].lines[0] == ["address", "Address", LOCAL_URL]
    lines = (("address", "Address", server.url), *FORMS["server"].lines[1:])
    monkeypatch.setitem(FORMS, "server", replace(FORMS["server"], lines=lines))
    app = Stage(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.open(pilot)
        await pilot.press("4", "enter")
        await until(lambda: bool(server.asked) and app.file.exists())
        assert server.url in app.file.read_text()


async def test_entries_are_offered_but_no_key_and_a_wrong_one_is_reported_beside_its_line(
    tmp_path: Path,
) -> None:
    app = Stage(tmp_path, Settings(base_url="http://127.0.0.1:7", auth_token="tok-canary-1", model="llama4"))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await app.open(pilot, requested=True)
        assert "Current: http://127.0.0.1:7, with a token" in app.shown
        await pilot.press("4")
        entries = app.screen.query("#page-server FormField").results(FormField)
        assert [entry.value for entry in entries] == ["http://127.0.0.1:7", "llama4", ""]
        await pilot.press("ctrl+shift+a", "ctrl+x")
        assert app.clipboard == "http://127.0.0.1:7"
        screen.withdraw()
        await pilot.pause()
        for keys, message in (
            (["1", *"sk-ant-oat", "enter"], "This is the token of a Claude login"),
            (["3", "enter"], "Enter or paste the key."),
            (["4", "ctrl+u", *"ftp://x", "enter"], "This is not an address"),
        ):
            screen = await app.open(pilot)
            await pilot.press(*keys)
            await pilot.pause()
            assert message in app.shown, keys
            assert isinstance(app.focused, FormField)
            await pilot.press("x")
            await pilot.pause()
            assert message not in app.shown
            screen.withdraw()
            await pilot.pause()


async def test_the_rest_of_the_file_stays_and_what_wins_over_it_is_reported(
    tmp_path: Path, server: ModelServer
) -> None:
    app = Stage(tmp_path, Settings(), ANTHROPIC_API_KEY="another-key-12")
    app.file.parent.mkdir()
    app.file.write_text('# mine\ntheme = "ua-light"\nauth_token = "old-token-12"\n')
    async with app.run_test(size=(80, 24)) as pilot:
        await app.open(pilot)
        await pilot.press("1")
        assert "This replaces auth_token there" in app.shown.replace("\n", " ")
        await paste(pilot, KEY)
        await pilot.press("enter")
        await until(lambda: "The model works" in app.shown)
        assert app.file.read_text() == f'# mine\ntheme = "ua-light"\napi_key = "{KEY}"\n'
        assert "⚠ The environment variable ANTHROPIC_API_KEY will override the stored value" in app.shown
        assert "another-key-12" not in app.shown


async def test_what_cannot_be_stored_is_used_all_the_same(
    tmp_path: Path, server: ModelServer, monkeypatch: Patch
) -> None:
    app = Stage(tmp_path)
    app.file.parent.mkdir()
    app.file.write_text("theme = 'ua-light'\n")

    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    async with app.run_test(size=(80, 24)) as pilot:
        await app.open(pilot)
        await pilot.press("1")
        await paste(pilot, KEY)
        with monkeypatch.context() as broken:
            broken.setattr("ua_tui.core.storage.files.os.fsync", full)
            await pilot.press("enter")
            await until(lambda: "could not be saved" in app.shown)
        assert "No space left on device" in app.shown.replace("\n", " ")
        assert app.file.read_text() == "theme = 'ua-light'\n"
        assert os.listdir(app.file.parent) == ["config.toml"]
        await pilot.press("r")
        await until(lambda: "Saved in" in app.shown)
        assert app.stored == {"theme": "ua-light", "api_key": KEY}
        # A file that is broken is left alone.
        app.file.write_text("theme = \n")
        await pilot.press("escape", "enter")
        await until(lambda: "not valid TOML" in app.shown.replace("\n", " "))
        assert "could not be saved" in app.shown
        await pilot.press("t")
        await pilot.pause()
        (answer,) = app.answers
        assert isinstance(answer, SetupResult)
        assert answer.settings.api_key == KEY
        assert app.file.read_text() == "theme = \n"


async def test_a_login_is_made_here_or_elsewhere_and_searched_for_again(tmp_path: Path) -> None:
    app = Stage(tmp_path)
    app.file.parent.mkdir()
    app.file.write_text('api_key = "old-key-1234"\n')

    def nowhere() -> int:
        raise NoProgram("Logging in needs a terminal of its own, and there is none here.")

    def logs_in() -> int:
        (tmp_path / "claude").mkdir()
        (tmp_path / "claude" / ".credentials.json").write_text(LOGIN)
        return 0

    async with app.run_test(size=(80, 24)) as pilot:
        await app.open(pilot)
        await pilot.press("2")
        assert "There is no login in" in app.shown
        assert "auth login" in app.shown.replace("\n", " ")
        assert "Use login" not in app.shown
        app.on_login = nowhere
        await pilot.press("i")
        await pilot.pause()
        assert any("needs a terminal" in note.message for note in app._notifications)
        app.on_login = logs_in
        await pilot.press("enter")
        await pilot.pause()
        assert app.logins == [tmp_path / "claude"] * 2
        assert "Found a Claude Max login" in app.shown
        await pilot.press("enter")
        await until(lambda: "Login found" in app.shown)
        assert not app.file.exists()
        assert "removes api_key" in app.shown.replace("\n", " ")
        await pilot.press("enter")
        await pilot.pause()
        (answer,) = app.answers
        assert isinstance(answer, SetupResult)
        assert answer.settings.has_credentials()
    # Where nothing was stored, nothing is for a login that is there.
    again = Stage(tmp_path)
    async with again.run_test(size=(80, 24)) as pilot:
        await again.open(pilot)
        await pilot.press("2", "k", "enter")
        await until(lambda: "Login found" in again.shown)
        assert not again.file.exists()
