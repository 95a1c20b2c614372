"""Finding words in a conversation: quickly in what was written, then exactly in what is drawn of it.

Counting goes through the text as it was written, a block at a time; that sees words in the address of a link,
which nobody reads. Whoever draws a block finds its matches again in the lines, and corrects the count.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tui.panes.conversation.blocks import Block, Fold, Heading, Prose
from tui.panes.conversation.copy import text_of_block

__all__ = ["Findings", "Hit", "Span", "drawn_matches"]

PIECE = 64 << 10
"""Characters searched between two looks at the clock."""
OVERLAP = 400

_MARKS = r"[*_`~\\]*"
_BETWEEN = r"[\s>*_`~|#\\-]+"


class Span(NamedTuple):
    """A part of a drawn line, in characters, that belongs to a match."""

    line: int
    start: int
    end: int


class Hit(NamedTuple):
    """A match: the block's key, and its number in the block."""

    key: Hashable
    number: int


class Findings:
    """Where `needle` is, in whatever case and however its words are broken into lines."""

    def __init__(self, needle: str) -> None:
        self.needle = needle
        words = needle.split()
        self._plain = re.compile(r"\s+".join(re.escape(word) for word in words), re.IGNORECASE)
        marked = _BETWEEN.join(_MARKS.join(re.escape(char) for char in word) for word in words)
        self._marked = re.compile(marked, re.IGNORECASE)
        # Whole numbers only: tens of thousands of tuples would make the garbage collector look at everything.
        self._counts: dict[Hashable, int] = {}
        self._revisions: dict[Hashable, int] = {}
        self.total = 0

    def look(self, blocks: Iterable[Block]) -> Iterator[Block | None]:
        """Search the blocks that were not searched since they changed.

        Yields each block that holds the needle, and None now and then: the place to let others run.
        """
        for number, block in enumerate(blocks):
            if self._revisions.get(block.key) != block.revision:
                count = 0
                for found in self._count(block):
                    count = found
                    yield None
                self.correct(block, count)
                if count:
                    yield block
            if number % 16 == 0:
                yield None

    def _count(self, block: Block) -> Iterator[int]:
        """Yield how many matches were found so far, after each piece of the text."""
        if isinstance(block, Heading):
            return
        text = text_of_block(block)
        if isinstance(block, Fold):
            text = block.title if block.open else f"{block.title}\n{text}"
        pattern = self._marked if isinstance(block, Prose | Fold) else self._plain
        count = position = 0
        while position < len(text):
            # A match that begins in one piece may end in the next.
            end = position + PIECE
            last = position
            for found in pattern.finditer(text, position, end + OVERLAP):
                if found.start() >= end:
                    break
                count += 1
                last = found.end()
            position = max(end, last)
            yield count

    def correct(self, block: Block, count: int) -> None:
        """Take note how many matches are really to be seen in a block."""
        self._revisions[block.key] = block.revision
        before = self._counts.get(block.key, 0)
        if count != before:
            self.total += count - before
            self._counts[block.key] = count

    def forget(self, blocks: Iterable[Block]) -> None:
        """Take note that blocks are gone."""
        for block in blocks:
            self._revisions.pop(block.key, None)
            self.total -= self._counts.pop(block.key, 0)

    def count(self, block: Block) -> int:
        """Return how many matches a block has, as far as is known."""
        return self._counts.get(block.key, 0)

    def rank(self, blocks_before: Iterable[Block], hit: Hit) -> int:
        """Return the number of a match, from 1, among all, given the blocks above its own."""
        counts = self._counts
        return sum(counts.get(block.key, 0) for block in blocks_before) + hit.number + 1

    def drawn(self, block: Block, rows: Sequence[str]) -> list[list[Span]]:
        """Return the matches in the lines drawn of a block."""
        if isinstance(block, Heading):
            return []
        if isinstance(block, Fold):
            rows = [row[: row.find(block.title) + len(block.title)] for row in rows]
        return drawn_matches(self._plain, rows)


def drawn_matches(pattern: re.Pattern[str], rows: Sequence[str]) -> list[list[Span]]:
    """Find a pattern in lines as if they were one text; a match may have a part in several of them."""
    places: list[tuple[int, int, int]] = []
    parts: list[str] = []
    position = 0
    for number, row in enumerate(rows):
        text = row.strip()
        if text:
            places.append((position, number, len(row) - len(row.lstrip())))
            parts.append(text)
            position += len(text) + 1
    joined = " ".join(parts)
    matches: list[list[Span]] = []
    for found in pattern.finditer(joined):
        spans: list[Span] = []
        at = bisect_right(places, found.start(), key=lambda place: place[0]) - 1
        while at < len(places) and places[at][0] < found.end():
            begin, number, margin = places[at]
            start, end = max(found.start(), begin), min(found.end(), begin + len(parts[at]))
            if start < end:
                spans.append(Span(number, start - begin + margin, end - begin + margin))
            at += 1
        matches.append(spans)
    return matches
