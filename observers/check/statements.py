"""The sentences, headings and table rows of a report that have figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ua_tui.observers.check.blocks import Document
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.find import Style
from ua_tui.observers.check.figures.vocabulary import roots
from ua_tui.observers.check.passages import Passage
from ua_tui.observers.check.reading import sentences
from ua_tui.observers.check.sources import Corpus

_TITLE, _ABOVE = 0.15, 0.3
"""What words of the title, and of the heading above a sentence and the sentence before it, count of what its own do."""
_NUMBERING = re.compile(r"\d{1,2}(?:\.\d{1,2})*[.)]?\s")


@dataclass
class Statement:
    """A sentence, heading or table row of the report with figures.

    `weights` are the roots of its words with what each says, `outside` those of the headings above it and of the
    sentence before it, `cites` the first address that it links to.
    """

    passage: Passage
    weights: dict[str, float]
    outside: dict[str, float]
    cites: str

    @property
    def figures(self) -> list[Figure]:
        """The figures of the sentence."""
        return self.passage.figures

    @cached_property
    def total(self) -> float:
        """The weight of all words."""
        return sum(self.weights.values()) or 1.0


def statements(document: Document, style: Style, corpus: Corpus) -> Iterator[Statement]:
    """Give the sentences with figures, but those that speak of the report itself."""
    common, before = style.words.common, list[str]()
    title = roots(document.title, common)
    for number, block in enumerate(document.blocks):
        section = roots(block.section, common)
        # The number of a heading is no figure.
        numbering = _NUMBERING.match(block.text) if block.kind == "heading" else None
        whole = [(numbering.end() if numbering else 0, len(block.text))]
        is_whole = block.cells or block.kind == "heading"
        for part in whole if is_whole else sentences(block.text, style.words.abbreviations):
            row = block.cells, block.table, block.caption
            passage = Passage(0, number, block.text, block.section, style, *row, *part)
            headers = " ".join([block.caption, *(cell.header for cell in block.cells)])
            said = roots(f"{passage.sentence} {headers}", common)
            if passage.figures and not style.words.itself.search(passage.sentence):
                weights = {word: corpus.idf(word) for word in said if not word.isdigit()}
                outside = {
                    word: factor * corpus.idf(word)
                    for factor, words in ((_TITLE, title), (_ABOVE, section), (_ABOVE, before))
                    for word in words
                    if word not in weights and not word.isdigit()
                }
                cites = next((url for a, b, url in block.links if a < part[1] and part[0] <= b), "")
                yield Statement(passage, weights, outside, cites)
            before = said
