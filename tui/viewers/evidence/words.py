"""The words of a report with the words of each claim among them, and the words of the rows that show it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from textual.content import Content

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import Claim
from ua_tui.tui.viewers.document import Row, Rows

_WORD = re.compile(r"\w+")
_CHECKED = 512


@dataclass(frozen=True, slots=True)
class ClaimWords:
    """The words of a report in order, in lower case, and for each claim the range of its words, which may be empty."""

    words: Sequence[str] = ()
    ranges: Sequence[tuple[int, int]] = ()


@dataclass(slots=True)
class RowWords:
    """The words of all rows: each with its row and its characters in it."""

    words: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, rows: Rows, stop: Stop = NEVER) -> RowWords:
        """Collect the words of rows.

        Raises:
            Stopped: the flag was set.
        """
        found = cls()
        for y in range(len(rows)):
            if not y % _CHECKED:
                stop.check()
            for match in _WORD.finditer(row_text(rows.row(y))):
                found.words.append(match[0].casefold())
                found.rows.append(y)
                found.starts.append(match.start())
                found.ends.append(match.end())
        return found


def row_text(row: Row) -> str:
    """The text of a row."""
    return row.plain if isinstance(row, Content) else row.text


def words_of_texts(
    texts: Iterable[tuple[str, Sequence[int]]], claims: Sequence[Claim], stop: Stop = NEVER
) -> ClaimWords:
    """The words of a report from its texts, each with the place of every character in the report's source.

    Raises:
        Stopped: the flag was set.
    """
    words: list[str] = []
    places: list[tuple[int, int]] = []
    for number, (text, offsets) in enumerate(texts):
        if not number % _CHECKED:
            stop.check()
        for match in _WORD.finditer(text):
            words.append(match[0].casefold())
            places.append((offsets[match.start()], offsets[match.end() - 1] + 1))
    return ClaimWords(words, _ranges(places, claims))


def _ranges(places: Sequence[tuple[int, int]], claims: Sequence[Claim]) -> list[tuple[int, int]]:
    """The range of words of each claim, from the place of every word in the source of the report."""
    order = sorted(range(len(places)), key=places.__getitem__)
    starts = [places[number][0] for number in order]
    ends = [places[number][1] for number in order]
    ranges: list[tuple[int, int]] = []
    for claim in claims:
        first = bisect_right(ends, claim.start)
        last = bisect_left(starts, claim.end)
        if first < last:
            numbers = order[first:last]
            # A text that is out of order, such as a footnote, may separate the words: the first ones count.
            end = next((at for at, number in enumerate(numbers) if number != numbers[0] + at), len(numbers))
            ranges.append((numbers[0], numbers[0] + end))
        else:
            at = order[first] if first < len(order) else len(order)
            ranges.append((at, at))
    return ranges


def words_of_sentences(claims: Sequence[Claim]) -> ClaimWords:
    """The words of the sentences of claims, for a report whose text is not known."""
    words: list[str] = []
    ranges: list[tuple[int, int]] = []
    last: tuple[str, int] | None = None
    found: list[re.Match[str]] = []
    first = 0
    for claim in claims:
        sentence = claim.sentence or claim.text
        begins = claim.start - claim.at
        if last is None or last[0] != sentence or abs(begins - last[1]) > len(sentence):
            first = len(words)
            found = list(_WORD.finditer(sentence))
            words += (match[0].casefold() for match in found)
        last = (sentence, begins)
        at = claim.at if claim.sentence else 0
        inside = [
            n for n, match in enumerate(found) if match.end() > at and match.start() < at + len(claim.text)
        ]
        ranges.append((first + inside[0], first + inside[-1] + 1) if inside else (first, first))
    return ClaimWords(words, ranges)
