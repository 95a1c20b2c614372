"""One pattern that finds where a figure may begin: a digit, a number in words, a month, an address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ua_tui.observers.evidence.figures.dates import MONTH_NAMES, PERIOD_STARTS
from ua_tui.observers.evidence.figures.language.words import NUMBER_STARTS, NUMBER_STEMS
from ua_tui.observers.evidence.figures.numbers import FRACTIONS

_END = r"(?![^\W_])"
_BEFORE_DIGITS = r"(?=\.?,?[ \u00a0-](?:del?[ ]|of[ ])?[0-9])"


def _alternatives(words: Mapping[str, str]) -> str:
    """A pattern of words, each with the pattern that has to follow it, which tries few of them at each place."""
    tree: dict[str, Any] = {}
    for word, follows in words.items():
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})
        node.setdefault("", []).append(follows)
    return _pattern(tree)


def _pattern(tree: Mapping[str, Any]) -> str:
    parts = [letter + _pattern(node) for letter, node in sorted(tree.items()) if letter]
    # Longer words first.
    parts += tree.get("", [])
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def _both_cases(words: Iterable[str]) -> set[str]:
    return {form for word in words for form in (word, word[0].upper() + word[1:])}


_STEMS = _alternatives(dict.fromkeys(_both_cases(NUMBER_STEMS), r"[^\W\d_]{0,60}"))
_NUMBERS = _alternatives(dict.fromkeys(_both_cases(NUMBER_STARTS), _END))
_MONTHS = _alternatives(dict.fromkeys(MONTH_NAMES, _END + _BEFORE_DIGITS))
_PERIODS = "|".join(f"{first}(?:{rest})" for first, rest in PERIOD_STARTS.items())
ANCHOR = re.compile(
    rf"(?P<digit>[0-9{''.join(FRACTIONS)}])"
    rf"|(?<![^\W_])(?=[^\W\d_])(?:(?P<period>{_MONTHS}|{_PERIODS})|(?P<word>{_NUMBERS}|{_STEMS})"
    r"|(?P<address>(?:https?://|www\.)[^\s<>\"]{1,2000}))"
)
"""Its groups are named by what they find: "digit", "period", "word" and "address"."""
