"""Letters of a sentence never answer a dialog; a single one does, after a while or with Enter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from tests.tui.app_host import ASKED, answerable, ask, at_work
from tests.tui.fixture_types import Patch
from tests.tui.screens.test_dialogs import AUTH, FOLDER, READ, Stage, quit_screen
from tests.tui.screens.typed_sentences import typed_sentences
from tests.waiting import run_all_ready, until
from ua_tui.core.agent.permissions.gate import PermissionReply
from ua_tui.core.events.types import ElicitationAsked, PermissionAsked
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.screens.application.error import ErrorScreen
from ua_tui.tui.screens.requests.auth import AuthScreen
from ua_tui.tui.screens.requests.folder_trust import FolderTrustScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.requests.plan import PlanScreen
from ua_tui.tui.screens.requests.question import QuestionScreen
from ua_tui.tui.screens.requests.server_request import ServerLinkScreen
from ua_tui.tui.screens.requests.text_answer import TextAnswer
from ua_tui.tui.screens.session.confirm import DeleteScreen
from ua_tui.tui.screens.session.mode import confirm_skip
from ua_tui.tui.widgets.dialog import ActiveClock, Dialog

HOLD = 0.5
OFFERS = {"questions": [{"question": "Which?", "options": [{"label": each} for each in "ABC"]}]}
DIALOGS: dict[str, Callable[[], Dialog[Any]]] = {
    "permission": lambda: PermissionScreen(
        msgspec.structs.replace(READ, scopes=["session", "folder", "everywhere"])
    ),
    "auth": lambda: AuthScreen(AUTH),
    "folder": lambda: FolderTrustScreen(FOLDER),
    "plan": lambda: PlanScreen(
        PermissionAsked(request_id="p", tool_name="ExitPlanMode", input={"plan": "x"})
    ),
    "question": lambda: QuestionScreen(
        PermissionAsked(request_id="q", tool_name="AskUserQuestion", input=OFFERS)
    ),
    "page": lambda: ServerLinkScreen(
        ElicitationAsked(request_id="r", server="s", message="m", mode="url", url="https://a.example/b")
    ),
    "error": lambda: ErrorScreen("it died"),
    "quit": quit_screen,
    "delete": lambda: DeleteScreen("a.txt", "1K."),
    "skip": confirm_skip,
}


@pytest.fixture(autouse=True)
def letters_are_held_back(monkeypatch: Patch, letters_answer_at_once: None) -> None:
    monkeypatch.setattr("ua_tui.tui.widgets.dialog.HOLD_SECONDS", HOLD)


async def type_(app: Stage, dialog: Dialog[Any], text: str, waits: tuple[float, ...]) -> None:
    for letter, wait in zip(text, (0.0, *waits), strict=False):
        app.now += wait
        dialog._count_time()
        app.post_message(events.Key(_character_to_key(letter), letter))
        await run_all_ready()


def has_acted(app: Stage, dialog: Dialog[Any]) -> bool:
    opened = any(each.display for each in dialog.query(TextAnswer))
    return opened or bool(app.answers or app.opened or app.clipboard)


@pytest.mark.parametrize("name", DIALOGS)
async def test_no_sentence_answers_a_dialog(name: str) -> None:
    app, at = Stage(), list(DIALOGS).index(name)
    async with app.run_test(size=(120, 40)) as pilot:
        dialog = DIALOGS[name]()
        await app.ask(pilot, dialog)
        for text, waits in list(typed_sentences())[at :: len(DIALOGS)]:
            app.now += 30.0
            dialog._count_time()
            await type_(app, dialog, text[:8], waits)
            await pilot.pause()
            assert not has_acted(app, dialog), text


async def press(app: Stage, pilot: Pilot[None], *keys: str) -> Dialog[Any]:
    dialog = PermissionScreen(READ)
    app.answers.clear()
    await app.ask(pilot, dialog)
    await pilot.press(*keys)
    await pilot.pause()
    return dialog


async def test_a_single_letter_answers_after_a_while_or_with_enter() -> None:
    app, once = Stage(), PermissionReply(allow=True)
    async with app.run_test() as pilot:
        dialog = await press(app, pilot, "a")
        assert app.answers == []
        assert dialog.query_one("#once").has_class("-held"), "the answer that comes is marked"
        app.now += HOLD
        await until(lambda: app.answers == [once])
        await press(app, pilot, "a", "enter")
        await until(lambda: app.answers == [once])
        # What has no letter answers at once.
        await press(app, pilot, "tab", "tab", "tab", "enter")
        assert app.answers == [once]
        # Correcting a letter is no answer, and neither is moving on.
        for key in ("backspace", "tab", "up"):
            dialog = await press(app, pilot, "a", key)
            assert not dialog.query_one("#once").has_class("-held")
            app.now += 2 * HOLD
            dialog._count_time()
            await pilot.pause()
            assert app.answers == []
            dialog.withdraw()
            await pilot.pause()


@pytest.mark.parametrize("text", ["what is", "a plan", "aa", "do it", "d 3", " and", "Also", "ändere", "41"])
@pytest.mark.parametrize("where", ["prompt", "trace"])
async def test_a_sentence_goes_to_the_prompt_with_all_its_letters(
    tmp_path: Path, text: str, where: str
) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        app.frame.show(where)
        await ask(session, app, pilot, ASKED)
        dialog = await answerable(app)
        await until(lambda: not dialog.has_class("-quiet"))
        dialog.__dict__["_awake"] = lambda: 10.0
        for letter in text:
            app.post_message(events.Key(_character_to_key(letter), letter))
        await until(lambda: holds(app, text))
        assert "typing goes to the prompt: pause to answer" in str(dialog.query_one(".box").border_subtitle)
        app.post_message(events.Paste(" pasted"))
        await until(lambda: holds(app, f"{text} pasted"))
        assert session.answers == []
        assert app.screen is dialog
        # After a pause it answers again.
        dialog.__dict__["_awake"] = lambda: 20.0
        await until(lambda: not dialog.has_class("-quiet"))
        await pilot.press("d", "enter")
        await until(lambda: session.answers == [("r1", False, "once")])
        assert holds(app, f"{text} pasted")


def holds(app: UaTuiApp, text: str) -> bool:
    return app.frame.prompt.value == text


async def test_a_wrong_letter_shows_which_keys_answer_where_the_person_opened_the_dialog() -> None:
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = quit_screen()
        await app.ask(pilot, dialog)
        # The clock of the program counts only while somebody looks at it.
        dialog.__dict__["_awake"], dialog._quiet_until = ActiveClock(app.clock), 0.0
        await pilot.press("x", "y")
        await until(lambda: "answer with" in str(dialog.query_one(".box").border_subtitle))
        assert app.answers == [], "it followed at once"

        def listens() -> bool:
            app.now += 0.1
            return dialog._beat is None

        await until(listens)
        await pilot.press("y", "enter")
        await until(lambda: app.answers == ["stop"])


async def test_marks_answer_nothing_and_are_set_at_once() -> None:
    app, offers = Stage(), {"questions": [{**OFFERS["questions"][0], "multiSelect": True}]}
    async with app.run_test() as pilot:
        dialog = QuestionScreen(PermissionAsked(request_id="q", tool_name="AskUserQuestion", input=offers))
        await app.ask(pilot, dialog)
        await pilot.press("space", "down", "space", "3", "1")
        await pilot.pause()
        assert dialog._marked == {1, 2}
        await pilot.press("t", "h")
        await pilot.pause()
        assert not has_acted(app, dialog)
