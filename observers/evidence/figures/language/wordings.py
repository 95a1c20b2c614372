"""Figures in words with what belongs to them: "nine percent", "two thirds", "half a million", "twice"."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from ua_tui.observers.evidence.figures.language.languages import word_set
from ua_tui.observers.evidence.figures.language.words import DENOMINATORS, MULTIPLES, read_words
from ua_tui.observers.evidence.figures.reading import Reading
from ua_tui.observers.evidence.figures.suffix import Suffix, add_half, read_suffix
from ua_tui.observers.evidence.figures.units import Unit

_WORD = re.compile(r"[^\W\d_]+")
_BEFORE = re.compile(r"([^\W\d_]+)[ \u00a0-]\Z")
_ARTICLES = word_set("a an one ein eine einem einen einer un une una le la el un d'un")
_PERCENT = Unit("%", kind="share")
_TIMES = Unit("×", kind="multiple")
_ALONE = frozenset(["hälfte", "moitié", "mitad"])
_PART = re.compile(
    r"(?=[ \u00a0](?:of|the|as|fewer|less|more|smaller|larger|lower|higher|below|above|to|in|and|or|d[eu]s?|d'|der|des"
    r"|aller|von|le|la|los|las|del|mehr|weniger|höher|niedriger|teurer|über|unter|más"
    r"|menos|plus|moins)(?![^\W_])|[.,;:)!?\]]|\s*\Z|[ \u00a0][–—])"
)
_OF = re.compile(r"(?=[ \u00a0](?:of|der|des|aller|von|d[eu]s?|de|del)(?![^\W_])|[ ]d')")
_SCALE_NAMES = word_set("million billion milliarde milliard millón dozen dutzend hundred thousand")
_NUMBERS = {"million": 6, "billion": 9, "milliarde": 9, "milliard": 9, "millón": 6}
_HALF_SCALE = re.compile(r"[ \u00a0]an?[ \u00a0](?=million|billion|trillion|dozen|thousand|hundred)")
_SCALES = {
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
    "thousand": 1000,
    "hundred": 100,
}
_DOUBLE = re.compile(r"[ \u00a0](?:the|that|its|their|what|this|last|el|la|le|les)(?![^\W_])")
_AND_HALF = re.compile(r"[ \u00a0-]and[ \u00a0-]an?[ \u00a0-](half|quarter)(?![^\W_])")
_HALF_UNIT = re.compile(r"[ \u00a0]an?(?=[ \u00a0])")
_EVERY = re.compile(r"[ \u00a0](?:in|out of|of every|von|sur|de cada|in every)[ \u00a0]")


@dataclass(frozen=True, slots=True)
class Wording:
    """What was read: where to look next, the figure if there is one, and whether it replaces the figure before."""

    end: int
    reading: Reading | None = None
    replaces: bool = False


def read_wording(text: str, start: int, active: Collection[str], before: Reading | None) -> Wording:
    """Read the figure at a word that may begin one; `before` is the last figure, `active` are the languages."""
    word = _WORD.match(text, start)
    if word is None:
        return Wording(start + 1)
    name = word[0].lower()
    language = next(iter(active), "")
    if name in MULTIPLES:
        return Wording(
            word.end(),
            Reading(
                start,
                word.end(),
                Decimal(MULTIPLES[name]),
                kind="multiple",
                unit=_TIMES,
                unit_start=word.end(),
                is_word=True,
            ),
        )
    if name in {"double", "triple", "doble"}:
        return _double(text, start, word.end(), name)
    if name in DENOMINATORS and not (name in {"quarts", "quart"} and "en" in active):
        part = _part(text, start, word, name, before)
        if part.reading or name not in _NUMBERS:
            return part
    if name in _SCALE_NAMES:
        return _scale(text, start, word.end(), name, language)
    if name in {"zero", "null"} or (found := read_words(text, start, active)) is None:
        return Wording(word.end())
    return _number(text, start, name, found, active)


def _number(
    text: str, start: int, name: str, found: tuple[int, Decimal, bool], active: Collection[str]
) -> Wording:
    """Read what belongs to a number in words."""
    end, value, may_be_article = found
    if match := _AND_HALF.match(text, end):
        value += Decimal("0.5") if match[1] == "half" else Decimal("0.25")
        end = match.end()
    suffix = read_suffix(text, end, is_money=False, language=next(iter(active), ""))
    if suffix and (text[end : end + 1].isalpha() or _is_letter(text, suffix)):
        suffix = None
    if may_be_article:
        if suffix is None:
            if not (_EVERY.match(text, end) and _number_follows(text, end, active)):
                return Wording(end)
        elif name not in {"one", "uno"} and not _is_measured(suffix.unit, suffix.scale):
            return Wording(end)
    reading = Reading(start, end, value, kind="number", is_word=True)
    if suffix:
        reading.end, reading.scale = suffix.end, suffix.scale
        reading.unit, reading.unit_start = suffix.unit, suffix.unit_start
        if suffix.unit:
            reading.kind = suffix.unit.kind
    add_half(text, reading)
    return Wording(reading.end, reading)


def _is_letter(text: str, suffix: Suffix) -> bool:
    """Whether a unit is a single letter, which after a word is no unit."""
    return (
        suffix.unit is not None and suffix.unit_start + 1 == suffix.end and text[suffix.unit_start].isalpha()
    )


def _is_measured(unit: Unit | None, scale: Decimal) -> bool:
    """Whether an article before a unit counts: "ein Prozent", "une million", but not "un an" or "une fois"."""
    return scale > 1 or (unit is not None and unit.kind == "share")


def _number_follows(text: str, end: int, active: Collection[str]) -> bool:
    match = _EVERY.match(text, end)
    if match is None:
        return False
    if text[match.end() : match.end() + 1].isdigit():
        return True
    found = read_words(text, match.end(), active)
    return found is not None and not found[2]


def _double(text: str, start: int, end: int, name: str) -> Wording:
    before = _BEFORE.search(text, max(0, start - 12), start)
    is_romance = before is not None and before[1].lower() in {"le", "el", "du", "al", "del"}
    is_more = text[max(0, start - 10) : start].lower().endswith("than ")
    if not (is_romance or is_more or _DOUBLE.match(text, end)):
        return Wording(end)
    value = Decimal(3 if name == "triple" else 2)
    return Wording(
        end, Reading(start, end, value, kind="multiple", unit=_TIMES, unit_start=end, is_word=True)
    )


def _part(text: str, start: int, word: re.Match[str], name: str, before: Reading | None) -> Wording:
    """Read "a third", "two thirds", "half of", "die Hälfte"."""
    end = word.end()
    denominator = DENOMINATORS[name]
    if (
        name == "half"
        and (match := _HALF_SCALE.match(text, end))
        and (scale := _WORD.match(text, match.end()))
    ) and (factor := _SCALES.get(scale[0].lower())):
        reading = Reading(start, scale.end(), Decimal(factor) / 2, is_word=True)
        return Wording(scale.end(), reading)
    if name == "half" and (match := _HALF_UNIT.match(text, end)):
        suffix = read_suffix(text, match.end(), is_money=False, language="en")
        if suffix and suffix.unit and not _is_letter(text, suffix):
            reading = Reading(
                start, suffix.end, Decimal("0.5"), kind=suffix.unit.kind, scale=suffix.scale, unit=suffix.unit,
                unit_start=suffix.unit_start, is_word=True,
            )  # fmt: skip
            return Wording(suffix.end, reading)
    if (
        before is not None
        and before.is_word
        and before.end == start - 1
        and before.is_bare
        and 0 < before.number < denominator
        # "Two quarters" are half a year.
        and not (denominator == 4 and before.number == 2)
    ):
        reading = _share(before.start, end, before.number, denominator)
        return Wording(end, reading, replaces=True)
    article = _BEFORE.search(text, max(0, start - 8), start)
    if name in _ALONE:
        return Wording(end, _share(start, end, Decimal(1), denominator))
    if (
        article
        and article[1].lower() in _ARTICLES
        and (_PART.match(text, end) if name != "half" else _OF.match(text, end))
    ):
        if name in {"third", "quarter", "fifth", "sixth", "eighth", "tenth"} and article[1].lower() not in {
            "a",
            "one",
        }:
            return Wording(end)
        return Wording(end, _share(article.start(), end, Decimal(1), denominator))
    if name == "half" and (
        _OF.match(text, end) or re.compile(r"[ ](?:the|its|their|all)[ ]").match(text, end)
    ):
        if article and article[1].lower() in {
            "first",
            "second",
            "other",
            "latter",
            "last",
            "back",
            "top",
            "bottom",
            "third",
        }:
            return Wording(end)
        return Wording(end, _share(start, end, Decimal(1), denominator))
    return Wording(end)


def _share(start: int, end: int, number: Decimal, denominator: int) -> Reading:
    return Reading(
        start, end, 100 * number / denominator, kind="share", unit=_PERCENT, unit_start=end, is_word=True
    )


def _scale(text: str, start: int, end: int, name: str, language: str) -> Wording:
    """Read "a million", "a hundred" and "a dozen"."""
    article = _BEFORE.search(text, max(0, start - 8), start)
    if not article or article[1].lower() not in {
        "a",
        "one",
        "ein",
        "eine",
        "einer",
        "einem",
        "un",
        "une",
        "una",
    }:
        return Wording(end)
    suffix = read_suffix(
        f"{text[article.start() : end + 40]}",
        article.end() - article.start() - 1,
        is_money=False,
        language=language,
    )
    if suffix is None or suffix.scale == 1:
        return Wording(end)
    at = article.start()
    reading = Reading(
        at,
        at + suffix.end,
        Decimal(1),
        scale=suffix.scale,
        unit=suffix.unit,
        unit_start=at + suffix.unit_start,
        is_word=True,
    )
    if suffix.unit:
        reading.kind = suffix.unit.kind
    return Wording(reading.end, reading)
