"""Every answer each dialog offers: each of its keys, each of its buttons, and Enter on the one it begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from textual.binding import Binding

from tests.tui.screens.test_dialogs import AUTH, FOLDER, READ, SEND, Stage, quit_screen
from ua_tui.core.agent.permissions.gate import PermissionReply
from ua_tui.tui.screens.application.error import ErrorScreen
from ua_tui.tui.screens.files.link import LinkScreen
from ua_tui.tui.screens.requests.arguments_editor import ArgumentsEditor
from ua_tui.tui.screens.requests.auth import AuthScreen
from ua_tui.tui.screens.requests.folder_trust import FolderTrustScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.requests.text_answer import TextAnswer
from ua_tui.tui.screens.session.budget import BudgetScreen
from ua_tui.tui.screens.session.confirm import DeleteScreen, FreshScreen
from ua_tui.tui.screens.session.status import StatusScreen
from ua_tui.tui.widgets.dialog import Choice, Dialog

URL = "https://a.example/b"
NOTHING = ("nothing", None)
NO, YES = (("closes", PermissionReply(allow=allow)) for allow in (False, True))
REASON, PATTERNS = ("asks", "reasoning"), ("asks", "patterns")
Outcome = tuple[str, object]
ONCE: dict[str, Outcome] = {
    **dict.fromkeys(("d", "escape", "enter", "#deny"), NO),
    **dict.fromkeys(("a", "#once"), YES),
    **dict.fromkeys(("r", "#reason"), REASON),
    **dict.fromkeys(("c", "#change"), ("asks", "changed")),
    **dict.fromkeys(("ctrl+s", "ctrl+g"), NOTHING),
}
"""What each question of the agent offers."""


def closes(**ways: object) -> dict[str, Outcome]:
    """The answer to each key, and to each button; those of a button begin with `b_`."""
    return {way.replace("b_", "#"): ("closes", answer) for way, answer in ways.items()}


ANSWERS: dict[str, tuple[Callable[[], Dialog[Any]], dict[str, Outcome]]] = {
    "permission": (
        lambda: PermissionScreen(READ),
        {
            **ONCE,
            **dict.fromkeys(("s", "#session"), PATTERNS),
            **dict.fromkeys(("f", "e"), NOTHING),
        },
    ),
    "permission-scopes": (
        lambda: PermissionScreen(msgspec.structs.replace(READ, scopes=["session", "folder", "everywhere"])),
        {
            **ONCE,
            **dict.fromkeys(("s", "#session"), PATTERNS),
            **dict.fromkeys(("f", "#folder"), ("asks", "patterns-folder")),
            **dict.fromkeys(("e", "#everywhere"), ("asks", "patterns-everywhere")),
        },
    ),
    "permission-once": (
        lambda: PermissionScreen(msgspec.structs.replace(SEND, once_only=True)),
        {
            **ONCE,
            **dict.fromkeys(("s", "f", "e"), NOTHING),
        },
    ),
    "auth": (
        lambda: AuthScreen(AUTH),
        {
            **dict.fromkeys(("o", "#open"), ("opens", AUTH.url)),
            **dict.fromkeys(("y", "#copy"), ("copies", AUTH.url)),
            **dict.fromkeys(("d", "enter", "#done"), ("closes", "completed")),
            **dict.fromkeys(("escape", "#cancel"), ("closes", "cancelled")),
        },
    ),
    "folder": (
        lambda: FolderTrustScreen(FOLDER),
        closes(
            t="trusted", b_trusted="trusted", p="partly", b_partly="partly", i="ignored", b_ignored="ignored",
            v="view", b_view="view", escape="not_now", enter="not_now", b_not_now="not_now",
        ),
    ),
    "error": (
        lambda: ErrorScreen("it died"),
        closes(
            r="restart", enter="restart", b_restart="restart", escape="close", b_close="close", q="quit", b_quit="quit"
        ),
    ),
    "quit": (
        quit_screen,
        closes(
            n="stay", escape="stay", enter="stay", b_stay="stay", w="wait", b_wait="wait", y="stop", b_stop="stop"
        ),
    ),
    "delete": (
        lambda: DeleteScreen("a.txt", "1K."),
        closes(n=False, escape=False, q=False, enter=False, b_keep=False, d=True, b_delete=True),
    ),
    "link": (
        lambda: LinkScreen(URL),
        closes(
            o="open", b_open="open", y="copy", enter="copy", b_copy="copy", escape=None, q=None, b_close=None
        ),
    ),
    "link-of-no-web": (
        lambda: LinkScreen("vscode://file/a"),
        {
            "o": NOTHING,
            "#open": NOTHING,
            **closes(y="copy", enter="copy", b_copy="copy", escape=None, q=None, b_close=None),
        },
    ),
    "fresh": (
        lambda: FreshScreen("it does not know it any more"),
        closes(f=True, enter=True, b_fresh=True, escape=False, q=False, b_quit=False),
    ),
    "budget": (
        lambda: BudgetScreen(0.5, 1.0),
        {
            **dict.fromkeys(("r", "#raise"), ("asks", "amount")),
            **closes(escape=None, q=None, enter=None, b_leave=None),
        },
    ),
    "status": (
        lambda: StatusScreen([("Model", "It is sonnet.")]),
        closes(escape=None, q=None, enter=None, b_close=None),
    ),
}  # fmt: skip


def offered(dialog: Dialog[Any]) -> Iterator[str]:
    """Every key the dialog binds itself, every button in sight, and Enter."""
    for binding in type(dialog).BINDINGS:
        assert isinstance(binding, Binding)
        yield from binding.key.split(",")
    for choice in dialog.query(Choice):
        if all(
            each.display
            for each in choice.ancestors_with_self
            if isinstance(each, Choice | TextAnswer | ArgumentsEditor)
        ):
            yield f"#{choice.id}"
    yield "enter"


def outcome(app: Stage) -> Outcome:
    if app.answers:
        return "closes", app.answers[0]
    if app.opened:
        return "opens", app.opened[0]
    if app.clipboard:
        return "copies", app.clipboard
    for line in (*app.screen.query(TextAnswer), *app.screen.query(ArgumentsEditor)):
        if line.display:
            return "asks", line.id
    return NOTHING


SLOW = {"permission-scopes", "permission-once"}
"""Dialogs with many answers, most of which the dialog "permission" has, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in ANSWERS]
)
async def test_every_answer_a_dialog_offers_is_taken(name: str) -> None:
    make, wanted = ANSWERS[name]
    app = Stage()
    found = {}
    async with app.run_test(size=(120, 40)) as pilot:
        for way in wanted:
            app.answers, app.opened, app._clipboard = [], [], ""
            dialog = make()
            await app.ask(pilot, dialog)
            assert set(offered(dialog)) == set(wanted)
            await (pilot.click(way) if way.startswith("#") else pilot.press(way))
            await pilot.pause()
            found[way] = outcome(app)
            if app.screen is dialog:
                dialog.withdraw()
                await pilot.pause()
    assert found == wanted
