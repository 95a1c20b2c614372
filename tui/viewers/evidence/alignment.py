"""Aligns the words of two texts that are nearly the same, such as a report and the rows in which it is shown."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial

from ua_tui.core.concurrency.cancellation import NEVER, Stop

_ANCHORS = (4, 2, 1)
"""Lengths of the runs of words that are looked for in both texts, one after the other."""
_FARTHEST = 64
"""How many words may be between two words that follow each other in the first text."""
_CROSSING = 200
"""How many words a figure may be away from where it is expected."""
_TRIED = 4

Gap = tuple[int, int, int, int]


def align(ours: Sequence[str], theirs: Sequence[str], stop: Stop = NEVER) -> list[int]:
    """Return for each of our words its place in their text, or -1.

    Runs of words that both texts have once are anchors; between them words are taken in order. Words with a digit
    that are left are taken in any order, as the lines of table cells interleave. The time grows linearly with the
    texts, apart from sorting.

    Raises:
        Stopped: the flag was set.
    """
    found = [-1] * len(ours)
    gaps: list[Gap] = [(0, len(ours), 0, len(theirs))]
    for length in _ANCHORS:
        later: list[Gap] = []
        for gap in gaps:
            stop.check()
            later += _split(ours, theirs, found, gap, length)
        gaps = later
    for gap in gaps:
        stop.check()
        _fill(ours, theirs, found, gap)
    _take_crossing(ours, theirs, found, stop)
    return found


def _split(ours: Sequence[str], theirs: Sequence[str], found: list[int], gap: Gap, length: int) -> list[Gap]:
    """Align the words at both ends of a gap and at its anchors; return the gaps that are left."""
    a, a_end, b, b_end = gap
    while a < a_end and b < b_end and ours[a] == theirs[b]:
        found[a] = b
        a, b = a + 1, b + 1
    while a < a_end and b < b_end and ours[a_end - 1] == theirs[b_end - 1]:
        a_end, b_end = a_end - 1, b_end - 1
        found[a_end] = b_end
    gaps: list[Gap] = []
    for at, place in _anchors(ours, theirs, (a, a_end, b, b_end), length):
        if at < a or place < b:
            continue
        if at > a and place > b:
            gaps.append((a, at, b, place))
        a, b = at, place
        while a < a_end and b < b_end and ours[a] == theirs[b]:
            found[a] = b
            a, b = a + 1, b + 1
    if a < a_end and b < b_end:
        gaps.append((a, a_end, b, b_end))
    return gaps


def _anchors(ours: Sequence[str], theirs: Sequence[str], gap: Gap, length: int) -> list[tuple[int, int]]:
    """The longest series of runs that each text has once in the gap, in the order of both."""
    a, a_end, b, b_end = gap
    mine = _once(ours, a, a_end, length)
    other = _once(theirs, b, b_end, length)
    pairs = [(at, other[run]) for run, at in mine.items() if at >= 0 and other.get(run, -1) >= 0]
    return _longest_rising(pairs)


def _once(words: Sequence[str], start: int, end: int, length: int) -> dict[tuple[str, ...], int]:
    """Where each run of words is; -1 for one that is repeated."""
    places: dict[tuple[str, ...], int] = {}
    for at in range(start, end - length + 1):
        run = tuple(words[at : at + length])
        places[run] = -1 if run in places else at
    return places


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest series of pairs whose second numbers rise; the first ones do already."""
    ends: list[int] = []
    numbers: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        before.append(numbers[at - 1] if at else -1)
        if at == len(ends):
            ends.append(place)
            numbers.append(number)
        else:
            ends[at] = place
            numbers[at] = number
    series: list[tuple[int, int]] = []
    at = numbers[-1] if numbers else -1
    while at >= 0:
        series.append(pairs[at])
        at = before[at]
    return series[::-1]


def _fill(ours: Sequence[str], theirs: Sequence[str], found: list[int], gap: Gap) -> None:
    """Take the words of a gap in order, then figures in any order."""
    a, a_end, b, b_end = gap
    places: dict[str, list[int]] = {}
    for at in range(b, b_end):
        places.setdefault(theirs[at], []).append(at)
    last = b - 1
    used: set[int] = set()
    for at in range(a, a_end):
        where = places.get(ours[at], ())
        next_one = bisect_right(where, last)
        if next_one < len(where) and where[next_one] - last <= _FARTHEST:
            found[at] = last = where[next_one]
            used.add(last)
    free = {word: iter(where) for word, where in places.items()}
    for at in range(a, a_end):
        if found[at] < 0 and _is_figure(ours[at]) and ours[at] in free:
            place = next((each for each in free[ours[at]] if each not in used), b_end)
            _follow(ours, theirs, found, (at, a_end, place, b_end), used)


def _take_crossing(ours: Sequence[str], theirs: Sequence[str], found: list[int], stop: Stop) -> None:
    """Align figures that are left with the nearest ones that are free, though others cross them."""
    left = {word for word, place in zip(ours, found, strict=True) if place < 0 and _is_figure(word)}
    taken = set(found)
    places: dict[str, list[int]] = {}
    for place, word in enumerate(theirs):
        if word in left and place not in taken:
            places.setdefault(word, []).append(place)
    stop.check()
    before = 0
    for at, word in enumerate(ours):
        if found[at] >= 0:
            before = found[at]
            continue
        where = places.get(word, [])
        near = bisect_left(where, before)
        candidates = [place for place in where[max(0, near - _TRIED) : near + _TRIED] if place not in taken]
        place = min(candidates, key=partial(_distance, before), default=-1)
        if place >= 0 and abs(place - before) <= _CROSSING:
            found[at] = place
            taken.add(place)


def _distance(first: int, second: int) -> int:
    return abs(first - second)


def _is_figure(word: str) -> bool:
    return any(map(str.isdigit, word))


def _follow(ours: Sequence[str], theirs: Sequence[str], found: list[int], gap: Gap, used: set[int]) -> None:
    """Align the words at the beginning of a gap that are the same and not aligned; add their places to `used`."""
    a, a_end, b, b_end = gap
    while a < a_end and b < b_end and found[a] < 0 and b not in used and ours[a] == theirs[b]:
        found[a] = b
        used.add(b)
        a, b = a + 1, b + 1
