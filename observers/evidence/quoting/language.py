"""Tells in which language a text is, by its most common words and its script."""

from __future__ import annotations

import re
from collections.abc import Mapping

_COMMON = {
    "English": "a as the of and to in is that for it on its with was are be this by from have has which not but they",
    "German": "der die das und ist nicht ein eine mit von den zu an in auf für sich dem des im es auch wir als war",
    "French": "de un en à par ne l d n le la les des et est une du dans pour que qui pas sur avec nous vous au ce se",
    "Spanish": "de en un y a la el los las que del una por con para es más como pero su lo se no al son está sin",
    "Italian": "di e un la a da si il che gli della per non una sono con è del nel anche più questo alla dei",
    "Portuguese": "de e um a o os que não uma para com do da em no na mais dos como são foi ao se pelo das",
    "Dutch": "de het een en in van is niet dat die op te voor met zijn aan bij er ook wij",
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
_FEWEST = 3


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
    return name if most >= _FEWEST and most > 1.5 * second else ""
