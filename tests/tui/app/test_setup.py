from __future__ import annotations

from pathlib import Path

import pytest

from tests.model_server import model_server
from tests.tui.app_host import answerable, failed, notices, settled, shown
from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.concurrency.spawn import Spawn
from ua_tui.core.errors import CredentialsError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.controllers.setup import open_setup
from ua_tui.tui.app.port import SET_UP
from ua_tui.tui.app.session_source import LiveSource
from ua_tui.tui.screens.setup.screen import SetupResult, SetupScreen


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A home of its own, without keys, and a folder without settings."""
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bare_app(tmp_path: Path, session: FakeSession, first_query: str | None = None) -> UaTuiApp:
    """An application that gets its session as soon as there is a way to a model."""

    async def build(spawn: Spawn) -> FakeSession:
        if not app.settings.has_credentials():
            raise CredentialsError
        return session

    settings = Settings(workspace_base=tmp_path, claude_config_dir=tmp_path / "claude")
    app = UaTuiApp(settings, LiveSource(build), first_query, state_dir=tmp_path / "state")
    return app


async def test_the_first_start_ends_in_a_session_that_answers_what_was_asked_before(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = bare_app(tmp_path, session, "What is the capital of France?")
    with model_server() as server:
        async with app.run_test(size=(80, 24)) as pilot:
            await failed(app, pilot)
            await answerable(app, SetupScreen)
            await pilot.press("4", *server.url, "tab", "m", "enter")
            screen = app.screen
            assert isinstance(screen, SetupScreen)
            await until(lambda: screen._offers("start"))
            await pilot.press("enter")
            await until(lambda: bool(session.submitted))
            assert session.submitted == ["What is the capital of France?"]
            assert app.settings.base_url == server.url
            assert app.state == "running"
            assert not app.notice.display
    assert (tmp_path / "config" / "ua-tui" / "config.toml").is_file()


async def test_what_is_not_set_up_has_not_failed(tmp_path: Path) -> None:
    app = bare_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await failed(app, pilot)
        await answerable(app, SetupScreen)
        assert "? not set up" in app.status.render().plain
        assert "failed" not in app.status.render().plain
        await pilot.press("escape")
        await pilot.pause()
        assert "? not set up" in app.status.render().plain
        assert "No model is set up" in app.notice.text
        # It is opened again by its command.
        await settled(app, pilot) if app.pump.is_paused else None
        await pilot.press(*"/setup", "enter")
        await answerable(app, SetupScreen)
        await pilot.press("escape")
        app.settings = Settings(workspace_base=tmp_path, api_key="key-of-mine-12")
        app.action_restart()
        await until(lambda: app.state == "idle")
        assert "ready" in app.status.render().plain


async def test_in_a_session_it_leads_to_one_with_the_new_settings(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session, api_key="old-key-1234")
    new = Settings(workspace_base=tmp_path, api_key="new-key-1234")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        # While the agent works nothing is cut off.
        session.submit("x")
        open_setup(app)
        await answerable(app, SetupScreen)
        app.screen.dismiss(SetupResult(new))
        await until(lambda: "next session" in notices(app))
        assert app.settings.api_key == "old-key-1234"
        assert session.closed == []
        session.finish()
        await shown(app, pilot)
        open_setup(app)
        await answerable(app, SetupScreen)
        app.screen.dismiss(SetupResult(new))
        await until(lambda: bool(session.closed))
    assert app.return_value == SET_UP
    assert app.settings is new


async def test_the_session_that_lives_masks_a_key_before_it_is_tried(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    session.workspace.redactor = redactor = Redactor()  # type: ignore[attr-defined]  # as a real one has
    app = make_app(tmp_path, session, api_key="old-key-1234")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        open_setup(app)
        await answerable(app, SetupScreen)
        await pilot.press("4", *"127.0.0.1:1", "tab", "tab", *"canary-token-99", "enter")
        await until(lambda: "canary-token-99" in redactor.values)
        assert redactor.redact("with canary-token-99") == "with [redacted]"
