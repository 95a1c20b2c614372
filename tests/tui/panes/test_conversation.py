from __future__ import annotations

import pytest

from tests.tui.pane_host import PaneHost, at, handle_events, hosted, rows
from tests.waiting import until
from ua_tui.core.events.types import (
    Event,
    MessageFinished,
    QueryClassified,
    QueryReceived,
    TextDelta,
)
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.screens.files.link import LinkScreen


def pane() -> ConversationPane:
    return ConversationPane()


def asked(text: str = "What is it?", query: str = "q") -> list[Event]:
    return [
        QueryReceived(query_id=query, text=text, at=at(0)),
        QueryClassified(query_id=query, decision="COMPLEX", source="rule", at=at(0)),
    ]


def delta(text: str, message: str = "m", parent: str | None = None) -> TextDelta:
    return TextDelta(query_id="q", message_id=message, text=text, parent_tool_use_id=parent, at=at(1))


def written(text: str, message: str = "m", parent: str | None = None) -> MessageFinished:
    return MessageFinished(query_id="q", message_id=message, text=text, parent_tool_use_id=parent, at=at(1))


def text_of(view: ConversationPane) -> str:
    """What is shown, without the column of the cursor."""
    return "\n".join(row[view.GUTTER :].strip() for row in rows(view)).rstrip()


async def test_streamed_text_reads_as_the_whole_does() -> None:
    source = "# Chips\n\nSome **bold** text.\n\n- one\n- two\n\n```python\nx = 1\n\ny = 2\n```\n\nThe end.\n"
    streamed, whole = pane(), pane()
    async with PaneHost(streamed).run_test(size=(60, 30)):
        handle_events(streamed, asked())
        for start in range(0, len(source), 3):
            handle_events(streamed, [delta(source[start : start + 3])])
        assert text_of(streamed).endswith("The end.▍")
        handle_events(streamed, [written(source)])
        seen = text_of(streamed)
    async with PaneHost(whole).run_test(size=(60, 30)):
        handle_events(whole, [*asked(), written(source)])
        assert text_of(whole) == seen
    assert "▍" not in seen


async def test_a_long_stream_renders_only_its_tail() -> None:
    async with hosted(pane(), 60, 30) as (view, _):
        handle_events(view, asked())
        for number in range(200):
            handle_events(view, [delta(f"Paragraph {number} with some words.\n\n")])
        rendered: list[int] = []
        original = view.render_entry

        def counting(entry: object, width: int) -> object:
            lines = original(entry, width)  # type: ignore[arg-type]  # any block
            rendered.append(len(lines))
            return lines

        view.render_entry = counting  # type: ignore[method-assign, assignment]  # counted, else the same
        handle_events(view, [delta("tail")])
        handle_events(view, [delta(" grows")])
        assert sum(rendered) <= 8
        assert text_of(view).endswith("tail grows▍")


async def test_a_long_table_is_abridged_while_it_grows_and_whole_at_the_end() -> None:
    view = pane()
    table = "| n | word |\n|--:|--|\n" + "".join(f"| {n} | some words in a row |\n" for n in range(400))
    async with PaneHost(view).run_test(size=(60, 30)):
        handle_events(view, [*asked(), delta(table)])
        growing = view.virtual_size.height
        assert "399" in text_of(view)
        handle_events(view, [written(table)])
        assert growing < 50 < view.virtual_size.height
        assert "… 200 more rows" in text_of(view)


async def test_scrolled_up_nothing_moves_while_it_streams_and_end_returns() -> None:
    async with hosted(pane(), 60, 12) as (view, pilot):
        handle_events(view, [*asked(), written("word\n\n" * 30)])
        await pilot.press("pageup", "pageup")
        before = text_of(view)
        for number in range(40):
            handle_events(view, [delta(f"new {number}\n\n", "m2")])
            assert text_of(view) == before
        assert (view.new_below, "1 new ↓" in str(view.border_subtitle)) == (1, True)
        await pilot.press("end")
        assert view.following
        assert text_of(view).endswith("▍")
        assert not view.border_subtitle
        handle_events(view, [delta("the tail", "m2")])
        assert text_of(view).endswith("the tail▍")


ITEMS = "".join(f"- item {n} of a list\n" for n in range(100))
LONG = "\n\n".join(
    [
        "## Heading one",
        " ".join(f"word{n}" for n in range(400)),
        ITEMS,
        "```python\n" + "\n".join(f"value_{n} = {n}" for n in range(60)) + "\n```",
        *(f"Paragraph {n} with some words of its own." for n in range(40)),
    ]
)


@pytest.mark.parametrize(
    ("streamed", "final"),
    [
        (LONG, LONG),
        (f"{LONG}\n", LONG),
        (f"\n\n {LONG} \n\n", LONG),
        (LONG.replace("word390", "sk-1234"), LONG.replace("word390", "[key]")),
        (LONG.replace("item 80", "sk-1234"), LONG.replace("item 80", "[key]")),
        (f"{LONG}\n\nThe stream broke", f"{LONG}\n\nThe stream broke off, and this is all of it.\n\nEnd."),
    ],
    ids=["same", "newline", "blanks", "masked", "masked in a list", "more"],
)
@pytest.mark.parametrize("pages", [1, 5, 12])
async def test_nothing_moves_under_the_reader_when_an_answer_ends(
    streamed: str, final: str, pages: int
) -> None:
    async with hosted(pane(), 60, 14) as (view, pilot):
        handle_events(view, asked())
        for start in range(0, len(streamed), 90):
            handle_events(view, [delta(streamed[start : start + 90])])
        await pilot.press(*["pageup"] * pages)
        before, cursor = text_of(view), view.cursor
        assert cursor is not None
        handle_events(view, [written(final)])
        assert text_of(view) == before
        assert view.cursor is not None
        assert view.cursor.group == cursor.group


async def test_nothing_moves_under_the_reader_of_a_growing_sub_agent() -> None:
    async with hosted(pane(), 60, 14) as (view, pilot):
        handle_events(view, [*asked(), delta(ITEMS, "a", "call")])
        await pilot.press("enter", "end", "pageup")
        before, cursor = text_of(view), view.cursor
        assert cursor is not None
        assert "item 85" in before
        for number in range(30):
            handle_events(view, [delta(f"- more {number} of it, with some words\n", "a", "call")])
            assert text_of(view) == before
        assert view.cursor is not None
        assert view.cursor.group == cursor.group


async def test_a_link_is_followed_only_through_the_dialog() -> None:
    view = pane()
    app = PaneHost(view)
    async with app.run_test(size=(60, 20)) as pilot:
        evil, good = "ssh://-oProxyCommand=x", "https://news.example/a"
        handle_events(
            view,
            [*asked(), written(f"One <{evil}> and [two]({good})."), written(f"See [here]({good}).", "m2")],
        )
        await pilot.pause()
        row = next(y for y, row in enumerate(rows(view)) if "One" in row)
        column = rows(view)[row].index("ssh:")
        await pilot.click(view, offset=(column + 3, row + 1))
        assert isinstance(app.screen, LinkScreen)
        await until(lambda: not app.screen.has_class("-quiet"))
        await pilot.press("o", "escape")
        assert app.urls == []
        await pilot.press("end", "o")
        assert isinstance(app.screen, LinkScreen)
        await until(lambda: not app.screen.has_class("-quiet"))
        await pilot.press("o")
        assert app.urls == [good]
        handle_events(view, [written("Nothing here.", "m3")])
        await pilot.press("end", "o")
        assert not isinstance(app.screen, LinkScreen)


async def test_a_key_asks_for_a_fork_before_the_query_under_the_cursor_or_that_of_the_answer() -> None:
    view = pane()
    host = PaneHost(view)
    async with host.run_test(size=(60, 30)) as pilot:
        await pilot.press("f")
        for number in ("1", "2"):
            handle_events(view, [*asked(f"Question {number}", f"q{number}"), written("An answer", number)])
        await pilot.press("f", "home", "f")
        await until(lambda: len(host.opened) == 2)
        assert host.opened == ["fork q2: Question 2", "fork q1: Question 1"]
