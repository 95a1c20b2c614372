"""The unit that a table's header gives for the numbers below it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from ua_tui.observers.evidence.figures.money import CURRENCY_SYMBOLS
from ua_tui.observers.evidence.figures.reading import ONE, Reading
from ua_tui.observers.evidence.figures.suffix import read_suffix
from ua_tui.observers.evidence.figures.units import Unit

_LONGEST = 200
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,40})[)\]]")
_AFTER_IN = re.compile(r"(?:^|[\s,])(?:in|en)\s+([^()\[\],;]{1,40})$", re.IGNORECASE)
_AFTER_COMMA = re.compile(r"[,:/]\s*([^()\[\],;:]{1,30})$")
_LEADING = re.compile(r"^(?:in|en|as|of|unit:?|einheit:?)\s+", re.IGNORECASE)
_LAST = {"percent", "prozent", "pct", "pct.", "kg", "km", "cm", "mm", "ml", "lb", "lbs"}
_SYMBOL = re.compile(r"[kMGTP]?(?:Wh?|Hz|B|eV|Pa|EUR|USD|GBP|CHF|FLOPS|[Bb]it/s|B/s)|°[CF]")
"""Units that are recognised without brackets at the end of a header; a letter alone is none."""
_MONEY_FIRST = re.compile(r"^([$€£¥₹₩]|US\$|[A-Z]{3})\s?(?:in\s)?(.*)$")


@dataclass(frozen=True, slots=True)
class HeaderUnit:
    """A scale and a unit for numbers that have none."""

    scale: Decimal = ONE
    unit: Unit | None = None

    def apply(self, reading: Reading) -> None:
        """Give a number the unit."""
        reading.scale, reading.unit = self.scale, self.unit
        if self.unit:
            reading.kind = self.unit.kind
        reading.unit_start = reading.end


def header_unit(text: str) -> str:
    """The unit in the text of a header, such as "$m" of "Revenue ($m)"; "" if there is none.

    `find_figures(cell, unit=header_unit(header))` reads the cells below it.
    """
    text = " ".join(text[:_LONGEST].split())
    candidates = [match[1] for match in _IN_BRACKETS.finditer(text)][::-1]
    bare = _IN_BRACKETS.sub("", text).strip()
    for pattern in (_AFTER_IN, _AFTER_COMMA):
        if match := pattern.search(bare):
            candidates.append(match[1])
    words = bare.split()
    if words:
        last = words[-1]
        if last[0] in "%$€£" or last.lower() in _LAST or (last[1:] and _SYMBOL.fullmatch(last)):
            candidates.append(last)
        if words[0][0] in "%$€£":
            candidates.append(words[0])
    candidates += [part for each in candidates for part in each.split(",")[1:]]
    if bare and _may_stand_alone(bare):
        return bare
    for candidate in (_LEADING.sub("", each.strip()).strip() for each in candidates):
        if candidate and read_header_unit(candidate):
            return candidate
    return ""


def _may_stand_alone(text: str) -> bool:
    """Whether a header is nothing but a unit; "Year" and "Min" are none."""
    found = read_header_unit(text) if len(text) < 40 else None
    if found is None:
        return False
    return (
        found.unit is None or not (found.unit.base == "s" or found.unit.kind == "multiple") or found.scale > 1
    )


@lru_cache(maxsize=1024)
def read_header_unit(written: str) -> HeaderUnit | None:
    """Read what `header_unit` gave; None if it is no unit."""
    written = (
        _LEADING.sub("", written.strip())
        .strip()
        .replace("'000s", "thousand")
        .replace("'000", "thousand")
        .replace("000s", "thousand")
    )
    if not written:
        return None
    if (match := _MONEY_FIRST.match(written)) and (money := _whole(match[1], False)) and money.unit:
        if not match[2]:
            return money
        rest = _whole(match[2], True)
        if rest and (rest.unit is None or rest.unit.kind == "money"):
            return HeaderUnit(rest.scale, money.unit)
    return _whole(written, False)


def _whole(written: str, is_money: bool) -> HeaderUnit | None:
    """The scale and unit if they are all of the text."""
    for language in ("", "de"):
        suffix = read_suffix(
            f"1 {written}", 1, is_money=is_money or written in CURRENCY_SYMBOLS, language=language
        )
        if suffix and suffix.end == len(written) + 2:
            return HeaderUnit(suffix.scale, suffix.unit)
    suffix = read_suffix(f"1{written}", 1, is_money=is_money, language="")
    if suffix and suffix.end == len(written) + 1:
        return HeaderUnit(suffix.scale, suffix.unit)
    return None
