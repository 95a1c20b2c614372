"""Arguments are changed in fields: what is not changed stays as it was, what is wrong is named, nothing is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.tui.screens.test_dialogs import Stage
from ua_tui.core.agent.permissions.gate import PermissionReply
from ua_tui.core.errors import FormError
from ua_tui.core.events.types import PermissionAsked
from ua_tui.tui.screens.requests.arguments_editor import ArgumentsEditor, fields_of, with_texts
from ua_tui.tui.screens.requests.permission import PermissionScreen

MAIL: dict[str, Any] = {
    "thought": "x",
    "tools": [
        {
            "tool_slug": "GMAIL_SEND_EMAIL",
            "arguments": {"body": "Hi\n\nAnn ä\t", "is_html": False, "to": "a@b.example"},
        }
    ],
}
ANY: dict[str, Any] = {
    "number": 3, "share": 0.1, "big": 10**30, "yes": True, "names": ["a", "b c"], "none": None, "empty": "",
    "hidden": "a\u202eb", "old": "a\r\nb", "nested": {"k": [1, "ä"]}, "mixed": ["a", ""], "no_names": [],
}  # fmt: skip


@pytest.mark.parametrize("arguments", [MAIL, ANY, {}, {"tools": []}, {str(n): n for n in range(100)}])
def test_unchanged_fields_are_the_same_arguments(arguments: dict[str, Any]) -> None:
    texts = [(field, field.text) for field in fields_of(arguments)]
    assert json.dumps(with_texts(arguments, texts)) == json.dumps(arguments)


@pytest.mark.parametrize(
    ("label", "text", "wanted"),
    [
        ("number", "4", 4),
        ("number", "4.5", 4.5),
        ("number", "four", "number: not valid JSON in line 1"),
        ("number", "true", "number: enter a number."),
        ("number", "NaN", "number: enter a number."),
        ("yes", "false", False),
        ("yes", "no", "yes: not valid JSON"),
        ("yes", "1", "yes: enter true or false."),
        ("names", "x\n\n y \n", ["x", " y "]),
        ("names", "", []),
        ("empty", "two\nlines", "two\nlines"),
        ("hidden", '"c\\u202e"', "c\u202e"),
        ("hidden", "c", "hidden: not valid JSON"),
        ("nested", '{"k": 2}', {"k": 2}),
        ("nested", "{", "nested: not valid JSON in line 1, column 2"),
    ],
)
def test_a_changed_field_is_a_value_or_says_what_is_wrong(label: str, text: str, wanted: object) -> None:
    texts = [(field, text if field.label == label else field.text) for field in fields_of(ANY)]
    if isinstance(wanted, str) and wanted.startswith(f"{label}: "):
        with pytest.raises(FormError, match=wanted.replace(".", r"\.")):
            with_texts(ANY, texts)
    else:
        assert with_texts(ANY, texts) == {**ANY, label: wanted}


def test_the_fields_of_an_e_mail_are_in_the_order_of_a_letter() -> None:
    assert [field.label for field in fields_of(MAIL)] == ["to", "body", "is_html"]
    twice = {"tools": MAIL["tools"] * 2}
    assert fields_of(twice)[3].path == ("tools", 1, "arguments", "to")
    assert fields_of(twice)[3].label == "GMAIL_SEND_EMAIL to"


async def test_fields_json_and_back_lose_nothing() -> None:
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.ask(pilot, PermissionScreen(PermissionAsked(request_id="r", tool_name="X", input=ANY)))
        await pilot.press("end")
        await pilot.pause()
        await pilot.press("c", *"4")
        editor = app.screen.query_one(ArgumentsEditor)
        assert editor.changed == {**ANY, "number": 43}
        await pilot.press("x", "ctrl+s")
        assert "number: not valid JSON" in app.shown()
        assert app.answers == []
        seen: list[str] = []

        async def edit(text: str, name: str) -> str:
            seen.append(text)
            return text.replace("43", "5") if len(seen) > 1 else text[:-1]

        await editor.edit_outside(edit)
        assert seen == [], "a wrong value is mended first"
        await pilot.press("backspace")
        await editor.edit_outside(edit)
        assert json.loads(seen[0])["number"] == 43
        assert "All arguments, as JSON: not valid JSON" in app.shown()
        assert editor.changed is None
        await editor.edit_outside(lambda text, name: edit(text + "}", name))
        assert seen[1] == seen[0]
        assert editor.changed == {**ANY, "number": 5}
        assert "Changed: number. The model sees the change." in app.shown()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.answers == [PermissionReply(allow=True, input={**ANY, "number": 5})]


async def test_what_was_written_for_a_question_that_no_longer_waits_is_copied() -> None:
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = PermissionScreen(PermissionAsked(request_id="r", tool_name="X", input=ANY))
        await app.ask(pilot, dialog)

        async def edit(text: str, name: str) -> str:
            await dialog.dismiss(None)
            return f"{text} and more"

        await dialog.query_one(ArgumentsEditor).edit_outside(edit)
        assert app.clipboard.endswith(" and more")
