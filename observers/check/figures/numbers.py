"""Numbers in digits, whose marks mean different things in different languages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ua_tui.observers.check.figures.figure import Reading
from ua_tui.observers.check.figures.vocabulary import Vocabulary, language_of, vocabulary

_RUN = re.compile(r"\d{1,3}(?:[.,]\d{3})*[.,]\d+|\d{1,3}(?:[.,]\d{3})+")
_LONGEST = 40
"""Digits and marks of a number; what is longer is a list or an identifier."""
_BETWEEN = dict.fromkeys(map(ord, "\u00a0\u202f\u2009 '’"))
"""What may stand between groups of digits, as a table for `str.translate`."""


@dataclass(frozen=True)
class Style:
    """How a document writes figures: the words of its language, its decimal mark, and whether that is certain."""

    words: Vocabulary
    decimal: str
    is_certain: bool


def style_of(text: str) -> Style:
    """Find out how a document writes figures; its decimal mark from its unambiguous numbers, else from its language."""
    language = language_of(text)
    words = vocabulary(language or "en")
    decimal = words.decimal if language else ""
    votes = {".": 0, ",": 0}
    for run in _RUN.findall(text[:60_000])[:400]:
        last = max(run.rfind("."), run.rfind(","))
        mark, other = run[last], "," if run[last] == "." else "."
        if run.count(mark) > 1 and run.count(other) == 0:
            votes[other] += 1
        elif other in run or len(run) - last - 1 != 3 or run.startswith("0"):
            votes[mark] += 1
    for mark, other in ((".", ","), (",", ".")):
        # One odd number, such as a version or a list, does not decide against the language.
        if votes[mark] > 3 * votes[other] and (votes[mark] > 1 or decimal in ("", mark)):
            return Style(words, mark, is_certain=True)
    return Style(words, decimal or ".", is_certain=bool(decimal) and not any(votes.values()))


def read_digits(run: str, style: Style) -> list[Reading]:
    """The readings of digits with marks, the likeliest first; none if they are an identifier, such as "v10.0"."""
    digits = run.translate(_BETWEEN)
    if len(digits) > _LONGEST or not digits.replace(".", "").replace(",", "").isdecimal():
        return []
    mark, other = sorted(".,", key=digits.rfind, reverse=True)
    whole, found, rest = digits.rpartition(mark)
    if not found:
        return [_number(digits, "")]
    if other in whole:
        is_number = mark not in whole and _are_groups(whole.split(other))
        return [_number(whole.replace(other, ""), rest)] if is_number else []
    groups = digits.split(mark)
    if mark in whole:
        is_indian = mark == "," and all(len(each) == 2 for each in groups[1:-1]) and len(rest) == 3
        return [_number("".join(groups), "")] if is_indian or _are_groups(groups) else []
    if digits != run or whole == "0" or not _are_groups(groups):
        return [_number(whole, rest)]
    readings = [_number(whole, rest, mark), _number(whole + rest, "", other)]
    if mark != style.decimal:
        readings.reverse()
    return readings[:1] if style.is_certain else readings


def _are_groups(groups: list[str]) -> bool:
    return 1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])


def _number(whole: str, rest: str, decimal: str = "") -> Reading:
    value = float(f"{whole or 0}.{rest or 0}")
    step = 10.0 ** -len(rest)
    if rest:
        return Reading(value, step, step, decimal=decimal)
    zeros = len(whole) - len(whole.rstrip("0")) if whole.strip("0") else 0
    return Reading(value, 1.0, 10.0**zeros, decimal=decimal)
