"""Which languages a text is written in, by its commonest words; figures are written by their rules."""

from __future__ import annotations

import re

LANGUAGES = ("en", "de", "fr", "es")
_COMMON = {
    "en": "the of and to is was by with that from for are has were it at more than about its his had which this",
    "de": "der die das und ist mit von den im auf für dem nicht ein eine einen wurde sich bis zu rund etwa seit mehr "
    "als sind werden stieg beträgt über nach wie am",
    "fr": "le la les des et est du une un dans pour sur au aux par plus que qui en près environ depuis été avec sont "
    "ont cette son de",
    "es": "el la los las del y es una un en para por con más que se al como desde entre fue son su millones de ha",
}
_WORDS: dict[str, tuple[str, ...]] = {}
for _language, _words in _COMMON.items():
    for _word in _words.split():
        _WORDS[_word] = (*_WORDS.get(_word, ()), _language)
_WORD = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?![^\W_])", re.IGNORECASE
)
_SAMPLE = 800


def languages(text: str) -> tuple[str, ...]:
    """The languages of a text, the likeliest first; empty if its words do not say.

    Only the beginning, the middle and the end of a long text are looked at.
    """
    if len(text) > 3 * _SAMPLE:
        middle = len(text) // 2
        text = f"{text[:_SAMPLE]} {text[middle : middle + _SAMPLE]} {text[-_SAMPLE:]}"
    counts = dict.fromkeys(LANGUAGES, 0.0)
    for word in _WORD.findall(text):
        known = _WORDS[word.lower()]
        for language in known:
            counts[language] += 1 / len(known)
    most = max(counts.values())
    if not most:
        return ()
    found = [language for language in LANGUAGES if counts[language] > most / 5]
    return tuple(sorted(found, key=lambda language: -counts[language]))


def word_set(words: str) -> frozenset[str]:
    """The words of a text, which are separated by spaces."""
    return frozenset(words.split())
