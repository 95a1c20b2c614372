"""The sentences, headings and table rows of a report that have figures."""

from __future__ import annotations

import re
from bisect import bisect_left
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
    """A sentence, heading or table row of the report with figures: `text[start:end]` of its block, a `passage`.

    `weights` are the roots of its words with what each says, `outside` those of the headings above it and of the
    sentence before it, `cites` the first address that it links to.
    """

    passage: Passage
    start: int
    end: int
    figures: list[Figure]
    weights: dict[str, float]
    outside: dict[str, float]
    cites: str

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
        passage = Passage(
            0, number, block.text, block.section, style, block.cells, block.table, block.caption
        )
        # The number of a heading is no figure.
        numbering = _NUMBERING.match(block.text) if block.kind == "heading" else None
        first = numbering.end() if numbering else 0
        places = [each.start for each in passage.figures]
        is_whole = block.cells or block.kind == "heading"
        for start, end in (
            [(0, len(block.text))] if is_whole else sentences(block.text, style.words.abbreviations)
        ):
            low, high = (bisect_left(places, place) for place in (max(start, first), end))
            figures = passage.figures[low:high]
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
                cites = next((url for a, b, url in block.links if a < end and start <= b), "")
                yield Statement(passage, start, end, figures, weights, outside, cites)
            before = said
