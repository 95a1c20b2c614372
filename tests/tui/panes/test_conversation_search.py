"""Searching a conversation by its keys, and what shows of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tui.fakes import make_app, make_session
from tests.tui.pane_host import PaneHost, at, handle_events, hosted, rows
from tests.waiting import until
from ua_tui.core.events.types import (
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    TextDelta,
    ThinkingDelta,
)
from ua_tui.tui.app.controllers.escape import MOVED_SECONDS
from ua_tui.tui.panes.conversation.blocks import Prose
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.conversation.search import Findings


def written(text: str, message: str, parent: str | None = None) -> MessageFinished:
    return MessageFinished(query_id="q", message_id=message, text=text, parent_tool_use_id=parent, at=at(1))


def conversation(filler: int = 12) -> list[Event]:
    lines: list[Event] = [
        QueryReceived(query_id="q", text="Where is the needle?", at=at(0)),
        ThinkingDelta(query_id="q", message_id="a", text="A needle in my thoughts."),
        written("Here: a **need**le, [a Needle](https://needle.example/needle).", "a"),
    ]
    lines += [written(f"Filler number {number}.", f"f{number}") for number in range(filler)]
    return [*lines, written("```\nneedle = 1\n```", "z"), written("The end.", "end")]


def title(view: ConversationPane) -> str:
    shown = view._border_title
    assert shown is not None
    return shown.plain


def current_row(view: ConversationPane) -> str:
    style = view.palette["lines--found-current"]
    for y, row in enumerate(rows(view)):
        if any(own is not None and own.bgcolor == style.bgcolor for _, own, _ in view.render_line(y)):
            return row[view.GUTTER :].strip()
    return ""


async def test_escape_while_typing_goes_back_to_where_one_was() -> None:
    async with hosted(ConversationPane(), 60, 12) as (view, pilot):
        handle_events(view, conversation())
        before = rows(view)
        await pilot.press("slash", *"thoughts")
        await until(lambda: current_row(view).startswith("▸ Thought"))
        assert not view.following
        await pilot.press("escape")
        assert view.following
        assert rows(view) == before
        await pilot.press("up", "up", "up", "up")
        before = rows(view)
        await pilot.press("slash", "enter")
        assert rows(view) == before
        assert not view.search.query.active


async def test_a_folded_text_is_one_match_which_enter_opens() -> None:
    async with hosted(ConversationPane(), 60, 30) as (view, pilot):
        handle_events(view, conversation(0))
        await pilot.press("slash", *"my thoughts", "enter")
        await until(lambda: "1/1" in title(view) and "…" not in title(view))
        assert current_row(view).startswith("▸ Thought")
        await pilot.press("enter")
        await until(lambda: not view.search.busy)
        await pilot.press("n")
        assert current_row(view) == "A needle in my thoughts."


async def test_what_comes_while_searching_is_found_and_moves_nothing() -> None:
    async with hosted(ConversationPane(), 60, 14) as (view, pilot):
        handle_events(view, conversation())
        await pilot.press("slash", *"thoughts", "enter")
        await until(lambda: "1/1" in title(view) and "…" not in title(view))
        before = rows(view)
        for number in range(30):
            handle_events(
                view, [TextDelta(query_id="q", message_id="new", text=f"More thoughts {number}. \n\n")]
            )
        await until(lambda: "1/31" in title(view))
        assert rows(view) == before
        await pilot.press("n")
        assert current_row(view) == "More thoughts 0."
        handle_events(view, [QueryFinished(query_id="q", status="success")])
        await pilot.press("escape", "end")
        assert view.following


@pytest.mark.slow
async def test_ten_thousand_messages_are_searched_in_turns() -> None:
    view = ConversationPane()
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with PaneHost(view).run_test(size=(80, 24)) as pilot:
        text = "Some **words** that are `said` again and again, in *every* message. " * 10
        handle_events(
            view, [written(f"{text}\n\nNumber {number} ends.", f"m{number}") for number in range(10_000)]
        )
        await pilot.press("slash", *"number 42 en")
        task = asyncio.create_task(others())
        await pilot.press("d")
        await until(lambda: "…" not in title(view))
        task.cancel()
        assert turns > 10
        assert current_row(view) == "Number 42 ends."
        assert "1/1" in title(view)


@pytest.mark.parametrize(
    ("needle", "source", "count"),
    [
        ("bold words", "some **bold** _words_ and **bold\nwords**", 2),
        ("a*b", "`a*b`", 1),
        ("x.y", "xay x.y", 1),
        ("ÄRGER", "Ärger, ärger", 2),
        ("one two", "- one\n  two\n\n> one\n> two", 2),
        ("  spaced   out ", "spaced out", 1),
    ],
)
def test_words_are_found_through_their_markup(needle: str, source: str, count: int) -> None:
    block = Prose(key=1, source=source)
    findings = Findings(needle)
    list(findings.search([block]))
    assert findings.count(block) == count


async def test_in_the_application_the_search_takes_keys_that_mean_something_else_there(
    tmp_path: Path,
) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: session.state == "idle")
        session.submit("Where is 3z?")
        await pilot.press("f2", "slash", *"3z?")
        view = app.query_one("#conversation", ConversationPane)
        await until(lambda: "/3z?▏ 1/1" in title(view))
        await pilot.press("escape")
        assert not view.search.query.active
        assert session.interrupts == 0
        assert view.has_focus
        await pilot.press("escape")
        assert app.frame.prompt.has_focus
        assert session.interrupts == 0
        app.escape._pressed -= MOVED_SECONDS
        await pilot.press("escape")
        await until(lambda: session.interrupts == 1)
