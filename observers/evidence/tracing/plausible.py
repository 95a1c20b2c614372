"""Says whether a figure may have been computed from others, without the certainty to say from which.

A report sums up a column, takes a share of a share, or states a change that its source leaves to the reader. With many
figures around it some computation mostly fits, so that this proves nothing; but what plausibly follows from the source
is to be looked at and not to be called untraced.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations, permutations

from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.tracing.derived import Operand, is_bare, is_computing, result_range
from ua_tui.observers.evidence.tracing.rounding import in_unit, unit_factor

_MOST = 16
"""Operands that are combined, the nearest first."""
_STRIDES = (1, 2, 3, 4)
"""Distances of the summands of a column of a table, read row by row."""
_LONGEST_RUN = 12
_SCALES = (1e3, 1e6, 1e9)
_SAME_SCALE = 30.0
"""Scales that a table leaves out, and how many times the summands may be larger or smaller than the figure."""
_SMALL = 12
_CHANCE, _CHANCE_SAID = 0.3, 2.0
"""The most results that may equal a figure by accident; more if the sentence has words of computation."""
_NEAR = 3.0
"""How many times larger or smaller than the figure results are, by which its chance is estimated."""
_DAY = 86_400.0
_MONTH_DAYS = 30.4375


def may_follow(figure: Figure, operands: Sequence[Operand], sentence: str, at: int) -> str:
    """Give a computation whose result is a figure of a report, such as "41 + 17 + 3"; "" if there is none.

    Args:
        figure: a figure of the report.
        operands: figures of its sentence and of the source, the nearest first.
        sentence: what it stands in.
        at: where the figure begins in it.
    """
    value = abs(float(figure.value))
    if not value or figure.kind == "date":
        return ""
    is_said = is_computing(figure, sentence, at)
    low, high = result_range(figure, sentence, at)
    slack = 1e-9 * value
    found, near = "", 0
    for result, note in _results(figure, operands, is_said):
        if value / _NEAR < abs(result) < value * _NEAR:
            near += 1
            if not found and low - slack <= abs(result) <= high + slack:
                found = note
    chance = near * (high - low) / value / (2 * math.log(_NEAR))
    return found if chance <= (_CHANCE_SAID if is_said else _CHANCE) else ""


def _results(figure: Figure, operands: Sequence[Operand], is_said: bool) -> Iterator[tuple[float, str]]:
    """What is computed from operands; with scales that are left out and products only if the sentence computes."""
    amounts = [each for each in operands if _is_amount(each)][:_MOST]
    is_share = figure.unit in {"%", "pp"}
    if figure.unit == "s":
        yield from _spans([each for each in operands if each.figure.kind == "date"][:_MOST])
    if is_share:
        yield from _percentages(amounts)
    elif figure.kind == "multiple" or (is_said and not figure.unit):
        for ratio, one, other in _ratios(amounts):
            yield ratio, f"{one.text} / {other.text}"
    scaled = [_scaled(figure, each) for each in amounts] if is_said else amounts
    yield from _sums([each for each in scaled if _may_be_added(figure, each.figure)])
    if is_said and not is_share:
        yield from _products(figure, scaled)


def _is_amount(operand: Operand) -> bool:
    """Whether a figure may be an operand: not a date, nor a bare small count, with which anything is computed."""
    found = operand.figure
    if found.kind in {"date", "ordinal"} or not operand.value:
        return False
    return not is_bare(found) or found.step not in {0, 1} or abs(found.value) > _SMALL


def _scaled(figure: Figure, operand: Operand) -> Operand:
    """An operand with the unit and the scale of a figure, if it has none as in a table "in millions"."""
    found = operand.figure
    if found.unit or not is_bare(found) or figure.unit in {"%", "pp", "s"}:
        return operand
    factors = [unit_factor(figure) or 1.0, *_SCALES] if figure.unit else [1.0, *_SCALES]
    size = abs(float(figure.value))
    value = min(
        (operand.value * factor for factor in factors), key=lambda value: abs(math.log(abs(value) / size))
    )
    if not 1 / _SAME_SCALE < abs(value) / size < _SAME_SCALE:
        return operand
    near = replace(found, value=Decimal(value), unit=figure.unit)
    return replace(operand, figure=near, exact=None)


def _may_be_added(figure: Figure, summand: Figure) -> bool:
    """Whether a figure may be the sum of another one: years of years, and a count only of counts."""
    if figure.unit in {"%", "pp"}:
        return summand.unit == "%"
    if figure.unit == "s" and figure.written[:3] != summand.written[:3]:
        return False
    is_count = not figure.unit and figure.value % 1 == 0
    return summand.unit == figure.unit and not (is_count and summand.value % 1)


def _ratios(amounts: Sequence[Operand]) -> Iterator[tuple[float, Operand, Operand]]:
    """The quotients of amounts of the same unit, also of "398" in a table in millions and "147 million"."""
    for one, other in permutations(amounts, 2):
        ratio = one.value / other.value
        if one.figure.unit == other.figure.unit:
            yield ratio, one, other


def _percentages(amounts: Sequence[Operand]) -> Iterator[tuple[float, str]]:
    for ratio, one, other in _ratios(amounts):
        yield (ratio - 1) * 100, f"({one.text} − {other.text}) / {other.text}"
        if abs(ratio) < 1:
            yield ratio * 100, f"{one.text} / {other.text}"
    shares = [each for each in amounts if each.figure.unit == "%"]
    for each in shares:
        yield 100 - each.value, f"100 − {each.text}"
    for one, other in combinations(shares, 2):
        yield 100 - one.value - other.value, f"100 − {one.text} − {other.text}"


def _sums(same: Sequence[Operand]) -> Iterator[tuple[float, str]]:
    """Sums and differences of two, means, and sums of what stands one after the other in a row or a column."""
    for one, other in combinations(same, 2):
        yield one.value + other.value, f"{one.text} + {other.text}"
        yield one.value - other.value, f"{one.text} − {other.text}"
    ordered = sorted(same, key=lambda each: each.figure.start)
    for stride in _STRIDES:
        for first in range(len(ordered)):
            run = ordered[first::stride][:_LONGEST_RUN]
            total = 0.0
            for count, each in enumerate(run, 1):
                total += each.value
                if count > 2:
                    shown = f"{run[0].text} + … + {each.text}"
                    yield total, shown
                    yield total / count, f"({shown}) / {count}"


def _products(figure: Figure, amounts: Sequence[Operand]) -> Iterator[tuple[float, str]]:
    """Shares of an amount, what an amount is a share of, products and quotients."""
    for one, other in permutations(amounts, 2):
        if one.figure.unit not in {figure.unit, ""}:
            continue
        if other.figure.unit in {"%", "pp"}:
            yield one.value * other.value / 100, f"{other.text} × {one.text}"
            yield one.value / other.value * 100, f"{one.text} / {other.text}"
            yield one.value * (100 - other.value) / 100, f"(100 − {other.text}) × {one.text}"
        elif one.figure.unit or not figure.unit:
            number = float(in_unit(other.exact or other.figure).value)
            yield one.value * number, f"{one.text} × {other.text}"
            yield one.value / number, f"{one.text} / {other.text}"


def _spans(dates: Sequence[Operand]) -> Iterator[tuple[float, str]]:
    """The time between two dates, also if both days or months count."""
    for one, other in combinations(dates, 2):
        (year, month, day), (to_year, to_month, to_day) = one.figure.date, other.figure.date
        if max(month, to_month) > 12 or not month or not to_month:
            continue
        years = to_year - year if year and to_year else 0
        days = abs(years * 365.25 + (to_month - month) * _MONTH_DAYS + to_day - day)
        for extra in (0.0, 1.0, _MONTH_DAYS):
            yield (days + extra) * _DAY, f"{one.text} – {other.text}"
