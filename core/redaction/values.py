"""Which names are names of secrets, and which values under them are harmless: placeholders, types, code and prose.

The nouns, and the words that make a name harmless, are in `names.json`. `notesToken`, `X-Api-Key`, `CLIENTSECRET` and
`DB_PASSWORD_PROD` are names of secrets; `max_tokens`, `password_policy`, `primary_key` and `monkey` are not.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ua_tui.core.json_values import table_of

Span = tuple[int, int]
"""A piece of a text: where it starts and where it ends."""
TABLE: dict[str, Any] = table_of(__file__, "names.json")
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
    if len(name) > 200 or name in _PLACES:
        return Grade.NONE
    given = given or name.isupper()
    words = _words(name)
    at, found = len(words), Grade.NONE
    while at and not found:
        at -= 1
        is_pair = at > 0 and words[at - 1] in PAIRS.get(words[at], ())
        found = Grade.CERTAIN if is_pair else _GRADES.get(words[at], Grade.NONE)
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


def _words(name: str) -> list[str]:
    found: list[str] = []
    for word in map(str.lower, _WORD.findall(name)):
        joined = None if word in _GRADES else _JOINED.fullmatch(word)
        found += [each for each in joined.groups() if each] if joined else [word]
    return found


class Strength(IntEnum):
    """How much a value looks like a secret."""

    PLAIN = 0
    """It is none: a placeholder, a type, a path, a small number, code, prose."""
    WORD = 1
    """It can be a bad password, and anything else."""
    LONG = 2
    """Words or digits that are rarely anything else at the end of a line `password: …`."""
    OPAQUE = 3
    """No word of a language and no name in a program."""
    RANDOM = 4
    """Long, and made of letters and digits without an order."""


PLAIN_VALUES = word_set(TABLE["plain_values"])
"""Types, states and the like, which stand under names of secrets and are none."""
_PROSE = word_set(TABLE["prose"])
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|negotiate|apikey)(?:\s+|$)", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"[<\[(].*|[$%@#!]?\{.*|\$+\(.*|\$+[A-Za-z_]\w*\)?|%\w+%|%\(?\w*\)?[sdr]|:[a-z_]+|![a-z]+|\?|(?:[\W_]|redacted)*|[xX*]{3,}|.{0,40}(?:\.\.\.|…|\*{3,}).*"
    r"|(?i:your[-_ ].*|.*[-_]here|change[-_]?(?:me|it)|replace[-_].*)",
    re.DOTALL,
)
_NUMBER = re.compile(
    r"[~^<>=v]{0,2}(?:0[xX][0-9a-fA-F]+|[-+]?[$€]?\d+(?:[-.:,/_T+]\d+)*[Z%]?|\d{1,6}(?:[.,]\d+)?[A-Za-z]{1,3})"
)
_PLACE = re.compile(r"(?:/|~/|\.\.?/)[\w./~+-]*|[A-Za-z]:\\.*|[A-Za-z][A-Za-z0-9+.-]*://.*", re.DOTALL)
_WORDS = re.compile(r"[^\W\d_]+\d{0,2}(?:[-_./:'’&][^\W\d_]*\d{0,4})*")
_JOINTS = re.compile(r"[-_./:'’&]")
_SIGNS = re.compile(r"[!#%^+=?~@$&].")
_RANDOM = re.compile(r"[A-Za-z0-9+/=_.-]{16,}")
# Compiled when it is used first, which `re` remembers: a set of so many characters takes milliseconds.
_CJK = "[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]"
_SHORTEST = 6
_PUNCTUATION = re.compile(r"[!#$%^&*+=?~@<>{}\[\]|;]")
_LONG_NUMBER = 6
_MOST = 256


def without_scheme(value: str) -> str:
    """A value without a scheme of authorization before it, such as `Bearer`."""
    found = _SCHEME.match(value)
    return value[found.end() :] if found else value


def strength(value: str) -> Strength:
    """How much a value looks like a secret, whatever its name."""
    bare = without_scheme(value[:_MOST].strip()).rstrip(".,;:!?*`")
    if value.endswith("!") and len(bare) >= _SHORTEST and any(map(str.isdigit, bare)) and " " not in bare:
        return Strength.OPAQUE
    if not bare or bare.lower() in PLAIN_VALUES or _PLACEHOLDER.fullmatch(bare):
        return Strength.PLAIN
    if not bare.isascii() and re.search(_CJK, bare):
        return Strength.PLAIN
    if _NUMBER.fullmatch(bare):
        return Strength.LONG if bare.isdigit() and len(bare) >= _LONG_NUMBER else Strength.PLAIN
    if _PLACE.fullmatch(bare):
        return Strength.PLAIN
    if " " in bare:
        return _of_sentence(bare)
    digits = sum(map(bare.count, filter(str.isdigit, set(bare))))
    if digits < 2 and bare.replace("_", "").replace(".", "").isalnum() and grade(bare):
        # It names another value: `password=new_password`.
        return Strength.PLAIN
    if _WORDS.fullmatch(bare):
        return _of_words(bare, digits)
    if len(bare) < _SHORTEST:
        return Strength.WORD
    letters = sum(map(str.isalpha, bare)) if digits else 0
    if digits >= 3 and letters >= 3 and _RANDOM.fullmatch(bare) and len(set(bare)) >= 8:
        return Strength.RANDOM
    return Strength.OPAQUE if (digits and letters) or _SIGNS.search(bare) else Strength.WORD


def is_secret(key: object, value: object) -> bool:
    """Whether a field of data holds a secret, by its name and its value."""
    if not isinstance(key, str) or value in (None, "", [], {}, ()) or isinstance(value, bool):
        return False
    found = grade(key)
    if not found:
        return False
    if isinstance(value, str):
        return is_strong_enough(found, strength(value), key, value)
    if isinstance(value, dict):
        is_harmless = not {"type", "$ref", "anyOf", "properties"}.isdisjoint(value)
    else:
        is_harmless = isinstance(value, int | float) and abs(value) < 10**_LONG_NUMBER
    return found is Grade.CERTAIN and not is_harmless


def is_strong_enough(found: Grade, value: Strength, name: str, text: str) -> bool:
    """Whether a value is a secret that is written out as one, in quotes or behind `=`, under a name of this grade."""
    if found is Grade.CERTAIN:
        return value > Strength.PLAIN or _is_link(name, text)
    if found is Grade.LIKELY:
        least = Strength.WORD if name.isupper() else Strength.OPAQUE
        return (value >= least and len(text) >= _SHORTEST) or _is_link(name, text)
    least = Strength.OPAQUE if name.isupper() else Strength.RANDOM
    return bool(found) and value >= least


def _is_link(name: str, text: str) -> bool:
    """Whether an address is a secret itself: whoever has the link to a webhook can post to it."""
    return text.startswith("https://") and "webhook" in name.lower() and text.count("/") > 3


def _of_sentence(text: str) -> Strength:
    words = text.split()
    if len(_PUNCTUATION.findall(text)) * 6 > len(text):
        return Strength.OPAQUE
    if '"' in text or "\\" in text:
        return Strength.WORD
    if not _PROSE.isdisjoint(each.lower().strip(".,;:!?()'\"") for each in words):
        return Strength.PLAIN
    return Strength.PLAIN if text[0].isupper() and not any(map(str.isdigit, text)) else Strength.WORD


def _of_words(text: str, digits: int) -> Strength:
    parts = _JOINTS.split(text)
    if len(parts) > 1:
        return Strength.LONG if len(parts) > 2 and "-" in text and "." not in text else Strength.WORD
    if digits:
        return Strength.OPAQUE if len(text) >= _SHORTEST else Strength.WORD
    turns = sum(a.isupper() != b.isupper() for a, b in pairwise(text))
    return Strength.OPAQUE if len(text) >= 12 and turns * 3 >= len(text) else Strength.WORD
