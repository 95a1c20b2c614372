"""Tells in which language a text is, by its most common words and its script."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["language_of"]

_COMMON = {
    "English": "the of and to in is that for it with was are be this by from have which not but they",
    "German": "der die das und ist nicht ein eine mit von den zu auf für sich dem des im auch wir",
    "French": "le la les des et est une du dans pour que qui pas sur avec nous vous au ce sont",
    "Spanish": "el los las que del una por con para es más como pero su lo se no al son está",
    "Italian": "il che di gli della per non una sono con è del nel anche più questo alla dei",
    "Portuguese": "o os que não uma para com do da em mais dos como são foi ao pelo das",
    "Dutch": "de het een en van is niet dat op te voor met zijn aan er ook wij",
}
_WORDS: Mapping[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in _COMMON.items()}
_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "Chinese": re.compile("[\u4e00-\u9fff]"),
    "Japanese": re.compile("[\u3041-\u30ff]"),
    "Korean": re.compile("[\uac00-\ud7af]"),
    "Cyrillic": re.compile("[\u0400-\u04ff]"),
    "Greek": re.compile("[\u0370-\u03ff]"),
    "Arabic": re.compile("[\u0600-\u06ff]"),
    "Hebrew": re.compile("[\u0590-\u05ff]"),
}
_LONGEST = 4_000
_FEWEST = 2


def language_of(text: str) -> str:
    """Return the language of a text, or its script if it is not Latin; empty if it is too short to tell."""
    text = text[:_LONGEST]
    letters = sum(map(str.isalpha, text))
    for name in ("Japanese", *_SCRIPTS):
        share = 0.1 if name == "Japanese" else 0.4
        if letters and len(_SCRIPTS[name].findall(text)) > share * letters:
            return name
    words = re.findall(r"[^\W\d_]+", text.casefold())
    counts = sorted(
        ((sum(word in common for word in words), name) for name, common in _WORDS.items()), reverse=True
    )
    (most, name), (second, _) = counts[0], counts[1]
    return name if most >= _FEWEST and most > 1.3 * second else ""
