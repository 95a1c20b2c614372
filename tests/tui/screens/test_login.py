from __future__ import annotations

import pytest
from textual import events

from tests.tui.fixture_types import Patch
from tests.tui.screens.test_dialogs import Stage
from tests.waiting import until
from ua_tui.core.connections.oauth.flow import Show
from ua_tui.core.connections.oauth.redirect import Redirect
from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.oauth.target import LoginTarget
from ua_tui.core.connections.user_servers import RemoteServer, UserServer
from ua_tui.core.errors import ConnectionFailed
from ua_tui.tui.screens.services.login import LoginScreen
from ua_tui.tui.widgets.dialog import Box

SERVER = UserServer("notes", RemoteServer(url="https://notes.example/mcp"), "config.toml", in_folder=False)
PAGE = "https://login.example/authorize?state=s3cr3t"
END = "http://localhost:1234/callback?code=c0de&state=s3cr3t"


class Logins:
    """Stands in for servers: the first cannot be reached, and the login to the next ends with its redirect."""

    def __init__(self) -> None:
        self.targets: list[LoginTarget] = []

    async def __call__(self, target: LoginTarget, _store: LoginStore, show: Show) -> None:
        self.targets.append(target)
        if len(self.targets) == 1:
            raise ConnectionFailed("notes cannot be reached (no route): check its address and the network")
        redirect = Redirect("http://localhost:1234/callback")
        redirect.expect("s3cr3t")
        await show(PAGE, redirect)
        await redirect.answer


@pytest.fixture
def logins(monkeypatch: Patch) -> Logins:
    found = Logins()
    monkeypatch.setattr("ua_tui.tui.screens.services.login.log_in", found)
    return found


async def test_a_login_opens_the_browser_and_ends_with_its_redirect_also_one_that_is_pasted(
    logins: Logins,
) -> None:
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        app.push_screen(LoginScreen(SERVER), app.answers.append)
        await until(lambda: "notes cannot be reached (no route)" in app.shown())
        assert app.screen.query_one(Box).has_class("-fails")
        # There is no link yet.
        await pilot.press("o", "y", "a")
        await until(lambda: PAGE in app.shown())
        assert not app.screen.query_one(Box).has_class("-fails")
        assert [target.address for target in logins.targets] == ["https://notes.example/mcp"] * 2
        assert "Opens   login.example" in app.shown()
        await pilot.press("a", "o")
        assert app.opened == [PAGE, PAGE]
        app.post_message(events.Paste(f"{END}x"))
        await until(lambda: "not the address" in str(app.screen.query_one(Box).border_subtitle))
        assert app.answers == []
        app.post_message(events.Paste(f"{END}\n"))
        await until(lambda: app.answers == [True])


async def test_a_login_can_be_cancelled_while_it_waits(logins: Logins) -> None:
    app = Stage()
    async with app.run_test() as pilot:
        app.push_screen(LoginScreen(SERVER), app.answers.append)
        await until(lambda: "cannot be reached" in app.shown())
        await pilot.press("enter")
        await until(lambda: PAGE in app.shown())
        await pilot.press("escape")
        await until(lambda: app.answers == [False])
