"""The pieces of a document: blocks of visible text with their links, and the cells of table rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
_LONGEST_SENTENCE = 1_000
"""Characters after which what has no full stop is cut, so that the work for a figure is bounded."""
_ARTICLES = (" der", " den", " dem", " am", " vom", " zum")
_END = re.compile(r"[.!?…][\"'”’»)\]]*\s+(?=[\"'“‘„«(\[]?[^\Wa-z_])")
_LAST_WORD = re.compile(r"([\w.]+)\.\Z")


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


def sentences(text: str, abbreviations: frozenset[str]) -> Iterator[tuple[int, int]]:
    """The ranges of the sentences of a block; one that is too long is cut at a space."""
    start = 0
    for match in _END.finditer(text):
        if _goes_on(text, start, match, abbreviations):
            continue
        yield from _cut(text, start, match.end())
        start = match.end()
    if start < len(text):
        yield from _cut(text, start, len(text))


def _goes_on(text: str, start: int, match: re.Match[str], abbreviations: frozenset[str]) -> bool:
    """Whether a full stop belongs to an abbreviation, an initial or, as in "der 12. Juni", an ordinal."""
    last = _LAST_WORD.search(text, max(start, match.start() - 24), match.start() + 1)
    word = last[1].casefold() if last else ""
    if word.isdigit():
        return len(word) < 3 and text[: match.start() - len(word)].rstrip().endswith(_ARTICLES)
    return word in abbreviations or (len(word) == 1 and text[match.start() - 1].isupper())


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > _LONGEST_SENTENCE:
        space = text.rfind(" ", start + 1, start + _LONGEST_SENTENCE)
        stop = space + 1 if space > 0 else start + _LONGEST_SENTENCE
        yield start, stop
        start = stop
    yield start, end


class Places:
    """The visible text of a report: its blocks, one after the other with a space between them."""

    def __init__(self, blocks: Sequence[Block], abbreviations: frozenset[str]) -> None:
        self._blocks, self._short = blocks, abbreviations
        self.text = " ".join(block.text for block in blocks)
        self._starts = list(accumulate((len(block.text) + 1 for block in blocks), initial=0))

    def quote(self, block: int, start: int, end: int) -> TextQuote:
        """The text quote of a range of a block."""
        return TextQuote.of(self.text, self._starts[block] + start, self._starts[block] + end)

    def claim(self, kind: Kind, state: State, block: int, start: int, end: int) -> Claim:
        """A claim that is a range of a block, with the sentences that it is in."""
        own, quote = self._blocks[block], self.quote(block, start, end)
        first = max(0, start - _LONGEST_SENTENCE)
        near = own.text[first : end + _LONGEST_SENTENCE]
        ranges = [(a + first, b + first) for a, b in sentences(near, self._short)]
        said = "".join(own.text[a:b] for a, b in ranges if a < end and start < b).strip()
        return Claim(kind=kind, state=state, quote=quote, sentence=said, section=own.section)

    def place(self, block: int, start: int) -> int:
        """Where a place of a block is in the whole text."""
        return self._starts[block] + start
