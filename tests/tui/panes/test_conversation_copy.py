"""What is copied of a conversation is what was written, not the cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.pane_host import PaneHost, at, handle_events, hosted, rows
from ua_tui.core.events.types import (
    Event,
    MessageFinished,
    PermissionAsked,
    QueryReceived,
    TextDelta,
    ThinkingDelta,
)
from ua_tui.tui.panes.conversation.pane import ConversationPane

LONG = "The **first** paragraph is long enough that a narrow screen must break it into several lines."
SOURCE = f"""\
# Title

{LONG}

- one *item*
- two
  - deeper, and long enough to be broken somewhere on the way

> quoted `words`

```python
def f():
    return "a string that is longer than the screen is wide"

x = 1
```

| a | b |
|---|--:|
| 1 | 2 |

The end."""


def written(text: str, message: str = "m") -> MessageFinished:
    return MessageFinished(query_id="q", message_id=message, text=text, at=at(1))


def conversation() -> list[Event]:
    return [
        QueryReceived(query_id="q", text="What is\nthis?", at=at(0)),
        ThinkingDelta(query_id="q", message_id="m", text="Let me see.", at=at(0)),
        written(SOURCE),
        PermissionAsked(request_id="p", tool_name="Bash", reason="It runs a shell."),
    ]


class Copying(PaneHost):
    """Keeps what was said of the copying."""

    def __init__(self, pane: ConversationPane) -> None:
        super().__init__(pane)
        self.shown_text: list[str] = []

    def notify(self, message: str, **options: Any) -> None:
        self.shown_text.append(message)


async def test_y_copies_what_was_written_in_each_message() -> None:
    view = ConversationPane()
    app = Copying(view)
    async with app.run_test(size=(40, 60)) as pilot:
        handle_events(view, conversation())
        copied = []
        await pilot.press("end", "y")
        copied.append(app.clipboard)
        for _ in range(4):
            await pilot.press("up", "y")
            copied.append(app.clipboard)
        assert copied == [
            "Allow Bash to run? It runs a shell.",
            SOURCE,
            "Let me see.",
            SOURCE,
            "What is\nthis?",
        ]
        named = [line.split()[0] for line in app.shown_text]
        assert named == ["Message", "Answer", "Thinking", "Whole", "Question"]
        await pilot.press("down", "down", "enter", "y")
        assert app.clipboard == "Let me see."
        await pilot.press("k", "k", "y")
        assert app.clipboard == "What is\nthis?"
        handle_events(view, [written("More.", "m2")])
        await pilot.press("j", "y")
        assert app.clipboard == f"{SOURCE}\n\nMore."


async def test_the_message_that_y_copies_is_marked() -> None:
    async with hosted(ConversationPane(), 40, 60) as (view, pilot):
        handle_events(view, conversation())
        await pilot.press("end", "up", "up", "up", "up")
        marked = [row for row in rows(view) if row.startswith("▌")]
        assert [row[2:].split()[0] for row in marked] == ["You", "What", "this?"]


@pytest.mark.parametrize("size", [7, 400])
@pytest.mark.slow
async def test_a_streamed_message_of_many_pieces_is_copied_whole(size: int) -> None:
    code = "\n".join(f"line_{number} = {number}" for number in range(900))
    source = (
        f"Before.\n\n```python\n{code}\n```\n\n" + "word " * 3000 + "\n\n" + f"{LONG}\n\n" * 20 + "After."
    )
    streamed, whole = ConversationPane(), ConversationPane()
    app = Copying(streamed)
    async with app.run_test(size=(60, 30)) as pilot:
        for start in range(0, len(source), size * 10):
            handle_events(
                streamed, [TextDelta(query_id="q", message_id="m", text=source[start : start + size * 10])]
            )
        await pilot.press("end", "y")
        assert app.clipboard == source
        handle_events(streamed, [written(source)])
        await pilot.press("y")
        assert app.clipboard == source
    app = Copying(whole)
    async with app.run_test(size=(60, 30)) as pilot:
        handle_events(whole, [written(source)])
        await pilot.press("end", "y")
        assert app.clipboard == source


async def choose(pilot: Pilot[None], view: ConversationPane, first: str, last: str) -> str:
    shown = [view.render_line(y).text for y in range(view.size.height)]
    top = next(y for y, row in enumerate(shown) if first in row)
    bottom = max(y for y, row in enumerate(shown) if last in row)
    border = view.content_region.offset - view.region.offset
    begin = (shown[top].index(first) + border.x, top + border.y)
    end = (shown[bottom].index(last) + len(last) + border.x, bottom + border.y)
    await pilot.mouse_down(view, offset=begin)
    await pilot.hover(view, offset=end)
    await pilot.mouse_up(view, offset=end)
    return pilot.app.screen.get_selected_text() or ""


def pairs() -> Sequence[tuple[str, str, str]]:
    read = LONG.replace("**", "")
    code = 'def f():\n    return "a string that is longer than the screen is wide"\n\nx = 1'
    return [
        ("Title", "The end.", SOURCE),
        ("The first", "lines.", read),
        ("first", "lines.", read.removeprefix("The ")),
        ("Title", "two", f"Title\n\n{read}\n\n• one item\n• two"),
        ("item", "two", "item\n• two"),
        ("quoted", "words", "quoted words"),
        ("def f", "x = 1", code),
        ("return", "x = 1", code.partition("\n")[2].strip()),
        ("x = 1", "1  2", f"x = 1\n\na  b\n{'─' * 4}\n1  2"),
        ("this", "Title", "this?\n\nAgent\nThought\n\nTitle"),
        ("Allow", "shell.", "Allow Bash to run? It runs a shell."),
        ("end", "run?", "end.\n\n? Allow Bash to run?"),
    ]


@pytest.mark.parametrize(("first", "last", "expected"), pairs())
@pytest.mark.parametrize("width", [40, 100])
async def test_the_mouse_copies_what_reads_there_not_cells(
    width: int, first: str, last: str, expected: str
) -> None:
    view = ConversationPane()
    app = Copying(view)
    async with app.run_test(size=(width, 60)) as pilot:
        handle_events(view, conversation())
        await pilot.pause()
        assert await choose(pilot, view, first, last) == expected
        await pilot.press("y")
        assert app.clipboard == expected
        assert app.shown_text[-1].startswith("Selection ")


async def test_the_caret_of_a_message_that_is_written_is_not_copied() -> None:
    view = ConversationPane()
    app = Copying(view)
    async with app.run_test(size=(40, 20)) as pilot:
        handle_events(view, [TextDelta(query_id="q", message_id="m", text="Some words so far")])
        await pilot.pause()
        assert await choose(pilot, view, "words", "far▍") == "words so far"


async def test_trees_and_the_indentation_of_code_are_copied_as_they_are() -> None:
    view = ConversationPane()
    app = Copying(view)
    tree, code = "a\n├── b\n│   └── c\n└── d", "        deep = 1\n    shallow = 2\nx = 3"
    async with app.run_test(size=(40, 30)) as pilot:
        handle_events(view, [written(f"Files:\n\n```\n{tree}\n```\n\n```python\n{code}\n```")])
        await pilot.pause()
        assert await choose(pilot, view, "a", "└── d") == tree
        assert await choose(pilot, view, "        deep", "x = 3") == code
        assert await choose(pilot, view, "deep", "x = 3") == code.strip()
