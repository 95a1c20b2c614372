"""Keys that come in one read take effect one after the other, each where the one before it led."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.keys import _character_to_key
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from tests.tui.fakes import make_app, make_session
from tests.waiting import PATIENCE, until
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.widgets.placeholder import Placeholder

NAMED = {"\x15": "ctrl+u", "\t": "tab", "\x1b": "escape", "\r": "enter"}


def burst(app: App[str], keys: str) -> None:
    """Have all of the keys come at once, as from one read of the terminal."""
    for key in keys:
        app.post_message(events.Key(NAMED.get(key) or _character_to_key(key), key))


async def ready(app: UaTuiApp) -> None:
    """Wait for the panes, and put the focus into the trace."""
    await until(
        lambda: app.state == "idle" and bool(app.query(TracePane)) and bool(app.query(ConversationPane))
    )
    app.frame.show("trace")
    await until(lambda: has_focus(app, TracePane))


def has_focus(app: UaTuiApp, pane: type[TracePane | ConversationPane]) -> bool:
    return app.focused is not None and app.query_one(pane) in app.focused.ancestors_with_self


async def test_keys_go_where_the_ones_before_them_led(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test(size=(160, 50)):
        await ready(app)
        pane = app.query_one(ConversationPane)
        burst(app, "1/memory")
        await until(lambda: pane.search.query.text == "memory")
        assert has_focus(app, ConversationPane)
        # The first leaves the search, the second goes to the prompt, and there everything is text.
        burst(app, "\x1b\x1b2/kept")
        await until(lambda: app.frame.prompt.value == "2/kept")
        assert not pane.search.query.active
        burst(app, " old words\x15new words")
        app.post_message(events.Paste(" pasted"))
        burst(app, " and more")
        await until(lambda: app.frame.prompt.value.endswith("more"))
        assert app.frame.prompt.value == "new words pasted and more"
        await ready(app)
        # A screen that opens gets the keys behind the one that opened it.
        burst(app, "?\x1b1")
        await until(lambda: has_focus(app, ConversationPane))
        assert not isinstance(app.screen, HelpScreen)
        # The message that follows a key is lost: its receiver is gone.
        app.key_queue._waiting_for = app.key_queue._number = 7
        app.key_queue._target = ConversationPane()
        burst(app, "/x")
        await until(lambda: pane.search.query.text == "x")


async def test_a_click_before_the_panes_are_there_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    remove, clicked = Placeholder.remove, []

    async def remove_and_click(box: Placeholder) -> None:
        await remove(box)
        # Now there is neither the box nor the pane.
        clicked.append(box.id)
        await app.on_event(events.MouseDown(app.screen, 99, 29, 0, 0, 1, False, False, False))

    monkeypatch.setattr(Placeholder, "remove", remove_and_click)
    async with app.run_test(size=(120, 40)):
        await ready(app)
        assert "trace" in clicked


class Slow(Input):
    """Opens a screen with another line at Enter, once it may."""

    async def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            assert isinstance(self.app, Checked)
            await self.app.may_open.wait()
            self.app.push_screen(Line())


class Line(Screen[None]):
    """Has a line of text, which a key empties."""

    BINDINGS: ClassVar = [("z", "clear", "clear")]

    def action_clear(self) -> None:
        self.query_one(Input).value = ""

    def compose(self) -> ComposeResult:
        yield Input(id="line")


class Stuck(Screen[None]):
    """Never has its widgets."""

    async def on_mount(self) -> None:
        assert isinstance(self.app, Checked)
        await self.app.may_open.wait()


class Checked(BaseApp):
    """Checks only when it is told to whether a key still waits for the one before it."""

    def __init__(self) -> None:
        super().__init__(Settings())
        self.may_open = asyncio.Event()
        self.checks: list[Callable[[], Any]] = []

    BINDINGS: ClassVar = [Binding("f2", "leave", "leave", priority=True)]

    def compose(self) -> ComposeResult:
        yield Slow()

    def action_leave(self) -> None:
        self.may_open.set()

    async def run_binding(self, key: str) -> bool:
        return await self._check_bindings(key)

    def set_timer(self, delay: float, callback: Any = None, **others: Any) -> Timer:
        if getattr(callback, "func", None) == self.key_queue._check:
            self.checks.append(callback)
            delay, callback = PATIENCE, None
        return super().set_timer(delay, callback, **others)


async def test_a_key_waits_for_what_the_one_before_it_opens_however_slow_that_is() -> None:
    app = Checked()
    async with app.run_test():
        burst(app, "/x\ry")
        await until(lambda: app.checks)
        for _ in range(10):
            await app.checks.pop()()
        slow = app.query_one(Slow)
        assert slow.value == "/x"
        app.may_open.set()
        await until(lambda: isinstance(app.screen, Line) and app.screen.query_one(Input).value == "y")
        assert slow.value == "/x"


async def test_a_key_does_not_wait_forever_for_a_widget_that_hangs() -> None:
    app = Checked()
    async with app.run_test():
        burst(app, "\ry")
        await until(lambda: app.checks)
        while app.checks:
            await app.checks.pop()()
        app.may_open.set()
        await until(lambda: app.query_one(Slow).value == "y")


async def test_a_key_waits_for_the_widgets_of_a_screen_that_is_being_opened() -> None:
    app = Checked()
    async with app.run_test():
        app.push_screen(Line())
        await app.on_event(events.Key("y", "y"))
        assert not app.screen.is_mounted
        # A key that was sent to the screen below goes up to the application, which asks the screen on top.
        assert not await app.run_binding("z")
        await until(lambda: [line.value for line in app.screen.query(Input)] == ["y"])


async def test_a_key_of_the_application_works_above_a_screen_that_hangs_while_it_opens() -> None:
    app = Checked()
    async with app.run_test():
        app.push_screen(Stuck())
        await app.on_event(events.Key("f2", None))
        assert not app.may_open.is_set()
        for _ in range(40):
            if app.checks:
                await app.checks.pop()()
        came = app.may_open.is_set()
        app.may_open.set()
        assert came
