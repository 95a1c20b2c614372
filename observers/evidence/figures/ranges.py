"""Joins neighbouring figures: ranges and lists share their unit; "9 out of 10" is a share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from ua_tui.observers.evidence.figures.dates import make_date
from ua_tui.observers.evidence.figures.reading import Reading
from ua_tui.observers.evidence.figures.units import Unit

_DASH = re.compile(r"[ \u00a0]?[-–—‑~][ \u00a0]?")
_TO = re.compile(
    r",?[ \u00a0](?:to|bis|à|a|through|up to|auf|hasta|jusqu'à)"
    r"(?:[ \u00a0](?:about|around|etwa|rund))?[ \u00a0](?:the[ ])?"
)
_AND = re.compile(r",?[ \u00a0](?:and|und|et|y|or|oder|ou|o|&|versus|vs\.?)[ \u00a0]")
_OR = re.compile(r",[ \u00a0](?:or|oder|ou|o)[ \u00a0]")
_INSTEAD = re.compile(
    r"[ \u00a0](?:instead of|after|statt|nach|au lieu de|contre|en vez de|frente a)[ \u00a0]"
)
_COMMA = re.compile(r",[ \u00a0]|[ ]?/[ ]?")
_OUT_OF = re.compile(
    r"[ \u00a0](?:in|out of|in every|of every|von|sur|de cada|out of every)[ \u00a0](?:every[ ])?"
)
_BETWEEN = ("between", "zwischen", "entre")
_FROM = ("from", "von", "de", "du", "desde", "del", "vom")
_PERCENT = Unit("%", kind="share")
_LONGEST = 16
_PERIODS = range(101, 400)
"""Quarters, half-years and seasons as months of a date."""


def join(text: str, found: list[Reading]) -> list[Reading]:
    """Give the ends of ranges, the members of lists and shares of a count their common unit."""
    joined: list[Reading] = []
    number = 0
    while number < len(found):
        reading = found[number]
        following = found[number + 1] if number + 1 < len(found) else None
        if following and (share := _share_of(text, reading, following)):
            joined.append(share)
            number += 2
            continue
        joined.append(reading)
        if following:
            _pair(text, reading, following)
        number += 1
    _lists(text, joined)
    return joined


def _pair(text: str, first: Reading, second: Reading) -> None:
    start, end = first.end, second.start
    if not 0 < end - start <= _LONGEST or first.low is not None or second.low is not None:
        return
    is_dash = _DASH.fullmatch(text, start, end) is not None
    if (is_dash or text[start:end] == "/") and _short_year(text, first, second):
        return
    is_range = is_dash or _TO.fullmatch(text, start, end) is not None
    if not is_range:
        words = text[max(0, first.start - 14) : first.start].lower().split()
        if _AND.fullmatch(text, start, end) and any(word in _BETWEEN for word in words[-1:]):
            is_range = True
        else:
            return
    if not share_unit(first, second, text, is_dash):
        return
    _set_range(first, second)


def _short_year(text: str, first: Reading, second: Reading) -> bool:
    """Read "2019–23" and "winter of 2019–20" as two years."""
    if first.kind != "date" or (first.date[1] and first.date[1] not in _PERIODS):
        return False
    if not second.is_bare or second.end - second.start != 2:
        return False
    year = first.date[0] // 100 * 100 + int(second.number)
    if year <= first.date[0] or not (date := make_date(second.start, second.end, year)):
        return False
    second.number, second.kind, second.date, second.step, second.other = (
        date.number,
        "date",
        date.date,
        date.step,
        None,
    )
    _set_range(first, second)
    return True


def share_unit(first: Reading, second: Reading, text: str, is_dash: bool) -> bool:
    """Give both ends of a range their common scale and unit; False if they are not of one kind."""
    if "date" in {first.kind, second.kind}:
        return _dates(first, second)
    if {first.kind, second.kind} & {"ordinal"}:
        return False
    if first.unit is None and second.unit is not None:
        first.unit, first.kind = second.unit, second.kind
        if first.scale == 1 and second.scale == 1 and second.other_scale is not None:
            first.other_scale = second.other_scale
    elif second.unit is None and first.unit is not None:
        if not is_dash and first.kind != "money":
            return second.scale == first.scale == 1 and False
        second.unit, second.kind = first.unit, first.kind
    elif first.unit is not None and second.unit is not None and first.unit.base != second.unit.base:
        return False
    if (
        first.scale == 1
        and second.scale > 1
        and first.number * 1 < 1000
        and first.number < second.number * 1000
    ):
        first.scale = second.scale
        if not is_dash:
            first.other_scale = first.unit.factor if first.unit else Decimal(1)
    return True


def _dates(first: Reading, second: Reading) -> bool:
    if first.kind != second.kind:
        return False
    if first.date[0] == 0 and second.date[0] and first.date[1]:
        made = make_date(first.start, first.end, second.date[0], first.date[1], first.date[2])
        if made:
            first.number, first.date = made.number, made.date
    return first.number <= second.number


def _set_range(first: Reading, second: Reading) -> None:
    factors = (first.scale, second.scale, first.unit, second.unit)
    if first.kind == "date" or (factors[0] == factors[1] and factors[2] == factors[3]):
        low, high = sorted((first.number, second.number))
        first.low = second.low = low
        first.high = second.high = high
        return
    one = first.scale * (first.unit.factor if first.unit else 1)
    two = second.scale * (second.unit.factor if second.unit else 1)
    if not one or not two:
        return
    # Ends in their own units, each in that of the other.
    ends = first.number * one, second.number * two
    first.low, first.high = min(ends) / one, max(ends) / one
    second.low, second.high = min(ends) / two, max(ends) / two


def _share_of(text: str, first: Reading, second: Reading) -> Reading | None:
    """Read "one in five" and "9 out of 10" as a share."""
    if not (first.is_bare and second.is_bare) or not 0 < second.start - first.end <= _LONGEST:
        return None
    if not (match := _OUT_OF.fullmatch(text, first.end, second.start)):
        return None
    if not 0 < first.number < second.number <= 1000:
        return None
    if match[0].strip() == "in" and not (first.number == 1 or (first.is_word and second.is_word)):
        return None
    if match[0].strip() in {"von", "sur"} and first.is_word != second.is_word:
        return None
    value = 100 * first.number / second.number
    return Reading(
        first.start, second.end, value, kind="share", unit=_PERCENT, unit_start=second.end,
        is_approximate=first.is_approximate, is_word=first.is_word,
    )  # fmt: skip


def _lists(text: str, found: Sequence[Reading]) -> None:
    """Give the members of "3, 5 and 7 percent" the unit of the last one."""
    for number in range(len(found) - 1, 0, -1):
        last, before = found[number], found[number - 1]
        if last.unit is None or not before.is_bare or last.kind in {"date", "multiple", "ordinal"}:
            continue
        if not 0 < last.start - before.end <= _LONGEST:
            continue
        is_instead = _INSTEAD.fullmatch(text, before.end, last.start)
        is_and = is_instead or _AND.fullmatch(text, before.end, last.start)
        if not is_and and not (_COMMA.fullmatch(text, before.end, last.start) and _is_shared(found, number)):
            continue
        is_money = last.kind == "money" and not is_instead
        if before.low is not None or is_money or _is_restated(text, found, number):
            continue
        before.unit, before.kind, before.unit_start = last.unit, last.kind, before.end
        before.scale, before.is_listed = last.scale, True


def _is_restated(text: str, found: Sequence[Reading], number: int) -> bool:
    """Whether a figure says the one before it in another way: "by 170, or 6%", unlike "5, 6, or 7%"."""
    before = found[number - 1]
    if not _OR.match(text, before.end):
        return False
    return number < 2 or not _COMMA.fullmatch(text, found[number - 2].end, before.start)


def _is_shared(found: Sequence[Reading], number: int) -> bool:
    """Whether a figure has its unit from the next one, so that it is in a list."""
    return found[number].is_listed
