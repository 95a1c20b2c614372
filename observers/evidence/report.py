"""A report as the check reads it: blocks of text with their links, and the sentences in them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["heading", "paragraph", "item", "cell", "quote", "caption", "code"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link or a footnote mark in the text of a block; `url` is the address it leads to in the end."""

    start: int
    end: int
    url: str


@dataclass(frozen=True, slots=True)
class Cell:
    """The place of a table cell, counted from 0, with the texts that say what its value is."""

    table: int
    row: int
    column: int
    row_header: str = ""
    column_header: str = ""
    caption: str = ""
    is_header: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, heading, list item, quotation or table cell.

    `text` is what a reader sees, with single spaces. `offsets` has for each character of `text` its place in the
    report's source. `is_hidden` is text that a reader does not see. `is_bibliography` is an entry of the list of
    sources. `links` are in order. `cites` are the addresses that hold for the whole block, such as those of a
    quotation's caption.
    """

    kind: BlockKind
    text: str
    offsets: array[int]
    section: str = ""
    level: int = 0
    links: Sequence[Link] = ()
    cites: Sequence[str] = ()
    cell: Cell | None = None
    is_hidden: bool = False
    is_bibliography: bool = False

    def source_range(self, start: int, end: int) -> tuple[int, int]:
        """The range of the report's source that a range of the text comes from."""
        if not 0 <= start < end <= len(self.offsets):
            return (0, 0)
        return self.offsets[start], self.offsets[end - 1] + 1

    def links_in(self, start: int, end: int) -> Iterator[Link]:
        """The links that share characters with a range of the text."""
        for at in range(bisect_right(self.links, start, key=lambda link: link.end), len(self.links)):
            link = self.links[at]
            if link.start >= end:
                return
            yield link


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a block, or a whole cell, heading or caption.

    `cites` are the addresses given for it: links and footnotes in it, else those at the end of its paragraph or
    row; empty if nothing is cited. `number` is its place in the report.
    """

    number: int
    block: Block
    start: int
    end: int
    cites: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The sentence itself."""
        return self.block.text[self.start : self.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A document that was read; `source` is its decoded text with all markup, `is_cut` if only its beginning was."""

    source: str
    title: str = ""
    blocks: Sequence[Block] = ()
    sentences: Sequence[Sentence] = ()
    is_cut: bool = False
    notices: Sequence[str] = field(default_factory=tuple)

    def sentences_by_block(self) -> Mapping[int, Sequence[Sentence]]:
        """The sentences of each block by its `id()`, in order; blocks without sentences are left out."""
        found: dict[int, list[Sentence]] = {}
        for sentence in self.sentences:
            found.setdefault(id(sentence.block), []).append(sentence)
        return found
