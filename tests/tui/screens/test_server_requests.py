"""What MCP servers ask a person for: the dialogs for a form and for a page, and the same line by line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.tui.app_host import answerable, at_work, notices, shown
from tests.tui.fakes import FakeSession
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.agent.mcp.elicitation import read_form
from ua_tui.core.errors import FormError
from ua_tui.core.events.types import ElicitationAnswered, ElicitationAsked
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.conversation.notices import message_of
from ua_tui.tui.plain.questions import field_lines, server_question, typed_value
from ua_tui.tui.render.events import EventLines
from ua_tui.tui.screens.requests.form_fields import FieldRow
from ua_tui.tui.screens.requests.server_request import ServerFormScreen, ServerLinkScreen
from ua_tui.tui.widgets.dialog import Box, Choice

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City\u202e", "minLength": 2, "description": "Where to stay"},
        "nights": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "breakfast": {"type": "boolean"},
        "room": {"type": "string", "enum": ["s", "d"], "enumNames": ["single", "double"]},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["sauna", "bicycle"]}},
        "password": {"type": "string"},
    },
    "required": ["city"],
}
FORM = ElicitationAsked(
    request_id="f1", server="desk", message="Which [b]room[/b]?\x1b[2J", fields=read_form(SCHEMA)
)
PAGE = ElicitationAsked(
    request_id="p1", server="desk", message="Pay, please.", mode="url", url="https://pay.example.com/a?b=c"
)


async def asked(event: ElicitationAsked, session: FakeSession, app: UaTuiApp, pilot: Pilot[str]) -> None:
    session.bus.publish(event)
    await shown(app, pilot)
    await answerable(app)


def problems(app: UaTuiApp) -> dict[str, str]:
    rows = ((row.field.name, row.query_one(".wrong", Static)) for row in app.screen.query(FieldRow))
    return {name: str(wrong.render()) for name, wrong in rows if wrong.display}


async def test_a_form_is_filled_in_with_the_keyboard_and_wrong_values_are_kept_and_explained(
    tmp_path: Path,
) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await asked(FORM, session, app, pilot)
        text = " ".join(str(each.render()) for each in app.screen.query(Static))
        assert "The MCP server desk asks you:" in text
        assert "Which [b]room[/b]?‹U+001B›[2J" in text
        assert "City\ufffd*" in text
        assert "must not do in a form" in text
        await pilot.press("O", "enter", "end", "7", "ctrl+s")
        assert problems(app) == {
            "city": "✗ Enter at least 2 characters; this is 1.",
            "nights": "✗ Enter a number: 1 to 9.",
        }
        assert session.given == []
        # The first wrong one has the focus, and what is fixed is no longer marked.
        await pilot.press("s", "l", "o")
        assert list(problems(app)) == ["nights"]
        await pilot.press("down", "backspace", "2", "backspace")
        assert [line.value for line in app.screen.query(Input)] == ["Oslo", "3", ""]
        # Yes, then double, both extras, and one of them taken back.
        await pilot.press("down", "space", "down", "down", "down", "space", "down")
        await pilot.press("space", "down", "space", "space", "down", *"hush")
        assert app.screen.query(Input).last().password
        await pilot.press("enter")
        await until(lambda: session.given)
        chosen = {"breakfast": True, "room": "d", "extras": ["sauna"]}
        given = {"city": "Oslo", "nights": "3", **chosen, "password": "hush"}
        assert session.given == [("f1", "accept", given)]


async def test_a_form_is_declined_cancelled_or_withdrawn(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        for key, action in (("ctrl+n", "decline"), ("escape", "cancel")):
            await asked(FORM, session, app, pilot)
            await pilot.press("x", key)
            await until(lambda action=action: session.given[-1:] == [("f1", action, {})])  # type: ignore[misc]
        # Two servers that ask wait for one another.
        await asked(FORM, session, app, pilot)
        session.bus.publish(PAGE)
        await shown(app, pilot)
        assert isinstance(app.screen, ServerFormScreen)
        assert "1 more waiting" in str(app.screen.query_one(Box).border_subtitle)
        await pilot.press(*"Oslo", "down", "5")
        app.screen.query(Input).last().focus()
        await pilot.press(*"hush")
        assert app.screen.query(Input).last().value == "hush"
        withdrawn = ElicitationAnswered(request_id="f1", server="desk", action="cancel", by="withdrawn")
        session.bus.publish(withdrawn)
        await until(lambda: isinstance(app.screen, ServerLinkScreen))
        await until(lambda: "desk is no longer waiting for your answer." in notices(app))
        # What was typed is in the prompt, but nothing that was hidden.
        assert app.frame.prompt.value == "Oslo\n35"


async def test_a_page_is_opened_only_by_the_person_and_marked_if_it_may_be_another_one(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        pages: list[str] = []
        monkeypatch.setattr(app, "open_url", pages.append)
        await asked(PAGE, session, app, pilot)
        assert app.screen.query_one("#decline", Choice).has_focus
        await pilot.press("c")
        assert (pages, session.given) == ([], [])
        await pilot.press("o", "c")
        await until(lambda: session.given)
        assert pages == [PAGE.url]
        assert session.given.pop() == ("p1", "accept", {})
        for url, warning in (
            ("http://pay.example.com/", "The connection is not encrypted."),
            ("https://раypal.example/", "letters that look like other letters"),
            ("javascript:alert(1)", "nothing: not a web link, copy only"),
        ):
            await shown(app, pilot)
            await asked(msgspec.structs.replace(PAGE, url=url), session, app, pilot)
            assert warning in " ".join(str(each.render()) for each in app.screen.query(Static))
            await pilot.press("d")
            await until(lambda: session.given)
            assert session.given.pop() == ("p1", "decline", {})


def test_a_server_that_was_declined_is_reported_where_nobody_is() -> None:
    answered = ElicitationAnswered(
        request_id="f1", server="desk", action="decline", by="headless", message="Which room?\x1b[2J"
    )
    lines = EventLines(marks=True)
    assert lines.of(FORM) is None
    assert lines.of(answered) == (
        "  ⊘ The request from desk (“Which room?\ufffd[2J”) was declined: no one is available to answer."
    )


def test_what_was_asked_and_answered_is_in_the_conversation() -> None:
    asked = message_of(FORM)
    assert asked is not None
    assert asked.text == "desk asks: Which [b]room[/b]?\ufffd[2J"
    values = {"city": "Oslo", "yes": True}
    answered = ElicitationAnswered(
        request_id="f1", server="desk", action="accept", message="Which room?", values=values
    )
    message = message_of(answered)
    assert message is not None
    assert message.text == "You answered desk (“Which room?”)."
    assert message.details == ("city: Oslo", "yes: yes")
    assert message.topic == asked.topic
    page = message_of(PAGE)
    assert page is not None
    assert page.text == "desk asks you to open pay.example.com: Pay, please."


def test_plain_mode_asks_for_one_field_after_the_other() -> None:
    question = server_question(FORM)
    assert "It asks for: City\ufffd, nights, breakfast, room, extras, password." in question.all_lines
    assert any(line.startswith("Warning: this server asks for a password") for line in question.all_lines)
    assert "It leads to pay.example.com." in server_question(PAGE).all_lines
    city, nights, breakfast, room, extras, _ = FORM.fields
    assert field_lines(city) == ["City\ufffd (required)", "Where to stay", "at least 2 characters"]
    assert field_lines(room)[1:] == ["1. single", "2. double"]
    forged = {"type": "string", "oneOf": [{"const": "s", "title": "single\n2. free of charge"}]}
    (room_of_somebody,) = read_form({"type": "object", "properties": {"room": forged}})
    assert field_lines(room_of_somebody)[1:] == ["1. single 2. free of charge"]
    assert "nights (press Enter for 3)" in field_lines(nights)
    assert typed_value(nights, "") == 3
    assert typed_value(breakfast, "2") is False
    assert typed_value(room, "") is None
    assert typed_value(room, "2") == "d"
    assert typed_value(extras, "2, 1") == ["bicycle", "sauna"]
    for field, typed, problem in (
        (city, "", "An answer is required."),
        (room, "3", "Enter a number from 1 to 2."),
        (room, "1 2", "Enter one number."),
        (breakfast, "yes", "Enter a number from 1 to 2."),
    ):
        with pytest.raises(FormError, match=problem):
            typed_value(field, typed)
