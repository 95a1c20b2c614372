"""Links leave for a browser of the desktop: in a thread, and never into the terminal."""

from __future__ import annotations

import json
import threading
import webbrowser
from collections.abc import Mapping
from pathlib import Path

import pytest
from textual.app import App
from textual.notifications import Notify

from tests.waiting import until
from ua_tui.tui.terminal.links import browse, why_no_browser

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))

URL = "https://news.example/a"


@pytest.mark.parametrize(("environment", "why"), TABLES["browsers"])
def test_where_a_browser_can_come_up(environment: Mapping[str, str], why: str | None) -> None:
    assert why_no_browser(environment) == why


class Told(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.reported: list[str] = []

    def on_notify(self, event: Notify) -> None:
        self.reported.append(event.notification.message)


async def test_the_browser_is_asked_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []
    works = [True, False]

    def ask(url: str) -> bool:
        asked.append((url, threading.current_thread() is threading.main_thread()))
        return works.pop(0)

    monkeypatch.setattr(webbrowser, "open", ask)
    monkeypatch.setenv("BROWSER", "firefox")
    app = Told()
    async with app.run_test():
        browse(app, URL)
        await until(lambda: asked == [(URL, False)])
        assert app.reported == []
        browse(app, URL)
        await until(lambda: app.reported == ["No browser could be started: copy the link instead."])


async def test_without_a_desktop_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: pytest.fail(f"{url} was opened"))
    monkeypatch.setenv("BROWSER", "lynx")
    app = Told()
    async with app.run_test():
        browse(app, URL)
        await until(lambda: app.reported)
        assert app.reported[0].startswith("$BROWSER names lynx")
