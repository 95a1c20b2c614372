"""Every answer of the setup: the buttons and keys of each of its pages, and where each of them leads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.fixture_types import Patch
from tests.tui.screens.test_dialogs import Stage
from tests.tui.screens.test_setup_snapshots import BAD, GOOD, SERVER, Desk
from tests.waiting import until
from ua_tui.core.errors import SettingsError
from ua_tui.core.provider.credentials import Login
from ua_tui.core.provider.probe import ModelVerdict
from ua_tui.core.provider.setup import SetupPlan, StoredSetup
from ua_tui.tui.screens.setup import pages as setup_pages
from ua_tui.tui.screens.setup.pages import METHODS, MethodRow
from ua_tui.tui.screens.setup.screen import SetupScreen
from ua_tui.tui.widgets.dialog import Choice

AWAY = ModelVerdict(kind="unreachable", server=SERVER, model="", status=0, detail="", seconds=0.1)
COMMAND = ["/opt/claude", "auth", "login"]


@dataclass
class Machine:
    """What the setup finds, and what it did: each trial, each store, each login."""

    verdict: ModelVerdict = GOOD
    usable: bool = False
    fails: bool = False
    did: list[str] = field(default_factory=list)

    def look(self, _settings: object) -> Login:
        self.did.append("looked")
        return Login(self.usable, "There is a login." if self.usable else "There is none.")

    async def log_in(self, _app: App[Any], _settings: object) -> int:
        self.did.append("logged in")
        return 0


class Told(Desk):
    """Tells the machine what it was asked for."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.verdict)
        self._machine = machine

    async def check(self, plan: SetupPlan) -> ModelVerdict:
        self._machine.did.append("tried")
        return await super().check(plan)

    def store(self, plan: SetupPlan) -> StoredSetup:
        if self._machine.fails:
            self._machine.did.append("not stored")
            raise SettingsError("The disk is full.")
        self._machine.did.append("stored")
        return super().store(plan)


SERVER_GIVEN = ("4", "localhost:1", "enter")
# The page: what is found, and the keys and the text that lead to it.
PAGES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "methods": ({}, ()),
    "form": ({}, ("4",)),
    "login": ({}, ("2",)),
    "login-found": ({"usable": True}, ("2",)),
    "refused": ({"verdict": BAD}, SERVER_GIVEN),
    "away": ({"verdict": AWAY}, SERVER_GIVEN),
    "failed": ({"fails": True}, SERVER_GIVEN),
    "stored": ({}, SERVER_GIVEN),
}
# What each key and button of a page leads to: the page that is shown then, or the answer; and what was done.
WANTED: dict[str, dict[str, tuple[str, ...]]] = {
    "methods": {
        "#anthropic": ("anthropic",),
        "#login": ("login", "looked"),
        "#zai": ("zai",),
        "#server": ("server",),
        "#demo": ("demo",),
        "#choose": ("anthropic",),
        "#back": ("None",),
        "escape": ("None",),
        "#quit": ("quit",),
        "q": ("quit",),
    },
    "form": {"#check": ("outcome", "tried", "stored"), "#back": ("methods",), "escape": ("methods",)},
    "login": {
        **dict.fromkeys(("#log_in", "i", "enter"), ("login", "logged in", "looked")),
        **dict.fromkeys(("#refresh", "k"), ("login", "looked")),
        **dict.fromkeys(("#back", "escape"), ("methods",)),
    },
    "login-found": {
        **dict.fromkeys(("#use", "enter"), ("outcome", "stored")),
        **dict.fromkeys(("#log_in", "i"), ("login", "logged in", "looked")),
        "#refresh": ("login", "looked"),
        "#back": ("methods",),
    },
    "refused": {
        **dict.fromkeys(("#change", "enter", "#back", "escape"), ("server",)),
        **dict.fromkeys(("#again", "r"), ("outcome", "tried")),
        **dict.fromkeys(("s", "t"), ("outcome",)),
    },
    "away": {
        "#change": ("server",),
        "#again": ("outcome", "tried"),
        **dict.fromkeys(("#anyway", "s"), ("outcome", "stored")),
        "#back": ("server",),
        "t": ("outcome",),
    },
    "failed": {
        **dict.fromkeys(("#once", "t", "enter"), ("SetupResult",)),
        **dict.fromkeys(("#again", "r"), ("outcome", "not stored")),
        **dict.fromkeys(("#back", "escape"), ("server",)),
        "s": ("outcome",),
    },
    "stored": {
        **dict.fromkeys(("#start", "enter"), ("SetupResult",)),
        **dict.fromkeys(("#back", "escape"), ("server",)),
        **dict.fromkeys(("r", "s", "t"), ("outcome",)),
    },
}  # fmt: skip


@pytest.fixture
def machine(monkeypatch: Patch) -> Machine:
    found = Machine()
    monkeypatch.setattr(setup_pages, "find_login", found.look)
    monkeypatch.setattr(setup_pages, "command_to_log_in", lambda _settings: COMMAND)
    return found


def buttons(screen: SetupScreen) -> Iterator[str]:
    for each in screen.query("MethodRow, Choice"):
        if isinstance(each, Choice | MethodRow) and each.region:
            yield f"#{each.id}"


async def lead(pilot: Pilot[None], app: Stage, machine: Machine, keys: tuple[str, ...]) -> SetupScreen:
    screen = SetupScreen(Told(machine), login=machine.log_in)
    await app.ask(pilot, screen)
    for key in keys:
        if len(key) > 1 and isinstance(app.focused, Input) and key != "enter":
            app.focused.insert_text_at_cursor(key)
        else:
            await pilot.press(key)
    await until(lambda: not any(each.group == "setup" for each in app.workers))
    await pilot.pause()
    return screen


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.slow
async def test_every_answer_of_a_page_is_taken(page: str, machine: Machine) -> None:
    found, keys = PAGES[page]
    for name, value in found.items():
        setattr(machine, name, value)
    app = Stage()
    happened = {}
    async with app.run_test(size=(90, 24)) as pilot:
        for method in WANTED[page]:
            screen = await lead(pilot, app, machine, keys)
            assert set(buttons(screen)) == {each for each in WANTED[page] if each.startswith("#")}
            app.answers.clear()
            machine.did.clear()
            if method.startswith("#"):
                (button,) = [each for each in screen.query(method) if each.region]
                await pilot.click(button)
            else:
                await pilot.press(method)
            await pilot.pause()
            await until(lambda: not any(each.group == "setup" for each in app.workers))
            await pilot.pause()
            if app.answers:
                (answer,) = app.answers
                shown = (
                    answer if isinstance(answer, str) else type(answer).__name__.replace("NoneType", "None")
                )
            else:
                shown = screen._page
                screen.withdraw()
                await pilot.pause()
            happened[method] = (shown, *machine.did)
    assert happened == WANTED[page]


async def test_choose_uses_the_way_that_the_cursor_was_at(machine: Machine) -> None:
    app = Stage()
    async with app.run_test(size=(90, 24)) as pilot:
        for downs, page in ((0, "anthropic"), (3, "server")):
            screen = await lead(pilot, app, machine, ("down",) * downs)
            assert app.focused is not None
            assert app.focused.id == page
            screen.query_one("#choose").focus()
            await pilot.pause()
            assert [row.id for row in screen.query(MethodRow) if row.has_class("-chosen")] == [page]
            await pilot.click("#choose")
            await pilot.pause()
            assert screen._page == page
            screen.withdraw()
            await pilot.pause()


def test_every_way_is_tried() -> None:
    assert {f"#{name}" for name, _, _ in METHODS} <= set(WANTED["methods"])
