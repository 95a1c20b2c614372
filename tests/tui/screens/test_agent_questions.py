"""The agent's questions to the person, and calls whose arguments the person changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.tui.app_host import answerable, at_work, shown
from tests.tui.fakes import FakeSession
from tests.tui.files_host import screen_text
from tests.waiting import until
from ua_tui.core.events.types import PermissionAnswered, PermissionAsked
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.conversation.notices import message_of
from ua_tui.tui.plain.questions import DENIED, Answer, questions_of_agent
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.requests.question import QuestionScreen
from ua_tui.tui.widgets.dialog import Dialog

COLOUR, SOURCES = "Which colour?", "Which sources?"
_QUESTIONS = [
    {"question": COLOUR, "header": "Colour", "multiSelect": False,
     "options": [{"label": "Blue", "description": "Calm."}, {"label": "Red"}]},
    {"question": SOURCES, "multiSelect": True,
     "options": [{"label": "News"}, {"label": "Papers"}, {"label": "Filings"}]},
]  # fmt: skip
ASKED = PermissionAsked(request_id="q1", tool_name="AskUserQuestion", input={"questions": _QUESTIONS})
CALL = PermissionAsked(request_id="c1", tool_name="Bash", input={"command": "ls", "description": "List"})


async def asked(
    event: PermissionAsked, session: FakeSession, app: UaTuiApp, pilot: Pilot[str], kind: type[Dialog[Any]]
) -> None:
    session.bus.publish(event)
    await shown(app, pilot)
    await answerable(app, kind)


def given(session: FakeSession) -> dict[str, object]:
    (arguments,) = session.inputs
    assert arguments is not None
    return arguments


async def test_questions_are_answered_by_number_by_marks_and_by_a_text(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await asked(ASKED, session, app, pilot, QuestionScreen)
        await pilot.press("2", "3", "down", "1", "enter")
        await until(lambda: session.inputs)
        assert given(session) == {**ASKED.input, "answers": {COLOUR: "Red", SOURCES: "News, Filings"}}
        assert session.answers == [("q1", True, "once")]
        session.inputs.clear()
        await asked(ASKED, session, app, pilot, QuestionScreen)
        await pilot.press("t", *"2 shades", "enter", "down", "space", "enter")
        await until(lambda: session.inputs)
        assert given(session)["answers"] == {COLOUR: "2 shades", SOURCES: "Papers"}
        # Esc leaves the text, then declines the question.
        session.answers.clear()
        await asked(ASKED, session, app, pilot, QuestionScreen)
        await pilot.press("t", "x", "escape")
        assert session.answers == []
        await pilot.press("escape")
        await until(lambda: session.answers == [("q1", False, "once")])
        assert session.inputs[-1] is None


async def test_a_question_says_what_it_is_about_and_can_be_answered_again(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await asked(ASKED, session, app, pilot, QuestionScreen)
        assert "Colour · question 1 of 2" in screen_text(app)
        assert not app.screen.query_one("#previous").display
        await pilot.press("1")
        await until(lambda: "question 2 of 2" in screen_text(app))
        await pilot.press("left")
        await until(lambda: "question 1 of 2" in screen_text(app))
        await pilot.press("2", "3", "enter")
        await until(lambda: session.inputs)
        assert given(session)["answers"] == {COLOUR: "Red", SOURCES: "Filings"}


async def test_a_question_without_answers_or_of_another_form_is_no_dead_end(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        open_question = PermissionAsked(
            request_id="q1",
            tool_name="AskUserQuestion",
            input={"questions": [{"question": "What is\x1b it called?", "options": "none"}, 3]},
        )
        await asked(open_question, session, app, pilot, QuestionScreen)
        await pilot.press(*"tea", "enter")
        await until(lambda: session.inputs)
        assert given(session)["answers"] == {"What is\x1b it called?": "tea"}
        broken = PermissionAsked(request_id="q2", tool_name="AskUserQuestion", input={"questions": {}})
        await asked(broken, session, app, pilot, QuestionScreen)
        await pilot.press("escape")
        await until(lambda: session.answers[-1] == ("q2", False, "once"))


async def test_arguments_are_changed_checked_and_sent_with_the_answer(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await asked(CALL, session, app, pilot, PermissionScreen)
        await pilot.press("c")
        field = app.screen.query_one(TextArea)
        assert field.has_focus
        field.load_text("ls -l\npwd")
        await pilot.press("escape")
        assert isinstance(app.screen, PermissionScreen)
        await pilot.press("c", "ctrl+s")
        await until(lambda: session.inputs)
        assert given(session) == {"command": "ls -l\npwd", "description": "List"}
        assert session.answers == [("c1", True, "once")]


def test_changes_and_answers_are_shown_in_the_conversation() -> None:
    change = "command: ls → ls -l"
    changed = PermissionAnswered(
        request_id="c1", tool_name="Bash", decision="allow", input={"command": "ls -l"}, changes=[change]
    )
    message = message_of(changed)
    assert message is not None
    assert "changed arguments" in message.text
    assert message.details == (change,)
    answered = PermissionAnswered(
        request_id="q1", tool_name="AskUserQuestion", decision="allow", input={"answers": {COLOUR: "Blue"}}
    )
    message = message_of(answered)
    assert message is not None
    assert message.details == (f"{COLOUR} Blue",)


def test_plain_mode_takes_a_number_several_numbers_or_a_text() -> None:
    one, several = questions_of_agent(ASKED).values()
    assert one.answer("3") == Answer(allow=True, text="Red")
    assert one.answer("") == DENIED
    assert one.answer("9") is None
    assert one.answer("a dark one") == Answer(allow=True, text="a dark one")
    assert several.answer("2, 4") == Answer(allow=True, text="News, Filings")
    # Numbers that are no answer are a typo; other numbers are a text.
    assert one.answer("2 3") is several.answer("2 9") is None
    assert one.answer("3.5") == Answer(allow=True, text="3.5")
    assert "or with text" in one.hint
    # A line of a pipe is an answer if it has numbers only.
    assert several.chosen("2 4") == Answer(allow=True, text="News, Filings")
    assert one.chosen("2 3") is several.chosen("now") is several.chosen(" ") is None
