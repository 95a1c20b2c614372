"""The scale and the unit after a number, and those that the heading of a table's column names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from ua_tui.observers.check.figures.vocabulary import LANGUAGES, Unit, Vocabulary, units, vocabulary

SIGNS = "%‰°€£$¥₹¢"
"""Units that may stand directly before or behind digits."""
_NEXT = re.compile(r"[ \u00a0\u202f\u2009-]?(?:(?:d['’]|de )(?=[^\W\d_]))?([^\s,;:()!?\"“”|\[\]]+)")
_GLUED = re.compile(r"(k|M|Mrd|Md|m|bn)([€$£])")
_HEADING = re.compile(r"\A|[(\[]|,|\bin\b|\ben\b|(?=[%€£$])", re.I)
CURRENCY = r"(?:US|U\.S\.|CA|AU|NZ|HK|NT|MX|CN|[ACSR])?[$¥]|[€£₹₩₽₺¢]|[A-Z]{3}"
"""A currency before a number."""
_CURRENCY = re.compile(rf"\s*({CURRENCY}(?![^\W\d_]))\s*")
_LONGEST_PHRASE = 3


@dataclass(frozen=True, slots=True)
class Suffix:
    """What stands behind a number: its scale, its unit, and where they end."""

    scale: float
    unit: Unit | None
    end: int

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a scale nor a unit."""
        return self.unit is None and self.scale == 1.0


def read_suffix(text: str, end: int, words: Vocabulary, *, is_money: bool = False) -> Suffix:
    """Read the scale and the unit behind a number that ends at `end`.

    `is_money` says that a currency is before it, so that "m" is a million.
    """
    known, scale, unit = units(), 1.0, None
    while unit is None and (match := _NEXT.match(text, end)):
        word, start = match[1].rstrip(".'’"), match.start(1)
        is_attached = start == end
        if word[:1] in SIGNS and word not in known.symbols:
            word = word[:1]
        is_short = word in known.scales and (is_attached or is_money or len(word) > 1)
        if is_short and (word != "m" or is_money):
            scale, end = known.scales[word], start + len(word)
            end += text[end : end + 2] == ". "
        elif more := _read_scale(match, words):
            scale, end = scale * more[0], more[1]
        elif (found := _read_unit(text, start, match[1], word, words)) is not None:
            unit, end = found
        elif glued := _GLUED.match(word):
            scale, unit, end = known.scales[glued[1]], known.before[glued[2]], start + glued.end()
        else:
            break
    return Suffix(scale, unit, end)


_THOUSANDS = re.compile(r"(?:1[.,\u00a0\u202f ]?)?000(?![\d.,])\s?")


def read_header(header: str, words: Vocabulary) -> Suffix:
    """The scale and the unit that a heading names in brackets, behind "in" or as a sign; empty if it names none."""
    named: Suffix | None = None
    for place in _HEADING.finditer(header):
        symbol = _CURRENCY.match(header, place.end())
        symbol = symbol if symbol and symbol[1] in units().before else None
        start = symbol.end() if symbol else place.end()
        start = len(header) - len(header[start:].lstrip())
        thousands = _THOUSANDS.match(header, start)
        end = thousands.end() if thousands else start
        found = read_suffix(header, end, words, is_money=symbol is not None)
        if thousands:
            found = replace(found, scale=found.scale * 1e3)
        unit = units().before[symbol[1]] if symbol else found.unit
        is_word = place.end() == 0 and not symbol and found.scale == 1.0
        if (unit is not None or found.scale != 1.0) and not (is_word and unit and unit.name != "%"):
            if named is not None and unit is not None:
                break
            named = Suffix(found.scale, named.unit if named else unit, 0)
            if found.scale != 1.0:
                # "(US dollars in millions)" has both.
                break
    return named or Suffix(1.0, None, 0)


def _read_scale(match: re.Match[str], words: Vocabulary) -> tuple[float, int] | None:
    """The scale word at a match, of the text's language or else of another one."""
    word = match[1].casefold()
    for form in (word, word.rstrip("."), word.split("-", 1)[0]):
        if size := words.scales.get(form) or _all_scales().get(form):
            return size, match.start(1) + len(form)
    return None


def _read_unit(text: str, start: int, full: str, word: str, words: Vocabulary) -> tuple[Unit, int] | None:
    """The unit at a place, the longest that fits."""
    known = units()
    parts = text[start : start + 48].split(" ", _LONGEST_PHRASE)
    for count in range(min(len(parts), _LONGEST_PHRASE), 1, -1):
        phrase = " ".join(parts[:count]).rstrip(".,;:)!?")
        if unit := known.words.get(phrase.casefold()):
            return unit, start + len(phrase)
    dashed = word.split("-")
    for form in (
        full.rstrip(","),
        word,
        word.split("/", 1)[0],
        "-".join(dashed[:2]),
        dashed[0],
        word[:2],
        word[:1],
    ):
        is_cut = word[len(form) : len(form) + 1].isalnum()
        if not form or is_cut or form in words.common:
            continue
        unit = known.symbols.get(form) or (known.words.get(form.casefold()) if len(form) > 1 else None)
        if unit is not None:
            return unit, start + len(form)
    return None


@cache
def _all_scales() -> dict[str, float]:
    """The scales of all languages: a text may quote another one, or be too short to tell its own."""
    found: dict[str, float] = {}
    for language in LANGUAGES:
        found = {**vocabulary(language).scales, **found}
    # "250 miles" are thousands in Spanish only.
    return {word: scale for word, scale in found.items() if word not in units().words}
