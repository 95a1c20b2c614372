"""The pieces of a document: blocks of visible text with their links, and the cells of table rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal

from ua_tui.core.claims.records import Claim, Kind, State, TextQuote

BlockKind = Literal["heading", "paragraph", "item", "row", "quote", "caption", "code", "picture"]

LONGEST = 2_000_000
"""Characters of visible text that are looked at: the work behind it is a few seconds."""
INVISIBLE = dict.fromkeys(
    [0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x180E]
)
"""Characters that a reader does not see, as a table for `str.translate`."""
ADDRESS = re.compile(r"https?://(?:[^\s<>\"`\\|{}()]|\([^\s<>()]*\))+(?<![.,;:!?*_~'’”»\]…])")
"""A web address that is written in a text, also in JSON, without what follows it in a sentence."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row: `text[start:end]` of the row's text, and the headings of its column."""

    start: int
    end: int
    header: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, list item, table row or another piece of visible text with single spaces.

    `section` is the heading above it. `links` are ranges of the text with their addresses. `quoted` are ranges in
    elements for quotations. `cells` are those of a table row, `table` the number of its table, `caption` its caption.
    """

    kind: BlockKind
    text: str
    section: str = ""
    links: Sequence[tuple[int, int, str]] = ()
    quoted: Sequence[tuple[int, int]] = ()
    cells: Sequence[Cell] = ()
    table: int = 0
    caption: str = ""


@dataclass
class Document:
    """What was read: its blocks in order, its title, and sentences about what was not looked at.

    `has_cut_addresses` says that an address may go on in the next line, as in PDF files.
    """

    blocks: list[Block] = field(default_factory=list)
    title: str = ""
    notices: list[str] = field(default_factory=list)
    has_cut_addresses: bool = False


def with_addresses(block: Block) -> Block:
    """The block with links for the addresses that are written in its text."""
    if "://" not in block.text:
        return block
    known = [(start, end) for start, end, _ in block.links]
    links = [
        (*match.span(), match[0])
        for match in ADDRESS.finditer(block.text)
        if not any(start < match.end() and match.start() < end for start, end in known)
    ]
    return replace(block, links=sorted([*block.links, *links])) if links else block


class Places:
    """The visible text of a report: its blocks, one after the other with a space between them."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self.text = " ".join(block.text for block in blocks)
        self._starts = list(accumulate((len(block.text) + 1 for block in blocks), initial=0))

    def quote(self, block: int, start: int, end: int) -> TextQuote:
        """The text quote of a range of a block."""
        return TextQuote.of(self.text, self._starts[block] + start, self._starts[block] + end)

    def claim(self, kind: Kind, state: State, block: int, start: int, end: int) -> Claim:
        """A claim that is a range of a block, with the text around it."""
        own, quote = self._blocks[block], self.quote(block, start, end)
        sentence = own.text[max(0, start - 200) : end + 200]
        return Claim(kind=kind, state=state, quote=quote, sentence=sentence, section=own.section)

    def place(self, block: int, start: int) -> int:
        """Where a place of a block is in the whole text."""
        return self._starts[block] + start
