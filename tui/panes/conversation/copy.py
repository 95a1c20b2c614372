"""What is copied of a conversation: the words as they were written, never the cells they were drawn in."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import assert_never

from tui.panes.conversation.blocks import (
    Block,
    ConversationTheme,
    Fold,
    Heading,
    Notice,
    Prose,
    Verbatim,
    render_block,
)
from tui.render.markdown import markdown_units
from tui.render.source_map import Place, Unit, chosen_text, units_of_lines

__all__ = ["join_blocks", "name_of", "part_of_block", "text_of_answer", "text_of_block", "text_of_group"]

LARGEST_MAPPED = 200_000
"""Characters; larger blocks are copied whole."""

_THEME = ConversationTheme()


def text_of_block(block: Block) -> str:
    """Return what was written in a block; that of a folded text is the text."""
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
        case _:
            assert_never(block)


def text_of_group(blocks: Sequence[Block]) -> str:
    """Return what was written in the neighbours the cursor takes as one, without the name of who spoke."""
    kept: list[Block] = [block for block in blocks if not isinstance(block, Heading)]
    # What an open fold shows is what it stands for.
    folds: list[Block] = [block for block in kept if isinstance(block, Fold)]
    kept = folds or kept
    return "".join(text_of_block(block) for block in kept).strip("\n")


def text_of_answer(blocks: Iterable[Block]) -> str:
    """Return all that the agent said below a heading: its messages, without thinking, sub-agents and notices."""
    said = itertools.takewhile(lambda block: not isinstance(block, Heading), blocks)
    messages = itertools.groupby(
        (block for block in said if isinstance(block, Prose) and not block.indent),
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
        # The line stands for a text: whoever chooses the line means what it says.
        rows = [row[: row.find(block.title) + len(block.title)] for row in rows]
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
            alone = Notice(key=None, mark=block.mark, tone=block.tone, text=line)
        case _:
            return 1
    return len(render_block(alone, width, _THEME))
