"""What is copied from a conversation: the text as it was written, never the cells it was drawn in."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import assert_never

from textual.selection import Selection

from ua_tui.tui.panes.conversation.blocks import (
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
from ua_tui.tui.render.markdown.renderer import markdown_units
from ua_tui.tui.render.markdown.source_map import Place, Unit, chosen_text, units_of_lines
from ua_tui.tui.virtual_list.virtual_list import VirtualList

LARGEST_MAPPED = 200_000
"""Characters; a larger block is copied completely."""

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


def part_of_block(
    block: Block, rows: Sequence[str], width: int, start: Place | None, end: Place | None
) -> str:
    """Return what to copy of a block when everything from `start` to before `end` is chosen.

    Places count from the block's first line, its blank lines included; `rows` are its lines as drawn.
    """
    if isinstance(block, Fold):
        # Who selects the line of a fold means its title, not the text it hides.
        rows = [block.cut_row(row) for row in rows]
        units, source = [Unit(block.gap, block.gap + 1, (0, 1), block.title)], block.title
    else:
        source = block.source if isinstance(block, Prose) else text_of_block(block)
        if len(source) > LARGEST_MAPPED:
            return text_of_block(block)
        units = _units(block, source, width)
    return chosen_text(source, units, rows, start, end)


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


def _units(block: Block, source: str, width: int) -> list[Unit]:
    if isinstance(block, Prose):
        indent = block.indent if width > block.indent + 4 else 0
        units = markdown_units(source, width - indent, definitions=block.definitions)
    else:
        lines = source.split("\n")
        units = units_of_lines(lines, [_height(block, line, width) for line in lines])
    return [unit.moved(block.gap) for unit in units]


def _height(block: Block, line: str, width: int) -> int:
    """Count the lines that one line of a text takes in a block of its kind."""
    match block:
        case Verbatim():
            alone: Block = Verbatim(key=None, text=line, quiet=block.quiet)
        case Notice():
            alone = Notice(key=None, severity=block.severity, text=line)
        case _:
            return 1
    return len(render_block(alone, width, _THEME))


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
        begin = (line, first.x) if index == start and first is not None else None
        end = (end_line, last.x) if index == stop and last is not None else None
        text = text_of_block(block)
        if begin is not None or end is not None or isinstance(block, Fold):
            rows = [strip.text for strip in view.rendered(index).strips]
            text = part_of_block(block, rows, view.entry_width, begin, end)
        if text:
            found.append((block, text))
    return join_blocks(found)
