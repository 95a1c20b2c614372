"""The sentences, headings and table rows of a report that have figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ua_tui.observers.check.blocks import Block, Document
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.find import Style
from ua_tui.observers.check.nearness import Profile, profile
from ua_tui.observers.check.reading import sentences
from ua_tui.observers.check.sources import Corpus, figures_in, roots

_TITLE, _ABOVE = 0.15, 0.3
"""What words of the title, and of the heading above a sentence and the sentence before it, count of what its own do."""
_NUMBERING = re.compile(r"\d{1,2}(?:\.\d{1,2})*[.)]?\s")


@dataclass
class Statement:
    """A sentence, heading or table row of the report with figures.

    `number` is that of its block. `weights` are the roots of its words with what each says, `outside` those of the
    headings above it and of the sentence before it. `profiles` are the words around each figure.
    """

    block: Block
    number: int
    start: int
    end: int
    figures: list[Figure]
    weights: dict[str, float]
    outside: dict[str, float]
    profiles: list[Profile]

    @cached_property
    def text(self) -> str:
        """The sentence itself."""
        return self.block.text[self.start : self.end]

    @cached_property
    def total(self) -> float:
        """The weight of all words."""
        return sum(self.weights.values()) or 1.0

    @property
    def cites(self) -> str:
        """The first address that the sentence links to."""
        return next((url for a, b, url in self.block.links if a < self.end and self.start <= b), "")


def statements(document: Document, style: Style, corpus: Corpus) -> Iterator[Statement]:
    """Give the sentences with figures, but those that speak of the report itself."""
    common, before = style.words.common, list[str]()
    title = roots(document.title, common)
    for number, block in enumerate(document.blocks):
        section = roots(block.section, common)
        is_whole = block.cells or block.kind == "heading"
        for start, end in (
            [(0, len(block.text))] if is_whole else sentences(block.text, style.words.abbreviations)
        ):
            figures = list(_figures(block, start, end, style))
            headers = " ".join([block.caption, *(cell.header for cell in block.cells)])
            said = roots(f"{block.text[start:end]} {headers}", common)
            if figures and not style.words.itself.search(block.text, start, end):
                weights = {word: corpus.idf(word) for word in said if not word.isdigit()}
                outside = {
                    word: factor * corpus.idf(word)
                    for factor, words in ((_TITLE, title), (_ABOVE, section), (_ABOVE, before))
                    for word in words
                    if word not in weights and not word.isdigit()
                }
                profiles = [profile(block.text, figure, style.words, block.cells) for figure in figures]
                yield Statement(block, number, start, end, figures, weights, outside, profiles)
            before = said


def _figures(block: Block, start: int, end: int, style: Style) -> Iterator[Figure]:
    """The figures of a part of a block; the number of a heading is none."""
    skipped = _NUMBERING.match(block.text) if block.kind == "heading" else None
    for figure in figures_in(block.text[start:end], style, block.cells, block.caption, block.section):
        if skipped is None or figure.start >= skipped.end():
            yield replace(figure, start=figure.start + start, end=figure.end + start)
