"""Sources cut into passages, with an index by words; figures are read when a passage is checked."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property

from ua_tui.core.claims.records import Source
from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.observers.check.blocks import sentences
from ua_tui.observers.check.figures.numbers import Style, style_of
from ua_tui.observers.check.figures.vocabulary import roots
from ua_tui.observers.check.passages import Passage
from ua_tui.observers.check.reading import read_document

_LONGEST_PASSAGE = 700
"""Characters after which a paragraph is cut at the end of a sentence: a paragraph of four or five sentences."""


class PassageIndex:
    """All passages of the sources, found by their words and by their figures.

    Attributes:
        passages: every passage, in the order of the sources.
        links: for each source the addresses that its text names.
        near: for each passage the roots of its heading and of its source's title.
        by_word: for each root the numbers of the passages that have it.
        idf: how much a shared word says: rare words say more.
        context: the roots around a passage: its headings, the source's title, the passages before and after it.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.passages: list[Passage] = []
        self.links: list[set[str]] = []
        self.context = cache(self._context)
        self.idf = cache(self._idf)
        for number, source in enumerate(sources):
            check_stopped()
            self._add(number, source)
        self.by_word: dict[str, list[int]] = defaultdict(list)
        self.near: list[frozenset[str]] = []
        title = cache(lambda number, common: frozenset(roots(sources[number].title, common)))
        for passage in self.passages:
            if passage.number % 200 == 0:
                check_stopped()
            for word in passage.words:
                self.by_word[word].append(passage.number)
            common = passage.style.words.common
            self.near.append(title(passage.source, common) | frozenset(roots(passage.heading, common)))
        self.count = len(self.passages)

    def _idf(self, word: str) -> float:
        return math.log(1 + self.count / (1 + len(self.by_word.get(word, ()))))

    def _context(self, number: int) -> frozenset[str]:
        passage = self.passages[number]
        around = self.near[number]
        for other in (number - 1, number + 1):
            if 0 <= other < self.count and self.passages[other].source == passage.source:
                around |= self.passages[other].words
        return around

    def nearest(self, weights: Mapping[str, float]) -> dict[int, float]:
        """The passages that share words, with the weight of those."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in weights.items():
            for number in self.by_word.get(word, ()):
                scores[number] += weight
        return dict(scores)

    @cached_property
    def values(self) -> Mapping[str, Sequence[tuple[float, int, int]]]:
        """For each key of figures the values that have it, with their passages and places there."""
        found: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
        for passage in self.passages:
            for at, figure in enumerate(passage.figures):
                for key, value in figure.entries():
                    found[key].append((value, passage.number, at))
        return {key: sorted(values) for key, values in found.items()}

    def having(self, key: str, low: float = 0.0, high: float = 0.0) -> Iterator[tuple[int, int]]:
        """The passages, and the places of the figures in them, that have a value of a class from `low` to `high`."""
        values = self.values.get(key, ())
        found = values[bisect_left(values, (low,)) : bisect_right(values, (high, self.count))]
        return ((passage, place) for _, passage, place in found)

    def _add(self, number: int, source: Source) -> None:
        document = read_document(source.text, source.media_type)
        style = style_of(" ".join(block.text for block in document.blocks[:200]))
        self.links.append({*source.links, *(url for block in document.blocks for _, _, url in block.links)})
        for block in document.blocks:
            for start, end in _pieces(block.text, style):
                text, place = block.text[start:end], len(self.passages)
                cells = block.cells if end - start == len(block.text) else ()
                if text.strip():
                    self.passages.append(Passage(
                        number, place, text, block.section, style, cells, block.table, block.caption
                    ))  # fmt: skip


def _pieces(text: str, style: Style) -> Iterator[tuple[int, int]]:
    """A paragraph, or the groups of sentences of a long one."""
    if len(text) <= _LONGEST_PASSAGE:
        yield 0, len(text)
        return
    start = last = 0
    for first, end in sentences(text, style.words.abbreviations):
        if end - start > _LONGEST_PASSAGE:
            yield start, first
            start = first
        last = end
    if start < last:
        yield start, last
