"""Figures that belong together: ranges, durations of several parts, and shares such as "three in five"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ua_tui.observers.check.figures.figure import SHARE_STEP, Figure, Reading
from ua_tui.observers.check.figures.suffix import SIGNS

_RANGE = re.compile(r"\s?(?:[–-]|±|to|and|or|bis|und|oder|à|a|et|ou|y|o)\s?[$€£]?\Z")
_OF = re.compile(
    r" (?:out )?(?:of|von|de|des|los)(?: (?:the|its|their|all|den|ihren|ses|les|los|sus))?\s", re.I
)
_IN = (" in ", " out of ", " of every ")
_AND = ("", "and", "und", "et", "y")
_DAY = 86_400
_WIDEST = 50.0
"""How many times one end of a range may be the other."""


def joined(text: str, figures: Sequence[Figure]) -> list[Figure]:
    """The figures of a text, in order, with those that belong together as one or with one unit."""
    found: list[Figure] = []
    for figure in figures:
        last = found[-1] if found else None
        between = text[last.end : figure.start] if last is not None else ""
        if last is None or last.kind != "amount" or figure.kind != "amount":
            # "1312 of 1740" has no year.
            is_part = last is not None and last.is_bare and figure.is_year and _OF.fullmatch(between)
            found.append(replace(figure, kind="amount", date=(0, 0, 0)) if is_part else figure)
        elif _are_duration(last, figure, between):
            one, other = last.readings[0], figure.readings[0]
            if not other.unit:
                other = replace(other, value=60 * other.value, step=60, coarse=60, unit="time")
            total = one.value + other.value
            found[-1] = _one(text, last, figure, replace(other, value=total, coarse=other.step, delta=total))
        elif between in _IN and _are_share(last, figure):
            percent = 100 * last.value / figure.value
            share = replace(last, noun="", is_bare=False, is_small=False, is_word=True)
            found[-1] = _one(text, share, figure, Reading(percent, SHARE_STEP, SHARE_STEP, "%"))
        elif _RANGE.match(between) or (between == " auf " and text[: last.start].endswith("von ")):
            found[-1:] = _as_range(last, figure)
        elif _OF.fullmatch(between) and last.is_bare and not figure.unit:
            found[-1:] = replace(last, noun=figure.noun), figure
        else:
            found.append(figure)
    return _in_money(text, found)


def _in_money(text: str, figures: Sequence[Figure]) -> list[Figure]:
    """The parts of a sum in its currency and scale: "$38.4 million: tickets 21.7, shops and food 9.2".

    A whole number may mean it, as in "Oldham had 5,225 million dollars, Bury 5,261", or be one of something else.
    """
    found, sum_, end = list(figures), Reading(0, 0, 0), 0
    for at, figure in enumerate(figures):
        if figure.kind != "amount":
            continue
        own, between = figure.readings[0], text[end : figure.start]
        part = own.in_unit_of(sum_, with_scale=own.scale == 1)
        if own.unit or figure.noun or figure.is_small or ". " in between:
            sum_ = own if own.unit.isupper() else Reading(0, 0, 0)
        elif 0 < part.value < sum_.value * _WIDEST and not _RANGE.match(between):
            found[at] = replace(figure, readings=(own, part) if figure.is_bare else (part,))
        end = figure.end
    return found


def _one(text: str, first: Figure, last: Figure, reading: Reading) -> Figure:
    return replace(first, end=last.end, text=text[first.start : last.end], readings=(reading,))


def _are_duration(first: Figure, second: Figure, between: str) -> bool:
    """Whether two are the parts of a duration: "4 h 52 min", "8 minutes and 51 seconds"."""
    if first.text[-1:] == "h" and second.is_bare and second.value < 60:
        # "3 h 48"
        return between in (" ", "\u00a0", "\u202f", "")
    if not first.unit == second.unit == "time" or between.strip(" \u00a0,") not in _AND:
        return False
    return _DAY > first.readings[0].written > second.readings[0].written


def _are_share(first: Figure, second: Figure) -> bool:
    """Whether two small numbers are a share of a whole."""
    if not (first.is_bare and second.is_bare) or first.noun:
        return False
    return 0 < first.value < second.value <= 100 and (first.is_word or second.value in (5, 10))


def _as_range(first: Figure, second: Figure) -> tuple[Figure, Figure]:
    """The ends of a range, each with the unit and the scale of both: "58 to 71 percent", "$225-245m"."""
    one = first.readings[0]
    plain = next((each for each in second.readings if not each.unit), None)
    if plain is not None and first.text[:1] in SIGNS:
        second = replace(second, readings=(replace(plain, unit=one.unit),), noun="", is_small=False)
    other = second.readings[0]
    lacks_scale = one.scale == 1.0 < other.scale
    shown = [each.value / (each.written * each.scale) for each in (one, other)]
    if not shown[1] or not 1 / _WIDEST < abs(shown[0] / shown[1]) < _WIDEST:
        # "21,500 or 2.3 percent" is no range.
        return first, second
    if first.unit and not (lacks_scale and first.unit == second.unit):
        return first, second
    if second.is_bare and not second.noun:
        return first, second
    readings = tuple(each.in_unit_of(other, with_scale=True) for each in first.readings)
    shared = replace(
        first, readings=readings, noun=second.noun,
        rate=first.rate or second.rate, is_bare=second.is_bare, is_small=second.is_small,
        sign=first.sign or second.sign,
    )  # fmt: skip
    return shared, second
