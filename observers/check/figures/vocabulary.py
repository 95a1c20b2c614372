"""Loads the data files: units of measure, and the words of each language."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, TypeVar

T = TypeVar("T")
LANGUAGES = ("en", "de", "fr", "es", "it", "pt")
WORD = re.compile(r"[^\W\d_]+|\d+")
YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")
_SHORTEST_BEGINNING = 4
_ENDINGS = ("ing", "ed", "es", "en", "em", "er", "e", "a", "o", "n")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure: `value * factor + offset` is the value in the base of its class."""

    name: str
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Units:
    """All units by their symbols, by their words in lower case, and the currencies before a number."""

    symbols: Mapping[str, Unit]
    words: Mapping[str, Unit]
    before: Mapping[str, Unit]
    scales: Mapping[str, float]
    rates: Mapping[str, str]


@dataclass(frozen=True)
class Vocabulary:
    """The words of a language that matter for figures; stems are those of `stem`, "aument-" is how a word begins.

    `same` has for the stem of a noun the groups of nouns that may count the same, `calculation` the stems that announce
    each kind of calculation.
    """

    language: str
    decimal: str
    common: frozenset[str]
    abbreviations: frozenset[str]
    numbers: Mapping[str, float]
    scales: Mapping[str, float]
    fractions: Mapping[str, float]
    multiples: Mapping[str, float]
    months: Mapping[str, int]
    quarters: Mapping[str, int]
    bounds: re.Pattern[str]
    bounding: frozenset[str]
    direction: Mapping[str, int]
    phrasal: frozenset[str]
    levels: frozenset[str]
    degrees: frozenset[str]
    rate_words: Mapping[str, str]
    rate_units: Mapping[str, str]
    rates: re.Pattern[str]
    compared: frozenset[str]
    dates: re.Pattern[str]
    dated: re.Pattern[str]
    counting: frozenset[str]
    words: re.Pattern[str] | None
    adjectives: frozenset[str]
    irregular: frozenset[str]
    before_nouns: frozenset[str]
    same: Mapping[str, frozenset[int]]
    calculation: Mapping[str, frozenset[str]]
    joining: frozenset[str]
    past: frozenset[str]
    present: frozenset[str]
    negations: frozenset[str]
    itself: re.Pattern[str]
    identifiers: frozenset[str]


def form_of(table: Mapping[str, T], word: str) -> T | None:
    """What a table has for a word, or for a beginning of it, such as "aument-"."""
    if word in table:
        return table[word]
    beginnings = (f"{word[:length]}-" for length in range(len(word), _SHORTEST_BEGINNING - 1, -1))
    return next((table[each] for each in beginnings if each in table), None)


def singular(word: str) -> str:
    """A word in lower case without a plural ending."""
    word = word.casefold()
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = f"{word[:-3]}y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word


def stem(word: str) -> str:
    """The beginning of a word that its forms have in common: its first six letters without a plural ending."""
    return singular(word)[:6]


@lru_cache(maxsize=1 << 16)
def root(word: str) -> str:
    """A looser stem, for comparing what texts speak of: without the endings of verbs and cases either."""
    word = singular(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)][:6]
    return word[:6]


def roots(text: str, common: frozenset[str]) -> list[str]:
    """The roots of the words of a text without common words, and the digits in it."""
    return [root(word) for word in WORD.findall(text.casefold()) if word not in common]


@cache
def units() -> Units:
    """Load the units; the same object each time."""
    data = _read("units.toml")
    forms: dict[str, dict[str, Unit]] = {"symbols": {}, "words": {}}
    for entry in (*data["currency"], *data["unit"]):
        for kind, form, unit in _forms(entry, data):
            forms[kind].setdefault(form, unit)
    before = {symbol: unit for symbol, unit in forms["symbols"].items() if unit.name.isupper()}
    return Units(forms["symbols"], forms["words"], before, _values(data["scales"]), _by_word(data["rates"]))


@cache
def vocabulary(language: str) -> Vocabulary:
    """Load the words of a language; the same object each time."""
    data = _read(f"words.{language}.toml")
    fields: dict[str, Any] = {name: _values(table) for name, table in data["values"].items()}
    fields |= {name: frozenset(words.split()) for name, words in data["sets"].items()}
    months, numbers, rate = fields["months"], fields["numbers"], data["rate"]
    same: dict[str, set[int]] = {}
    for number, group in enumerate(data["counted"]["same"]):
        for noun in group.split():
            same.setdefault(stem(noun), set()).add(number)
    announcing = data["calculation"].items()
    bounds = "|".join(f"(?P<{name}>{_either(words)})" for name, words in data["bounds"].items())
    per = _either(rate["per"])
    counting = [word for name in ("numbers", "scales", "fractions", "multiples") for word in fields[name]]
    return Vocabulary(
        language=language,
        decimal=data["decimal"],
        **fields,
        bounds=re.compile(rf"(?<!\w)(?:{bounds})\s?(?:the|an?|US|its)?[\s$€£]*\Z", re.I),
        bounding=frozenset(" ".join(data["bounds"].values()).replace("|", " ").split()),
        rate_words=_by_word(rate["words"]),
        rate_units=_by_word(rate["units"]),
        rates=re.compile(rf"(?:(?<!\w)(?:{per})[ \u00a0]|/[ \u00a0]?)([\d,.\u00a0 ]*)([^\W\d_][\w-]*)"),
        dates=_dates(data, months, fields["quarters"], is_english=language == "en"),
        dated=re.compile(
            rf"\d{{4}}-\d\d-|\d\.\s?\d{{1,2}}\.|[QT][1-4]\b|{data['quarter']}|\b(?:{'|'.join(sorted(months, key=len))})"
        ),
        words=_number_words(counting, fields["scales"], fields["fractions"]) if numbers else None,
        counting=frozenset(counting),
        adjectives=frozenset(stem(word) for word in data["counted"]["adjectives"].split()),
        same={noun: frozenset(groups) for noun, groups in same.items()},
        calculation={name: frozenset(map(root, words.split())) for name, words in announcing},
        itself=re.compile(rf"(?<!\w)(?:{_either(data['itself']['words'])})(?!\w)", re.I),
    )


def language_of(text: str) -> str:
    """The language of a text by its common words; "" if it has too few of any."""
    found = Counter(WORD.findall(text[:6_000].casefold()))
    counts = sorted(
        (sum(found[word] for word in vocabulary(each).common if word in found), each) for each in LANGUAGES
    )
    (second, _), (most, name) = counts[-2], counts[-1]
    # In texts of each language, its own common words are more than twice as frequent as those of another.
    return name if most >= 3 and most > 1.3 * second else ""


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _forms(entry: dict[str, Any], data: dict[str, Any]) -> Iterator[tuple[str, str, Unit]]:
    """The ways in which a unit is written, as symbols or as words, with and without prefixes."""
    factor = entry.get("factor", 1.0)
    plain = Unit(entry["class"], factor, entry.get("offset", 0.0))
    for word in filter(None, entry.get("words", "").split("|")):
        yield "words", word, plain
        if "prefixes" in entry:
            for name, value in data["prefix_words"].items():
                yield "words", name + word, Unit(plain.name, factor * value)
    for symbol in filter(None, entry.get("symbols", "").split("|")):
        if entry.get("bare", True):
            yield "symbols", symbol, plain
        for prefix in entry.get("prefixes", "").split():
            yield "symbols", prefix + symbol, Unit(plain.name, factor * data["prefixes"][prefix])


def _by_word(table: Mapping[str, str]) -> dict[str, str]:
    """For each of the words that a table has for a meaning that meaning."""
    return {word: meaning for meaning, words in table.items() for word in words.split("|")}


def _values(table: Mapping[str, str]) -> dict[str, Any]:
    """For each of the words that a table has for a number that number."""
    return {
        word: json.loads(value) for value, words in table.items() for word in words.replace("|", " ").split()
    }


def _either(words: str) -> str:
    return "|".join(re.escape(word) for word in sorted(words.split("|"), key=len, reverse=True))


def _dates(
    data: dict[str, Any], months: Mapping[str, int], quarters: Mapping[str, int], *, is_english: bool
) -> re.Pattern[str]:
    """The forms of dates: 12 March 2024, March 2024, 2024-03-12, 12.03.2024, Q3 2024; in English March 12, 2024."""
    month = "|".join(sorted(months, key=len, reverse=True))
    ordinal, of = r"(?:st|nd|rd|th|er|\.|º)?", r"(?:de |del |of )?"
    return re.compile(
        rf"(?<![\w.,/-])(?P<d1>\d{{1,2}}){ordinal}(?:[ ]?(?:[–-]|and|to|und|bis|et|au|y|al)[ ]?"
        rf"(?P<d2>\d{{1,2}}){ordinal})?[ \u00a0-]{of}(?P<m1>{month})\b\.?(?:,?[ \u00a0-]{of}(?P<y1>\d{{4}})\b)?"
        # "Juli 21 600" is no date: only English has the month first.
        rf"|\b(?P<m2>{month if is_english else '(?!)'})\.? (?P<d3>\d{{1,2}})(?:st|nd|rd|th)?"
        rf"(?:[ ]?(?:[–-]|and|to)[ ]?(?P<d4>\d{{1,2}}))?(?![\w%:]|[.,]\d)(?:,? (?P<y2>\d{{4}})\b)?"
        rf"|\b(?P<m3>{month})\.?,? {of}(?P<y3>\d{{4}})\b"
        r"|(?<![\w.-])(?P<y4>\d{4})-(?P<m4>[01]\d)-(?P<d5>[0-3]\d)(?=T\d|(?![\w-]))"
        r"|(?<![\w.])(?P<d6>\d{1,2})\.[ ]?(?P<m5>\d{1,2})\.[ ]?(?P<y5>\d{4})(?!\d)"
        r"|\b[QT](?P<q1>[1-4])(?:[ /\u00a0-]|(?= ))(?:of |de )?(?:FY)?(?P<y6>\d{4})\b"
        r"|\b(?P<y7>\d{4})[ -]?[QT](?P<q2>[1-4])\b"
        rf"|\b(?P<q3>{'|'.join(quarters)})[nrs]?[ -](?:fiscal )?{data['quarter']}"
        rf"(?:[ ](?:of )?{of}(?P<y8>\d{{4}})\b)?"
    )


def _number_words(words: Iterable[str], scales: Iterable[str], fractions: Iterable[str]) -> re.Pattern[str]:
    either, part = ("|".join(sorted(each, key=len, reverse=True)) for each in (words, fractions))
    scaled = "|".join(f"(?<={scale})" for scale in scales)
    return re.compile(
        rf"(?<![\w-])(?:{either})(?:(?:[- ]|(?:{scaled})[- ]and[- ]| (?:of )?an? )(?:{either})"
        rf"|[- ]and[- ](?:an? )?(?:{part}))*(?!\w)",
        re.I,
    )
