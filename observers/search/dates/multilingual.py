"""Dates of other languages in English, with the words of `dateparser`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

_LATIN = "en es de fr pt it nl pl sv da nb fi cs sk hu ro hr sl tr vi id ms ca lt lv et"
_SCRIPTS = {
    "CYRILLIC": "ru uk bg sr be mk", "GREEK": "el", "ARABIC": "ar fa ur", "HEBREW": "he", "DEVANAGARI": "hi mr",
    "BENGALI": "bn", "THAI": "th", "HANGUL": "ko", "HIRAGANA": "ja", "KATAKANA": "ja", "CJK": "zh zh-Hant ja",
}  # fmt: skip
_UNSPACED = ("zh", "zh-Hant", "ja", "ko", "th")
# "Listopad" is November in Polish and October in Croatian, where the day before it has a full stop.
_NOT = {"pl": re.compile(r"\d\.\s*[^\W\d_]"), "hr": re.compile(r"\d\s+[^\W\d_]+\s+\d{4}")}
_ZONES = {"utc", "gmt", "cet", "cest"}
_MOST_WORDS = 8
_LETTERS = re.compile(r"[^\W\d_]+")
_OPTIONAL = re.compile(r"\w\?")


def translations(text: str) -> Iterator[tuple[str, str]]:
    """A date in English, once for each language it may be in, with that language's order (`DMY`).

    Languages that do not know all words of the text are left out. The library is loaded when a text is first
    asked for.
    """
    if not 0 < len(words := _bare_words(text)) <= _MOST_WORDS:
        return
    from dateparser.conf import settings  # type: ignore[import-untyped]
    from dateparser.languages.loader import default_loader  # type: ignore[import-untyped]

    for language in _languages_of(text, words):
        locale = default_loader.get_locale(language)
        # The texts come from anywhere, and so may the errors they cause.
        with suppress(Exception):
            english = locale.translate(text, settings=settings)
            periods = locale.info.get("relative-type", {}).get(english, ())
            # "Last week" is a period, which the library takes for a distance.
            if "day" in english or "second" in english or text.lower() not in periods:
                yield english.strip().removesuffix(" year."), locale.info.get("date_order", "")


def _languages_of(text: str, words: set[str]) -> Iterator[str]:
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()}
    for language in next((names for script, names in _SCRIPTS.items() if script in scripts), _LATIN).split():
        is_odd = language in _NOT and _NOT[language].search(text)
        if not is_odd and (language in _UNSPACED or words - _ZONES <= _vocabulary(language)):
            yield language


@cache
def _vocabulary(language: str) -> frozenset[str]:
    from dateparser.languages.loader import default_loader

    info = json.dumps(default_loader.get_locale(language).info, ensure_ascii=False)
    # Patterns leave out what their question marks make optional.
    return frozenset(_bare_words(f"{info} {_OPTIONAL.sub('', info)} {info.replace('?', '')}"))


def _bare_words(text: str) -> set[str]:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return set(_LETTERS.findall("".join(part for part in folded if not unicodedata.combining(part))))
