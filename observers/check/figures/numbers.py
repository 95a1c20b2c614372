"""Numbers in digits, whose marks mean different things in different languages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ua_tui.observers.check.figures.figure import Reading

_RUN = re.compile(r"\d{1,3}(?:[.,]\d{3})*[.,]\d+|\d{1,3}(?:[.,]\d{3})+")
_LONGEST = 40
"""Digits and marks of a number; what is longer is a list or an identifier."""
_SPACES = "\u00a0\u202f\u2009 "
_QUOTES = "'’"


@dataclass(frozen=True, slots=True)
class Marks:
    """What the marks in the numbers of a document mean: its decimal mark, and whether that is certain."""

    decimal: str
    is_certain: bool


def marks_of(text: str, decimal: str) -> Marks:
    """Find out the decimal mark of a document from its unambiguous numbers; `decimal` is that of its language or ""."""
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
            return Marks(mark, is_certain=True)
    return Marks(decimal or ".", is_certain=bool(decimal) and not any(votes.values()))


def read_digits(run: str, marks: Marks) -> list[Reading]:
    """The readings of digits with marks, the likeliest first; none if they are an identifier, such as "v10.0"."""
    digits = run
    for space in _SPACES + _QUOTES:
        digits = digits.replace(space, "")
    if len(digits) > _LONGEST or not digits.replace(".", "").replace(",", "").isdecimal():
        return []
    seen = [character for character in digits if character in ".,"]
    if not seen:
        return [_number(digits, "")]
    last = max(digits.rfind("."), digits.rfind(","))
    whole, rest = digits[:last], digits[last + 1 :]
    mark = digits[last]
    if len(set(seen)) == 2:
        groups = whole.replace(mark, "").split("," if mark == "." else ".")
        return [_number("".join(groups), rest)] if _are_groups(groups) and mark not in whole else []
    groups = digits.split(mark)
    if len(seen) > 1:
        if _are_groups(groups) or (
            mark == "," and all(len(each) == 2 for each in groups[1:-1]) and len(rest) == 3
        ):
            return [_number("".join(groups), "")]
        return []
    if not whole:
        return [_number("0", rest)]
    if digits != run or not _are_groups(groups) or whole == "0":
        return [_number(whole, rest)]
    readings = [_number(whole, rest, mark), _number(whole + rest, "", "," if mark == "." else ".")]
    if mark != marks.decimal:
        readings.reverse()
    return readings[:1] if marks.is_certain else readings


def _are_groups(groups: list[str]) -> bool:
    return 1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])


def _number(whole: str, rest: str, decimal: str = "") -> Reading:
    value = float(f"{whole or 0}.{rest or 0}")
    step = 10.0 ** -len(rest)
    if rest:
        return Reading(value, step, step, decimal=decimal)
    zeros = len(whole) - len(whole.rstrip("0")) if whole.strip("0") else 0
    return Reading(value, 1.0, 10.0**zeros, decimal=decimal)
