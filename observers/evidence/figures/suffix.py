"""What follows a number: its scale ("million", "Mrd.", "k") and its unit ("€", "TB/s", "per cent")."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from ua_tui.observers.evidence.figures.money import CODES, CURRENCY_SYMBOLS, CURRENCY_WORDS, currency
from ua_tui.observers.evidence.figures.reading import ONE, Reading
from ua_tui.observers.evidence.figures.units import SYMBOLS, WORDS, Unit, per


def _powers(table: Mapping[str, int]) -> dict[str, Decimal]:
    return {name: Decimal((0, (1,), power)) for names, power in table.items() for name in names.split("|")}


_SCALE_SYMBOLS = _powers({
    "k|K|Tsd.|Tsd|tsd.|T€": 3, "M|mn|Mn|MM|mm|Mio|Mio.|Mill.|mio|mio.|mln|mln.|mil.": 6,
    "bn|Bn|BN|B|Mrd|Mrd.|mrd|mrd.|Md|Mds|Md.|Mds.|mrds|bln|bil.": 9, "tn|Tn|TN|T|trn|Bio.|Bio": 12,
})  # fmt: skip
_SCALE_WORDS = _powers({
    "hundred|cientos": 2, "thousand|thousands|tausend|mille|mil|milliers": 3, "lakh|lakhs": 5,
    "million|millions|millionen|millón|millones|millon": 6, "crore|crores": 7,
    "billion|billions|milliard|milliards|milliarde|milliarden|mil millones|thousand million": 9,
    "trillion|trillions|billionen|billones|billón|mille milliards": 12, "trillionen|trillones": 18,
    "quadrillion|quadrillions": 15, "hundred thousand": 5, "hundred million": 8, "hundred billion": 11,
    "thousand billion": 12,
}) | {"dozen": Decimal(12), "dozens": Decimal(12), "dutzend": Decimal(12), "douzaines": Decimal(12)}  # fmt: skip
_LONG_SCALE = {"de": {"billion", "trillion"}, "fr": {"billion", "billions", "trillion", "trillions"}}
_LETTERS = re.compile(r"[^\W\d_]+(?:[’'](?=s\b))?|[%‰$€£¥₹₩₽₺₪₴₦₫฿₱°℃℉″′×٪]")
_SPACES = " \u00a0"
_OF = re.compile(r"[ \u00a0](?:of[ ]|de[ \u00a0]|d['’]|von[ ])?|-(?=[A-Za-z])")
_PER = re.compile(r"[ \u00a0]?/[ \u00a0]?|[ \u00a0](?:per|pro|par|por|je)[ \u00a0]")
_AREA = re.compile(r"[ -](?:sq\.?[ -](?:ft|m|mi)|square[ -]|cubic[ -]|tonnes?|tons?|litres?|barrels?)")
_AND_HALF = re.compile(r"[ \u00a0](?:and a half|et demie?|y medi[oa])(?![^\W_])")
_ATTACHED_ONLY = frozenset({"x", "X"})
_NOT_ALONE = frozenset({"o", "b", "an", "″", "′", "in", "pts", "ch", "PS", "ac", "CV"})
_AMBIGUOUS_METRES = Decimal(1_000_000)
_LONGEST_RATE_TIME = 3_600
"""Seconds of the longest time whose rates have a unit of their own: "910 GWh a year" is written in too many ways."""
_EUROPEAN = frozenset({"de", "fr", "es"})
_CENT = currency("USD", "0.01")


@dataclass(slots=True)
class Suffix:
    """What was read up to `end`; `unit_start` is where the unit begins. `other_scale` is another reading's scale."""

    end: int
    scale: Decimal = ONE
    unit: Unit | None = None
    unit_start: int = 0
    other_scale: Decimal | None = None


def _by_first(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found = defaultdict[str, list[str]](list)
    for name in names:
        if first := _LETTERS.match(name):
            found[first[0]].append(name)
        else:
            found[name[0]].append(name)
    return {first: tuple(sorted(names, key=len, reverse=True)) for first, names in found.items()}


_ALL_SYMBOLS: dict[str, Unit] = (
    SYMBOLS
    | {symbol: currency(code) for symbol, code in CURRENCY_SYMBOLS.items()}
    | {code: currency(code) for code in CODES}
    | {"¢": currency("USD", "0.01"), "ct": currency("EUR", "0.01"), "Ct.": currency("EUR", "0.01")}
)
_ALL_WORDS: dict[str, Unit] = WORDS | CURRENCY_WORDS
_POUND_STERLING = CURRENCY_WORDS["pounds"]
_SYMBOLS_BY_FIRST = _by_first(_ALL_SYMBOLS)
_WORDS_BY_FIRST = _by_first(_ALL_WORDS)
_SCALE_SYMBOLS_BY_FIRST = _by_first(_SCALE_SYMBOLS)
_SCALE_WORDS_BY_FIRST = _by_first(_SCALE_WORDS)


_BY_HOW_MUCH = re.compile(r"\s(?:[0-9]|(?:ein|rund|etwa|gut|knapp|fast|mehr|über|nur|weitere)\b|das )")
"""What follows the German word in "2024 um ein Drittel", which is no micrometre."""


def read_suffix(text: str, start: int, *, is_money: bool, language: str) -> Suffix | None:
    """Read the scale and unit after a number that ends at `start`; None if there are none.

    `is_money` says that a currency stands before the number, so that "m" is a million.
    """
    at = start
    gap = text[at : at + 1]
    if gap in " \u00a0-" and gap:
        at += 1
    if not (match := _LETTERS.match(text, at)):
        return None
    is_attached = at == start
    scale = _scale(text, at, match[0], is_attached, is_money, language)
    if scale is None:
        unit = _unit(text, at, match[0], is_attached)
        if unit is None:
            return None
        if unit[1] is _POUND_STERLING and text[at : unit[0]] in {"pounds", "pound"}:
            # Amounts of money are written with a sign unless they are large.
            unit = unit[0], SYMBOLS["lb"]
        if unit[1] == _CENT and language in _EUROPEAN:
            unit = unit[0], currency("EUR", "0.01")
        if match[0] == "um" and _BY_HOW_MUCH.match(text, unit[0]):
            return None
        found = Suffix(unit[0], unit=unit[1], unit_start=at)
        if is_attached and match[0] == "m" and unit[1].base == "m":
            found.other_scale = _AMBIGUOUS_METRES
        return found
    end, factor = scale
    # A currency may be attached to the scale: "1,2Mrd€", "5 M€".
    after = end if text[end : end + 1] in CURRENCY_SYMBOLS else None
    if after is None and (of := _OF.match(text, end)):
        after = of.end()
    if after is not None and (match := _LETTERS.match(text, after)):
        if further := _scale(text, after, match[0], False, True, language) if len(match[0]) > 3 else None:
            end, factor = further[0], factor * further[1]
            of = _OF.match(text, end)
            after = of.end() if of else end
            match = _LETTERS.match(text, after)
        if (
            match
            and (unit := _unit(text, after, match[0], False))
            and not (is_money and unit[1].kind == "money")
        ):
            return Suffix(unit[0], factor, unit[1], after)
    return Suffix(end, factor, unit_start=end)


def _scale(
    text: str, at: int, first: str, is_attached: bool, is_money: bool, language: str
) -> tuple[int, Decimal] | None:
    if names := _SCALE_SYMBOLS_BY_FIRST.get(first):
        for name in names:
            end = at + len(name)
            if not text.startswith(name, at) or text[end : end + 1].isalnum():
                continue
            # "5 M€" and "3 k€", but not "5 M".
            is_sure = is_money or (is_attached and name in "kKMB") or text[end : end + 1] in CURRENCY_SYMBOLS
            if len(name) == 1 and not is_sure:
                continue
            if name == "mm" and not is_money:
                continue
            if text[end : end + 1] == "/" and name in "kKMBT":
                continue
            return end, _SCALE_SYMBOLS[name]
    if is_money and first == "m" and not text[at + 1 : at + 2].isalnum():
        return at + 1, Decimal(1_000_000)
    if is_attached and first in {"m", "bn"} and _AREA.match(text, at + len(first)):
        return at + len(first), Decimal(1_000_000 if first == "m" else 10**9)
    if is_money and first in {"b", "t"} and is_attached:
        return at + 1, Decimal(10 ** (9 if first == "b" else 12))
    lower = first.lower()
    for name in _SCALE_WORDS_BY_FIRST.get(lower, ()):
        end = at + len(name)
        if text[at:end].lower() == name and not text[end : end + 1].isalnum():
            factor = _SCALE_WORDS[name]
            if name in _LONG_SCALE.get(language, ()):
                factor = Decimal(10**12) if name.startswith("billion") else Decimal(10**18)
            return end, factor
    return None


def _unit(text: str, at: int, first: str, is_attached: bool) -> tuple[int, Unit] | None:
    """The unit that begins at `at`, and where it ends."""
    if (found := _simple_unit(text, at, first, is_attached)) is None:
        return None
    return read_rate(text, *found)


def _simple_unit(text: str, at: int, first: str, is_attached: bool = False) -> tuple[int, Unit] | None:
    """The unit that begins at `at`, without what it is divided by."""
    # "%-points" before "%".
    if first == "%" and (found := _word_unit(text, at, first)):
        return found
    for name in _SYMBOLS_BY_FIRST.get(first, ()):
        end = at + len(name)
        if text.startswith(name, at) and not _continues(text, end, name):
            if text[end : end + 1].isdigit() and _ALL_SYMBOLS[name].kind == "money":
                continue
            if name in _NOT_ALONE or (name in _ATTACHED_ONLY and not is_attached):
                continue
            # "3 × 50 MW" multiplies.
            if _ALL_SYMBOLS[name].kind == "multiple" and text[end : end + 2].strip()[:1].isdigit():
                continue
            return end, _ALL_SYMBOLS[name]
    return _word_unit(text, at, first.lower())


def _word_unit(text: str, at: int, first: str) -> tuple[int, Unit] | None:
    for name in _WORDS_BY_FIRST.get(first, ()):
        end = at + len(name)
        is_same = text[at:end].lower().replace("-", " ") == name.replace("-", " ")
        if is_same and not _continues(text, end, name):
            return end, _ALL_WORDS[name]
    return None


def _continues(text: str, end: int, name: str) -> bool:
    following = text[end : end + 1]
    if not following:
        return False
    last = name[-1]
    if last in "%$€£¥°‰×″′":
        return last in "×°" and following.isalnum()
    return following.isalnum() or following in "²³_"


def read_rate(text: str, end: int, unit: Unit) -> tuple[int, Unit]:
    """The unit, or its rate if "per second", "/kg" or the like follows.

    Money and what is counted per day or year keep their unit, as the next text says "a year" or nothing at all.
    """
    if unit.kind in {"share", "multiple"} or not (match := _PER.match(text, end)):
        return end, unit
    if not (word := _LETTERS.match(text, match.end())):
        return end, unit
    found = _simple_unit(text, match.end(), word[0])
    if found is None or found[1].kind != "measure" or text[found[0] : found[0] + 1].isdigit():
        return end, unit
    end, other = found
    is_plain = unit.kind == "money" or (other.base == "s" and other.factor > _LONGEST_RATE_TIME)
    return end, unit if is_plain else per(unit, other)


def add_half(text: str, reading: Reading) -> None:
    """Add the half of "years and a half", "ans et demi" and "años y medio"."""
    if reading.unit is not None and (match := _AND_HALF.match(text, reading.end)):
        reading.number += Decimal("0.5")
        reading.end = match.end()
