"""Recognises the names of secrets: of fields, variables, headers and options, however their words are joined.

The nouns, and the words that make a name harmless, are in `names.json`. `notesToken`, `X-Api-Key`, `CLIENTSECRET` and
`DB_PASSWORD_PROD` are names of secrets; `max_tokens`, `password_policy`, `primary_key` and `monkey` are not.
"""

from __future__ import annotations

import json
import re
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("names.json").read_bytes())
_LONGEST = 200
_PLACES = frozenset({"PWD", "OLDPWD"})
_WORD = re.compile(r"[A-Z]+(?![a-zà-ÿ])|[A-Z]?[a-zà-ÿ]+|[0-9]+|[^\W0-9A-Za-zà-ÿ_]+")


class Grade(IntEnum):
    """How much a name says about its value."""

    NONE = 0
    GIVEN = 1
    """Secret if it is a variable, a header or an option, such as `MAPS_KEY`; in other data only if it is random."""
    LIKELY = 2
    """Also used for harmless values, such as `notes_token`: the value counts as well."""
    CERTAIN = 3


def word_set(words: str) -> frozenset[str]:
    """The words of an entry of `names.json`."""
    return frozenset(words.split())


_GRADES = {
    **dict.fromkeys(word_set(TABLE["given"]), Grade.GIVEN),
    **dict.fromkeys(word_set(TABLE["likely"]), Grade.LIKELY),
    **dict.fromkeys(word_set(TABLE["certain"]), Grade.CERTAIN),
}
PAIRS = {noun: word_set(words) for noun, words in TABLE["pairs"].items()}
RARE_NOUNS = word_set(TABLE["certain"]) | word_set(TABLE["rare"])
"""Nouns that are rare in most texts."""
_HARMLESS_BEFORE = {noun: tuple(words.split()) for noun, words in TABLE["harmless_before"].items()}
_COUNTED = {noun: tuple(words.split()) for noun, words in TABLE["given_harmless_before"].items()}
_HARMLESS_AFTER = word_set(TABLE["harmless_after"])
_TAIL = word_set(TABLE["tail"])
_JOINED = re.compile(
    "|".join(
        f"(.*?)({words.replace(' ', '|')})({noun})" if noun else f"(.+?)()({words.replace(' ', '|')})"
        for noun, words in TABLE["joined"].items()
    )
)


def names_secret(key: object) -> bool:
    """Whether a mapping's key names a secret, such as `api_key`, `x-api-key`, `accessToken` or `GITHUB_TOKEN`."""
    return isinstance(key, str) and grade(key) >= Grade.LIKELY


def names_given_secret(name: str) -> bool:
    """Whether the name of a variable, a header or an option is that of a secret; plain `KEY` is one, too."""
    return grade(name, given=True) > Grade.NONE


@lru_cache(maxsize=8192)
def grade(name: str, *, given: bool = False) -> Grade:
    """What the name of a value says about it; `given` for variables, headers and options."""
    if len(name) > _LONGEST or name in _PLACES:
        return Grade.NONE
    given = given or name.isupper()
    words = _words(name)
    at, found = len(words), Grade.NONE
    while at and not found:
        at -= 1
        found = _grade_at(words, at)
    after = words[at + 1 :]
    if not found or not _HARMLESS_AFTER.isdisjoint(after):
        return Grade.NONE
    if after and not all(w.isdigit() or w in _TAIL for w in after):
        # An unknown word follows the noun, as in `API_KEY_OPENAI` and `secret_do_not_commit`.
        if found is Grade.GIVEN:
            return Grade.NONE
        found = found if given else Grade.GIVEN
    harmless = (given and _COUNTED.get(words[at])) or _HARMLESS_BEFORE.get(words[at], ())
    return Grade.NONE if at and words[at - 1].endswith(harmless) else found


def _grade_at(words: list[str], at: int) -> Grade:
    is_pair = at > 0 and words[at - 1] in PAIRS.get(words[at], ())
    return Grade.CERTAIN if is_pair else _GRADES.get(words[at], Grade.NONE)


def _words(name: str) -> list[str]:
    found: list[str] = []
    for word in map(str.lower, _WORD.findall(name)):
        joined = None if word in _GRADES else _JOINED.fullmatch(word)
        found += [each for each in joined.groups() if each] if joined else [word]
    return found
