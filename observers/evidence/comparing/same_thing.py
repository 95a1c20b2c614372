"""Whether two statements are about the same thing, and whether their values differ.

All of it leans to "no": that two sources disagree is only said if hardly anything else is possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from ua_tui.observers.evidence.comparing.statement import Period, Statement
from ua_tui.observers.evidence.comparing.wordings import GENERIC, LEAST, MOST, NEARLY, NEUTRAL
from ua_tui.observers.evidence.tracing.dates import published_on

_SLACK = 0.01
"""Differences up to this share of the larger value are none."""
_APPROXIMATE = 0.06
_WORDED = 0.04
_MOST_APART = 12.0
"""How often the larger value has the smaller one; beyond, they are hardly of the same thing."""
_SHARED = 3
"""Words that both sentences have, if both are about the same name; fewer if they name the same date."""
_SHARED_DATED = 2
_SHARED_UNNAMED = 4
_ALIKE = 0.4
"""The part of all words of two sentences without dates that is in both, at least."""
_DAYS = 31
"""How far apart two pages without dates in their sentences were published, at most."""


def agree(one: Statement, other: Statement) -> bool:
    """Whether two values are the same: rounded, in a range, or within a bound."""
    (low, high), (other_low, other_high) = _bounds(one), _bounds(other)
    gap = max(low - other_high, other_low - high)
    steps = float(one.figure.step), float(other.figure.step)
    size = max(abs(float(one.figure.value)), abs(float(other.figure.value)))
    rounding = max(steps) / 2 if steps[0] != steps[1] else 0.0
    if gap <= rounding + _SLACK * size:
        return True
    return _reads_alike(one, other) or _reads_alike(other, one)


def _reads_alike(one: Statement, other: Statement) -> bool:
    """Whether the other reading of an ambiguous form is the value of the other statement."""
    if one.figure.other is None:
        return False
    first, second = float(one.figure.other), float(other.figure.value)
    return abs(first - second) <= _SLACK * max(abs(first), abs(second))


def _bounds(statement: Statement) -> tuple[float, float]:
    figure, before = statement.figure, statement.before[-60:]
    value = float(figure.value)
    low, high = (value, value) if statement.is_end else (float(figure.low), float(figure.high))
    reach = 0.0
    if figure.is_approximate:
        reach = _APPROXIMATE * abs(value)
    if figure.is_word:
        reach = max(reach, _WORDED * abs(value))
    if LEAST.search(before) or statement.after.startswith("+"):
        return low, float("inf")
    if MOST.search(before):
        return float("-inf"), high
    if NEARLY.search(before):
        reach = max(reach, _APPROXIMATE * abs(value))
    return low - reach, high + reach


def is_same_thing(one: Statement, other: Statement, subject: Iterable[str]) -> bool:
    """Whether two statements are about the same thing.

    `subject` are the names of the report's sentence that `one` has, too, which `other` needs.
    """
    if (one.change, one.labels) != (other.change, other.labels) or not _is_like_size(one, other):
        return False
    return (
        _is_like_time(one, other) and _is_like_measure(one, other) and _is_like_subject(one, other, subject)
    )


def _is_like_size(one: Statement, other: Statement) -> bool:
    first, second = float(one.figure.value), float(other.figure.value)
    return first * second > 0 and max(first / second, second / first) <= _MOST_APART


def _is_like_time(one: Statement, other: Statement) -> bool:
    published = published_on(one.source.record.published), published_on(other.source.record.published)
    if not one.periods and not other.periods:
        return published[0] is None or published[1] is None or _days(published[0], published[1]) <= _DAYS
    if {month for _, month in one.periods} != {month for _, month in other.periods}:
        return False
    return _years(one.periods, published[0]) == _years(other.periods, published[1])


def _years(periods: Iterable[Period], published: tuple[int, int, int] | None) -> set[int]:
    """The years of some dates; a date without one is of the year of publication."""
    return {year or (published[0] if published else 0) for year, _ in periods}


def _days(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    def day(parts: tuple[int, int, int]) -> int:
        year, month, day = parts
        try:
            return date(year, month or 6, day or 15).toordinal()
        except ValueError:
            return date(max(year, 1), 6, 15).toordinal()

    return abs(day(one) - day(other))


def _is_like_measure(one: Statement, other: Statement) -> bool:
    """Whether what is nearest to each figure is in the other statement, and the same is near both."""
    if not one.near <= other.about or not other.near <= one.about:
        return False
    common = one.near & other.near
    if len(common) < 2 and not common - (one.names - GENERIC):
        return False
    is_count = one.figure.kind == "number" and not one.figure.unit
    return not is_count or bool(one.counted & other.counted)


def _is_like_subject(one: Statement, other: Statement, subject: Iterable[str]) -> bool:
    """Whether both statements have the names of the subject, and neither has one that the other does not have."""
    named = {name for name in subject if name not in GENERIC}
    if not named <= other.about | other.names:
        return False
    only_one = one.names - GENERIC - other.words - other.names
    only_other = other.names - GENERIC - one.words - one.names
    # A title may name what one of the sentences leaves out, but not what stands against a name in it.
    if (only_one and only_other) or not (only_one <= other.title and only_other <= one.title):
        return False
    shared = (one.words & other.words) - NEUTRAL
    if not one.periods and len(shared) < _ALIKE * len((one.words | other.words) - NEUTRAL):
        return False
    if named:
        return len(shared) >= (_SHARED_DATED if one.periods else _SHARED)
    if one.title and other.title and not one.title & other.title:
        return False
    return len(shared - GENERIC) >= _SHARED_UNNAMED
