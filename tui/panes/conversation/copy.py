"""What is copied from a conversation: the text as it was written, never the cells it was drawn in."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from textwrap import dedent
from typing import assert_never

from textual.selection import Selection

from ua_tui.tui.panes.conversation.blocks import (
    CARET,
    Block,
    Card,
    ConversationTheme,
    Fold,
    Heading,
    Notice,
    Prose,
    Verbatim,
    render_block,
)
from ua_tui.tui.render.layout import plain
from ua_tui.tui.virtual_list.virtual_list import VirtualList

LARGEST_UNWRAPPED = 20_000
"""Characters; a part of a larger block is copied as it is drawn."""
_WIDE = 4_000
_MOVED = re.compile(rf"[\s│─{CARET}]+")
"""What depends on the width and is no text: blanks, the lines beside quotations and in tables, and the caret."""
_BAR = re.compile(r"^ *(?:│ ?)+", re.MULTILINE)

Place = tuple[int, int]
"""A drawn line, and a character in it."""

_THEME = ConversationTheme()


def text_of_block(block: Block) -> str:
    """Return what was written in a block; for a fold that is its text."""
    match block:
        case Heading():
            return block.speaker
        case Verbatim():
            return block.text
        case Prose():
            return block.source[block.opener :]
        case Fold():
            return block.text
        case Notice():
            return "\n".join((block.text, *block.details))
        case Card():
            return f"{block.result.title}\n{block.result.path}"
        case _:
            assert_never(block)


def text_of_group(blocks: Sequence[Block]) -> str:
    """Return what was written in the blocks that the cursor treats as one, without the speaker's name."""
    texts: list[Block] = [block for block in blocks if not isinstance(block, Heading)]
    # The blocks below an open fold repeat its text.
    folds: list[Block] = [block for block in texts if isinstance(block, Fold)]
    return "".join(text_of_block(block) for block in folds or texts).strip("\n")


def text_of_answer(blocks: Iterable[Block]) -> str:
    """Return the agent's answer below a heading: its messages, without thinking, sub-agents and notices."""
    answer = itertools.takewhile(lambda block: not isinstance(block, Heading), blocks)
    messages = itertools.groupby(
        (block for block in answer if isinstance(block, Prose) and not block.indent),
        key=lambda block: block.group,
    )
    return "\n\n".join(text_of_group(list(blocks)) for _, blocks in messages)


def name_of(blocks: Sequence[Block]) -> str:
    """Name such a group for a person."""
    match next((block for block in blocks if not isinstance(block, Heading)), None):
        case Verbatim():
            return "Question"
        case Prose():
            return "Answer"
        case Card():
            return "Result"
        case Fold(markdown=False):
            return "Thinking"
        case Fold():
            return "Sub-agent's text"
        case _:
            return "Message"


def part_of_block(block: Block, rows: Sequence[str], start: Place, end: Place) -> str:
    """Return what to copy of a block when everything from `start` to before `end` is chosen of its `rows` as drawn.

    All of it is copied as it was written, a part as it reads: in one piece even if it was wrapped.
    """
    drawn = "\n".join(rows)
    first, last = (
        len("\n".join((*rows[:line], *(row[:column] for row in rows[line : line + 1]))))
        for line, column in (start, end)
    )
    begun, chosen, whole = (_MOVED.sub("", text) for text in (drawn[:first], drawn[first:last], drawn))
    if not chosen:
        return ""
    if isinstance(block, Fold):
        # Who selects the line of a fold means its title, not the text it hides.
        return block.title
    if chosen == whole:
        return text_of_block(block)
    if len(whole) <= LARGEST_UNWRAPPED:
        lines = "\n".join(plain(line).rstrip() for line in render_block(block, _WIDE, _THEME))
        # Lines beside a quotation are left out, but not those of a tree of files.
        unwrapped = lines if "│" in text_of_block(block) else _BAR.sub("", lines)
        places = [at for at, character in enumerate(unwrapped) if not _MOVED.match(character)]
        # Columns of a table may be wrapped, and their texts in another order.
        if whole == "".join(unwrapped[at] for at in places):
            begin = places[len(begun)]
            margin = unwrapped.rfind("\n", 0, begin) + 1
            if drawn[first].isspace() and not unwrapped[margin:begin].strip():
                begin = margin
            return _cut(unwrapped, begin, places[len(begun + chosen) - 1] + 1)
    return _cut(drawn, first, last)


def _cut(text: str, first: int, last: int) -> str:
    """The characters from `first` to `last`, without the margin of their lines."""
    column = first - text.rfind("\n", 0, first) - 1
    chosen = dedent(" " * column + text[first:last]).rstrip()
    # What is left of it before a whole line is the indentation of code.
    return chosen.lstrip("\n" if not column else None)


def join_blocks(parts: Sequence[tuple[Block, str]]) -> str:
    """Put the texts of neighbouring blocks together, with the blank lines there are between them."""
    joined = ""
    before: Block | None = None
    for block, text in parts:
        if before is not None:
            joined += _between(before, block)
        joined += text.strip("\n")
        before = block
    return joined


def _between(before: Block, block: Block) -> str:
    if isinstance(before, Prose) and isinstance(block, Prose) and not block.gap:
        return "\n" if before.source.endswith("\n") or block.opener else ""
    return "\n\n" if block.gap else "\n"


def selected_text(view: VirtualList[Block], selection: Selection) -> str:
    """Return what was written in the selected lines, in one piece however the screen broke it."""
    total = view.heights.total
    first, last = selection.start, selection.end
    start, line = view.heights.at(max(0, first.y) if first is not None else 0)
    stop, end_line = view.heights.at(min(last.y, total) if last is not None else total)
    found: list[tuple[Block, str]] = []
    for index in range(start, min(stop, len(view.entries) - 1) + 1):
        block = view.entries[index]
        if isinstance(block, Fold) and block.open:
            continue
        begin = (line, first.x) if index == start and first is not None else (0, 0)
        end = (end_line, last.x) if index == stop and last is not None else None
        text = text_of_block(block)
        if any(begin) or end is not None or isinstance(block, Fold):
            rows = [strip.text.rstrip() for strip in view.rendered(index).strips]
            text = part_of_block(block, rows, begin, end or (len(rows), 0))
        if text:
            found.append((block, text))
    return join_blocks(found)
