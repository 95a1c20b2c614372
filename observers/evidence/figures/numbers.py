"""Numbers in digits, as people group them: 1,234.5, 1.234,5, 1 234, 1'234, 1e9, 2 × 10^6, 1½."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from ua_tui.observers.evidence.figures.reading import ONE, ZERO
from ua_tui.observers.evidence.figures.units import CONTEXT

FRACTIONS = {
    "½": Decimal("0.5"), "¼": Decimal("0.25"), "¾": Decimal("0.75"), "⅓": Decimal(1) / 3, "⅔": Decimal(2) / 3,
    "⅕": Decimal("0.2"), "⅖": Decimal("0.4"), "⅗": Decimal("0.6"), "⅘": Decimal("0.8"), "⅙": Decimal(1) / 6,
    "⅛": Decimal("0.125"), "⅜": Decimal("0.375"), "⅝": Decimal("0.625"), "⅞": Decimal("0.875"),
}  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
# Everything is bounded, so that the work at one place does not depend on the length of the text.
_NUMBER = re.compile(
    r"""
    (?P<spaced>[0-9]{1,3}(?:\u00a0[0-9]{3}){1,6}|[0-9]{1,3}(?:\ [0-9]{3}){1,6})(?![0-9])
        (?:[.,](?P<spaced_rest>[0-9]{1,12})(?![0-9]))?
    |(?P<marked>[0-9]{1,3}(?:(?P<mark>[.,'])[0-9]{3})(?:(?P=mark)[0-9]{3}){0,6})(?![0-9])(?!(?P=mark)[0-9])
        (?:(?!(?P=mark))[.,](?P<marked_rest>[0-9]{1,12})(?![0-9]))?
    |(?P<indian>[0-9]{1,2}(?:,[0-9]{2}){1,4},[0-9]{3})(?![0-9,])(?:\.(?P<indian_rest>[0-9]{1,4}))?
    |(?P<plain>[0-9]{1,40})(?![0-9])(?:(?P<point>[.,])(?P<rest>[0-9]{1,30})(?![0-9]))?
    |[.](?P<bare_rest>[0-9]{1,30})(?![0-9])
    """,
    re.VERBOSE,
)
_EXPONENT = re.compile(
    r"(?:[eE](?P<e>[+-]?[0-9]{1,3})(?![\w])|\s?[×x·*]\s?10(?:\^\s?(?P<hat>[-−]?[0-9]{1,3})|(?P<up>[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})))"
)
_POWER = re.compile(r"10(?:\^\s?(?P<hat>[-−]?[0-9]{1,3})|(?P<up>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))")
_FRACTION = re.compile(f"[ \u00a0]?([{''.join(FRACTIONS)}])")
_MIXED = re.compile(r"[ \u00a0-]([1-9])/([2-9]|10|16)(?![0-9/])")
# Marks whose meaning is certain: one digit, two or more than three digits after the only mark, or both marks.
_COMMA_DECIMAL = re.compile(
    r"(?<![0-9.,])(?:[0-9]{1,3}(?:[. ][0-9]{3})+,[0-9]+|[0-9]{1,6},[0-9]{1,2})(?![0-9,]|\.[0-9])"
)
_POINT_DECIMAL = re.compile(
    r"(?<![0-9.,])(?:[0-9]{1,3}(?:[, ][0-9]{3})+\.[0-9]+|[0-9]{1,6}\.[0-9]{1,2})(?![0-9.]|,[0-9])"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in digits that ends at `end`; `other` is its value with the other decimal mark, if that is possible.

    `is_plain` says that it is written with digits only, so that it may be a year.
    """

    end: int
    value: Decimal
    step: Decimal
    other: Decimal | None = None
    is_plain: bool = False
    is_power: bool = False


def decimal_mark(sample: str, *, hint: str) -> str:
    """The decimal mark of a text: "." or "," by its numbers where they are certain, else `hint`."""
    commas = len(_COMMA_DECIMAL.findall(sample))
    points = len(_POINT_DECIMAL.findall(sample))
    if commas > 2 * points:
        return ","
    return "." if points > 2 * commas else hint


def read_number(text: str, start: int, *, mark: str, joins_spaces: bool) -> Number | None:
    """Read the number that begins at `start`; None if there is none.

    `mark` is the text's decimal mark, "" if unknown. `joins_spaces` says that a plain space may group digits.
    """
    if not (match := _NUMBER.match(text, start)):
        return None
    kind = match.lastgroup
    end = match.end()
    other = None
    if (spaced := match["spaced"]) is not None:
        if " " in spaced and not joins_spaces:
            return _plain(text, start, match, spaced[: spaced.index(" ")])
        whole, rest = spaced.replace(" ", "").replace("\u00a0", ""), match["spaced_rest"] or ""
    elif (marked := match["marked"]) is not None:
        whole, rest, other = _grouped(marked, match["mark"], match["marked_rest"], mark)
    elif (indian := match["indian"]) is not None:
        whole, rest = indian.replace(",", ""), match["indian_rest"] or ""
    elif (plain := match["plain"]) is not None:
        whole, rest = plain, match["rest"] or ""
    else:
        whole, rest = "0", match["bare_rest"]
    value, step = _decimal(whole, rest)
    is_plain = kind == "plain"
    return _with_exponent(text, start, Number(end, value, step, other, is_plain))


def _plain(text: str, start: int, match: re.Match[str], whole: str) -> Number:
    value, step = _decimal(whole, "")
    return Number(start + len(whole), value, step, None, True)


def _grouped(marked: str, group: str, rest: str | None, mark: str) -> tuple[str, str, Decimal | None]:
    """The digits before and after the decimal mark, and the other reading of "1.234" or "1,234"."""
    digits = marked.replace(group, "")
    if rest is not None or group == "'" or marked.count(group) > 1:
        return digits, rest or "", None
    first, _, last = marked.partition(group)
    if first == "0" or (len(first) > 1 and first[0] == "0"):
        return first, last, None
    as_fraction = Decimal(f"{first}.{last}")
    if mark == group or (not mark and group == "."):
        return first, last, Decimal(digits)
    return digits, "", as_fraction


def _decimal(whole: str, rest: str) -> tuple[Decimal, Decimal]:
    if rest:
        return Decimal(f"{whole}.{rest}"), Decimal((0, (1,), -len(rest)))
    return Decimal(whole), _step_of(whole)


def _step_of(whole: str) -> Decimal:
    """The last written digit; of a large round number the last one that is not zero."""
    zeros = len(whole) - len(whole.rstrip("0"))
    return Decimal((0, (1,), zeros)) if 2 <= zeros < len(whole) and len(whole) > 3 else ONE


def _with_exponent(text: str, start: int, number: Number) -> Number:
    end = number.end
    following = text[end : end + 1]
    if following in "eE×x·*  \u00a0" and following and (match := _EXPONENT.match(text, end)):
        power = match["e"] or match["hat"] or match["up"]
        factor = Decimal((0, (1,), int(power.translate(_SUPERSCRIPTS))))
        return Number(
            match.end(),
            CONTEXT.multiply(number.value, factor),
            CONTEXT.multiply(number.step, factor),
            is_power=True,
        )
    if number.is_plain and number.value == 10 and (match := _POWER.match(text, start)):
        power = match["hat"] or match["up"]
        return Number(
            match.end(), Decimal((0, (1,), int(power.translate(_SUPERSCRIPTS)))), ZERO, is_power=True
        )
    if number.is_plain and (following in FRACTIONS or following in " \u00a0-"):
        if match := _FRACTION.match(text, end):
            return Number(match.end(), number.value + FRACTIONS[match[1]], ZERO)
        if (match := _MIXED.match(text, end)) and int(match[1]) < int(match[2]):
            return Number(match.end(), number.value + Decimal(match[1]) / Decimal(match[2]), ZERO)
    return number
