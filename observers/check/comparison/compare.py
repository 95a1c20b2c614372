"""Whether two figures are the same: value, scale, unit, rate, sign and what is counted, compared as a whole."""

from __future__ import annotations

from operator import ne
from typing import Literal

from ua_tui.observers.check.figures.figure import Figure, Reading
from ua_tui.observers.check.figures.vocabulary import Vocabulary, stem

Problem = Literal[
    "", "rate", "no rate", "direction", "comparison", "noun", "elsewhere", "scale", "unit", "date", "digits"
]  # fmt: skip
"""What differs although the value is the same."""
RATES = {
    "second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": 86_400.0, "night": 86_400.0, "week": 604_800.0,
    "month": 2_629_800.0, "quarter": 7_889_400.0, "year": 31_557_600.0, "decade": 315_576_000.0,
}  # fmt: skip
"""What a value may be per, in seconds."""
EXACT = 1e-6
_CONVERTED = 0.03
"""How far a value in another unit may be from its exact conversion: "250 miles (400 km)" is 0.6 percent off."""
_BEYOND = 10.0
"""Points of percent that a value may be above or below a fraction in words: the next one is eight to seventeen away."""
_OWN = frozenset({"ordinal", "×"})
"""Units that are never left out."""
_ALSO = {unit: units for units in (("pp", "point"), ("temperature", "degree")) for unit in units}
_DOLLARS = frozenset({"USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN"})


def span(claim: Figure) -> list[tuple[str, float, float]]:
    """What a source's figure may be found by that has a claim's value: keys of the index, and the values there."""
    if claim.kind != "amount":
        year, month, day = claim.date
        spans = [(claim.name or f"day {month} {day}", 0.0, 0.0), (f"year {0 if day else year}", 0.0, 0.0)]
        return spans + [("", each.value, each.value) for each in claim.readings]
    spans = []
    for each in claim.readings:
        slack = max(each.coarse, each.step, abs(each.value) * _CONVERTED, _beyond(claim, each)) * 1.01
        units = _ALSO.get(each.unit, (each.unit,))
        for unit in sorted(_DOLLARS) if each.unit in _DOLLARS else units:
            spans.append((unit, each.value - slack, each.value + slack))
        slack /= each.written
        if claim.is_cell:
            shown = each.shown
            spans.append(("cell", shown - slack / each.scale, shown + slack / each.scale))
        if each.unit and each.unit not in _OWN:
            spans.append(("", each.plain - slack, each.plain + slack))
        elif not each.unit and not claim.noun:
            spans.append(("plain", each.value - slack, each.value + slack))
    return spans


def _beyond(claim: Figure, reading: Reading) -> float:
    """How far "more than half" reaches: it is written for 57 percent."""
    return _BEYOND if claim.bound in ("over", "under") and claim.is_word and reading.unit == "%" else 0.0


def is_same_value(claim: Figure, source: Figure) -> bool:
    """Whether a source's figure is the value of a claim, exact, rounded to what the claim shows, or converted."""
    for one in claim.readings:
        for other in source.readings:
            is_ambiguous = one.decimal and other.decimal and len(claim.readings) + len(source.readings) > 2
            if is_ambiguous and one.decimal != other.decimal:
                # "4,217" and "4.217" may only mean the same if both are read the same way.
                continue
            if (
                (_units_meet(claim, one, source, other) and _is_near(claim, one, other))
                or _are_cells(claim, one, source, other)
                or (_is_plain(claim, one, source, other) and _is_near(claim, _bare(one), _bare(other)))
            ):
                return True
    return False


def _bare(reading: Reading) -> Reading:
    """The value as it is written with its scale, without its unit."""
    size, plain = reading.written, reading.plain
    return Reading(plain, reading.step / size, reading.coarse / size, delta=plain)


def _are_cells(claim: Figure, one: Reading, source: Figure, other: Reading) -> bool:
    """Whether two cells have the same number, and one has no unit in a heading, so that the other's may be meant."""
    own, there = (bool(each.unit) or each.scale != 1 for each in (one, other))
    if not (claim.is_cell and source.is_cell) or own == there:
        return False
    return abs(one.shown - other.shown) <= one.step / one.written / one.scale / 2 * (1 + 1e-6)


def _is_plain(claim: Figure, one: Reading, source: Figure, other: Reading) -> bool:
    """Whether one of two figures is written without a unit and counts nothing, so that the other's may be meant."""
    if {one.unit, other.unit} & _OWN or bool(one.unit) == bool(other.unit) or source.kind != "amount":
        return False
    if not one.unit:
        return not claim.noun
    return not (source.noun or claim.is_word or (one.unit == "time" and source.is_small))


def _units_meet(claim: Figure, one: Reading, source: Figure, other: Reading) -> bool:
    if one.unit == other.unit:
        return True
    if {one.unit, other.unit} <= _DOLLARS:
        return "$" in (claim.text[:1], source.text[:1]) or "dollar" in claim.text + source.text
    return other.unit in _ALSO.get(one.unit, ())


def _is_near(claim: Figure, reading: Reading, other: Reading) -> bool:
    """Whether another value is that of a claim's reading, or what the claim's is rounded or converted from."""
    difference = other.value - reading.value
    size = max(abs(reading.value), abs(other.value))
    if abs(difference) <= EXACT * size + 1e-12:
        return True
    if reading.written != other.written:
        slack = max(reading.step / 2, min(reading.coarse / 2, _CONVERTED * size))
        return abs(difference) <= slack + EXACT * size
    if other.step > reading.step * 1.001 and not claim.bound:
        return False
    if abs(difference) <= reading.step / 2 * (1 + 1e-6):
        return True
    digits = abs(reading.value) / reading.coarse
    if claim.bound in ("over", "under"):
        # "Less than a million" is not written for 200,000.
        reach = max(reading.coarse if digits >= 10 else reading.coarse / 2, _beyond(claim, reading))
        return 0 < (difference if claim.bound == "over" else -difference) <= reach
    if claim.bound == "about":
        return abs(difference) <= reading.coarse / 2
    # "4,800 people" for 4,812: two final zeros are rounded, one zero or a single digit before them may be exact.
    is_rounded = reading.coarse >= 100 * reading.step and digits >= 10
    return is_rounded and abs(difference) <= reading.coarse / 2


def is_same_date(claim: Figure, source: Figure) -> bool:
    """Whether a source's date is that of a claim, which may leave out the day or the year, but not add one."""
    year, month, day = source.date
    if claim.date[1] > 100 and month <= 12:
        # The quarter that the month is in.
        month = 100 + (month + 2) // 3
    return all(not one or one == other for one, other in zip(claim.date, (year, month, day), strict=True))


def problem_of(claim: Figure, source: Figure, words: Vocabulary) -> Problem:
    """What differs between two figures of the same value."""
    if claim.kind != "amount" or source.kind != "amount":
        return ""
    one, other = ({*each.rate.split("|")} - {""} for each in (claim, source))
    times, known = (one & RATES.keys(), other & RATES.keys()), {*words.rate_units.values()}
    # "A connection and day" is not "a connection and hour".
    if _are_apart(*times) or (_are_apart(one, other) and not any(times) and one <= known >= other):
        return "rate"
    if _are_apart(one, other):
        # What is per year may be per household, too, and unknown words may mean the same.
        return "no rate"
    # "Fell to 12" does not contradict "rose by 12".
    is_opposed = claim.sign * source.sign < 0 and (claim.role > 0) == (source.role > 0)
    if is_opposed:
        # "Cut by 17 million" does not contradict "17 million above the target", nor "34 cm lower" "34 cm higher
        # without it".
        is_sure = claim.is_level == source.is_level and not (claim.is_negated or source.is_negated)
        return "direction" if is_sure else "comparison"
    if claim.noun and source.noun and not same_noun(claim, source, words):
        return "noun"
    return ""


def _are_apart(one: set[str], other: set[str]) -> bool:
    return bool(one) and bool(other) and one.isdisjoint(other)


def same_noun(claim: Figure, source: Figure, words: Vocabulary) -> bool:
    """Whether two figures count the same thing, as far as their words say."""
    one, other = claim.noun, source.noun
    # "Schulkinder" are no "Schulklassen", though their first six letters are the same.
    common = max(6, min(len(one), len(other)) - 3)
    if one[:common] == other[:common]:
        return True
    # "Patentanmeldungen" are "Anmeldungen", and a "minibus" is a "bus".
    if min(len(one), len(other)) >= 5 and (other[:-2] in one or one[:-2] in other):
        return True
    return bool(words.same.get(stem(one), frozenset()) & words.same.get(stem(other), frozenset()))


def is_mistyped(one: str, other: str) -> bool:
    """Whether two numbers differ in one digit, or in two that changed places."""
    return len(one) == len(other) and (sum(map(ne, one, other)) == 1 or are_moved(one, other))


def are_moved(one: str, other: str) -> bool:
    """Whether two digits changed places."""
    pairs = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
    return len(one) == len(other) and len(pairs) == 2 and pairs[0] == pairs[1][::-1]
