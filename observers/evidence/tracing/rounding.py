"""Whether a number of a report is one of a source: the same, rounded, or in another unit of its family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.figures.units import SYMBOLS, WORDS

How = Literal["same", "rounded", "converted"]
Window = tuple[str, float, float]
"""A unit, and the lowest and the highest value."""

AS_WRITTEN = "as written"
"""In place of a unit: numbers of measures as they are written, before a unit is applied."""
_DOLLARS = ("USD", "AUD", "CAD", "NZD", "HKD", "SGD", "TWD", "MXN")
_SOME_DOLLARS = frozenset({"$", "dollar", "dollars", "cent", "cents"})
_RATE = re.compile(r"(?:/|\b(?:per|pro|par|por|je)\b)[ \u00a0]?(\S[^\d]{0,40})\Z")
_BEFORE = 28
_ARTICLE = r"(?:\s(?:der|die|das|l[ea]s?|de|del|los|une?|una|a))?"
_OVER = re.compile(
    r"(?:(?<!\w)(?:more than|over|above|at least|exceed(?:s|ed|ing)?|upwards of|north of|past|surpass(?:es|ed|ing)?"
    r"|mehr als|über|mindestens|gut|plus de|au moins|dépass\w{0,5}|más del?|al menos"
    r"|super(?:a|ó|ior a))|[>≥])"
    rf"{_ARTICLE}[\s$€£~]{{0,4}}$",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"(?:(?<!\w)(?:nearly|almost|just under|under|less than|fewer than|below|close to|fast|knapp|beinahe|unter|nahezu"
    r"|weniger als|près de|presque|moins de|casi|menos de|cerca de)|[<≤])"
    rf"{_ARTICLE}[\s$€£~]{{0,4}}$",
    re.IGNORECASE,
)
_NEAR = 0.025
"""How far, as a share of it, "about" reaches."""
_EXACT = 3
"""Digits from which "about" means little more than rounding."""
_FAR = 0.1
"""How much rounding changes a value at most."""
_BEYOND, _FAR_BEYOND = 0.06, 0.15
"""How far "more than" and "nearly" reach, with several digits and with one that is not zero."""
_SMALL = 1_000
"""Counts below it are not rounded unless the report says "about"."""
_COUNT = 20
"""Counts up to it are exact even then."""
_SCALES = (1e3, 1e6, 1e9)
_DAYS = 86_400.0
_YEAR = 31_557_600.0
_OFTEN_LEFT_OUT = ("%", "USD", "EUR")


def _float(figure: Figure) -> tuple[float, float]:
    return float(figure.value), float(figure.step)


def bounds(figure: Figure, before: str) -> tuple[float, float]:
    """The lowest and the highest value of a source for which a person would write this figure."""
    value, step = _float(figure)
    size = abs(value)
    if figure.unit == "" and figure.kind == "number" and size < _SMALL and step >= 1 and size == int(size):
        step = 0.0
        if size <= _COUNT:
            return value, value
    reach = min(step / 2, _FAR * size)
    if figure.unit == "s" and size >= _DAYS:
        reach = max(reach, 0.01 * size)
    if figure.unit == "%" and figure.is_word:
        reach = max(reach, 2.0 if figure.is_approximate else 0.5)
    ending = before[-_BEFORE:]
    is_round = figure.kind != "multiple" and _digits(size / step if step else size) == 1
    beyond = max((_FAR_BEYOND if is_round else _BEYOND) * size, reach)
    if _OVER.search(ending):
        if figure.kind == "multiple":
            # "More than doubled" is all that did not triple.
            beyond = max(beyond, 1.0)
        return value - reach * 0.1, value + beyond
    if _UNDER.search(ending):
        return value - beyond, value + reach * 0.1
    if figure.is_approximate:
        # "about 570" is less exact than "about 571".
        written = round(size / step) if step else 0
        digits = _digits(written) if written else 1
        # The zeros at its end are not counted: "about 1,250" is written for 1,248.
        zeros = 10 ** (len(str(written)) - digits)
        reach = max(reach, _NEAR * size if digits < _EXACT else step * zeros)
    return value - reach, value + reach


def _digits(number: float) -> int:
    """The digits of a number without the zeros at its end."""
    return len(str(round(number)).rstrip("0"))


def windows(figure: Figure, before: str) -> Iterator[Window]:
    """Give where figures of sources may lie that a figure of a report was taken from; `before` is the text before it.

    They are wide: `how_same` says of each figure found there whether it is the same.
    """
    low, high = bounds(figure, before)
    yield figure.unit, low, high
    if figure.unit == "%":
        yield "pp", low, high
        yield "", low, high
        yield "", low / 100, high / 100
    elif figure.unit:
        yield "", low, high
        if (factor := unit_factor(figure)) not in {0, 1}:
            yield "", low / factor, high / factor
        if figure.unit in _DOLLARS:
            yield from ((unit, low, high) for unit in _DOLLARS if unit != figure.unit)
    if figure.unit == "s":
        yield "", low / _YEAR, high / _YEAR
    for scale in _SCALES:
        if abs(figure.value) >= scale:
            yield "", low / scale, high / scale
            if figure.unit:
                yield figure.unit, low / scale, high / scale
    if figure.other is not None:
        other = float(figure.other)
        yield figure.unit, other, other
    if not figure.unit and figure.kind == "number":
        # A cell or an age without its unit.
        for unit in _OFTEN_LEFT_OUT:
            yield unit, low, high
        yield "s", low * _YEAR, high * _YEAR
        yield AS_WRITTEN, low, high


def how_same(figure: Figure, found: Figure, before: str) -> How | None:
    """Say how a figure of a report follows from one of a source of the same or no unit; None if it does not."""
    if figure.kind == found.kind == "money" and _rates_differ(figure.text, found.text):
        return None
    value, step = _float(figure)
    original, finer = _float(found)
    if _equal(value, original) or _has_other(figure, found):
        return "converted" if _names_differ(figure, found) else "same"
    low, high = bounds(figure, before)
    if not low - 1e-9 * abs(low) <= original <= high + 1e-9 * abs(high):
        return None
    if figure.written != found.written and figure.unit == found.unit != "":
        return "converted"
    if finer < step or figure.is_approximate or figure.is_word or _is_worded(before):
        return "rounded"
    return None


def _rates_differ(one: str, other: str) -> bool:
    """Whether two amounts are for different units, such as "/kWh" and "/MWh"."""
    rates = [_RATE.search(text) for text in (one, other)]
    units = [SYMBOLS.get(rate[1]) or WORDS.get(rate[1].lower().replace("-", " ")) for rate in rates if rate]
    return len(units) == 2 and None not in units and units[0] != units[1]


def unit_factor(figure: Figure) -> float:
    """What a figure of a measure was multiplied by for its unit; 0 if that is not known."""
    if figure.kind != "measure":
        return 1.0
    written = figure.written
    unit = SYMBOLS.get(written) or WORDS.get(written.lower()) or WORDS.get(written.lower().replace("-", " "))
    return 0.0 if unit is None or unit.offset or unit.base != figure.unit else float(unit.factor)


def in_unit(figure: Figure) -> Figure:
    """A figure with the value that stands before its unit."""
    factor = Decimal(unit_factor(figure))
    return replace(figure, value=figure.value / factor, step=figure.step / factor) if factor else figure


def are_dollars(one: Figure, other: Figure) -> bool:
    """Whether two amounts may be in the same currency, as one only says that they are dollars."""
    return (
        one.unit in _DOLLARS
        and other.unit in _DOLLARS
        and (one.written.lower() in _SOME_DOLLARS or other.written.lower() in _SOME_DOLLARS)
    )


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def _has_other(figure: Figure, found: Figure) -> bool:
    """Whether another reading of an ambiguous form is the same."""
    if figure.other is not None and _equal(float(figure.other), float(found.value)):
        return True
    return found.other is not None and _equal(float(found.other), float(figure.value))


def _names_differ(figure: Figure, found: Figure) -> bool:
    """Whether the same quantity is written with another unit of the family, such as MW and GW."""
    return (
        figure.kind == "measure"
        and figure.unit == found.unit
        and figure.written.casefold().rstrip(".s") != found.written.casefold().rstrip(".s")
        and not _equal(float(figure.step) or 1, float(found.step) or 1)
    )


def _is_worded(before: str) -> bool:
    ending = before[-_BEFORE:]
    return bool(_OVER.search(ending) or _UNDER.search(ending))
