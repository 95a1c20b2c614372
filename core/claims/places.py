"""Finds the claims of a report in the lines that show it, by their words and the words around them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from operator import eq
from typing import NamedTuple

from ua_tui.core.claims.records import TextQuote
from ua_tui.core.concurrency.cancellation import checked

_WORD = re.compile(r"\w+")
_MOST_CANDIDATES, _MOST_COMPARED = 1_000, 50_000
"""Occurrences of a first word that are compared for one claim, those nearest to the claim before, and their words."""


class Place(NamedTuple):
    """The characters of a line that show a claim, or a part of it."""

    row: int
    start: int
    end: int


def find_quotes(lines: Iterable[str], quotes: Sequence[TextQuote]) -> list[tuple[Place, ...]]:
    """Find quotes, given in the order of the report; each has one place a line, and none if the lines do not have it.

    Where the words of a quote are in the lines several times, those count that have the same words around them, then
    those behind the quote before.

    Raises:
        Stopped: the result is no longer needed.
    """
    shown = list(checked(lines))
    words = [
        Place(row, *each.span()) for row, line in enumerate(checked(shown)) for each in _WORD.finditer(line)
    ]
    texts = [shown[row][start:end].casefold() for row, start, end in words]
    positions: dict[str, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        positions[text].append(number)
    found: list[tuple[Place, ...]] = []
    last = 0
    for quote in checked(quotes):
        exact = _texts(quote.exact)
        start = _find(texts, positions, exact, quote, last) if exact else None
        if start is None:
            found.append(())
        else:
            last = start
            found.append(tuple(_places(shown, words[start : start + len(exact)], quote.exact)))
    return found


def _texts(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _find(
    texts: Sequence[str], positions: dict[str, list[int]], exact: list[str], quote: TextQuote, last: int
) -> int | None:
    """The number of the first word of a quote."""
    before, after = _texts(quote.prefix)[::-1], _texts(quote.suffix)
    candidates = positions.get(exact[0], [])
    most = min(_MOST_CANDIDATES, max(2, _MOST_COMPARED // len(exact)))
    if len(candidates) > most:
        middle = bisect_left(candidates, last)
        candidates = candidates[max(0, middle - most // 2) : middle + most // 2]

    def fit(start: int) -> tuple[int, bool, int]:
        end = start + len(exact)
        same = _count_common(texts[max(0, start - len(before)) : start][::-1], before)
        same += _count_common(texts[end : end + len(after)], after)
        return same, start >= last, -start

    return max((n for n in candidates if texts[n : n + len(exact)] == exact), key=fit, default=None)


def _count_common(shown: Iterable[str], quoted: Iterable[str]) -> int:
    """How many words or characters are the same at the beginning of both."""
    return sum(takewhile(bool, map(eq, shown, quoted)))


def _places(lines: Sequence[str], words: Sequence[Place], exact: str) -> Iterator[Place]:
    """The places of the words of a quote, with the signs at its ends, such as a currency or a percent sign."""
    inside = list(_WORD.finditer(exact))
    before, after = exact[: inside[0].start()], exact[inside[-1].end() :]
    for y, group in groupby(words, lambda word: word.row):
        own = list(group)
        start, end, text = own[0].start, own[-1].end, lines[y]
        if own[0] is words[0] and before and text.endswith(before, 0, start):
            start -= len(before)
        if own[-1] is words[-1] and after and text.startswith(after, end):
            end += len(after)
        yield Place(y, start, end)
