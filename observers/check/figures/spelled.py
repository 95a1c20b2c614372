"""Numbers in words: "four thousand", "two and a half million", "a third of", "three in five"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ua_tui.observers.check.figures.figure import SHARE_STEP, Reading
from ua_tui.observers.check.figures.vocabulary import Vocabulary

_NO_SHARES = frozenset(
    {"first", "second", "other", "latter", "third", "every", "per", "last", "next", "this", "fiscal"}
)
_ARTICLES = ("a", "an", "one")


def find_spelled(text: str, words: Vocabulary) -> Iterator[tuple[int, int, Reading]]:
    """Find the numbers in words of a text, and where they are: values, shares in percent, and multiples."""
    assert words.words is not None
    for match in words.words.finditer(text):
        before = text[max(0, match.start() - 12) : match.start()].casefold().split()
        found = _read(match, before[-1] if before else "", words)
        if found is None:
            continue
        if found.unit == "%":
            # "a quarter" is mostly three months, "half" may be one of a match.
            following = text[match.end() : match.end() + 8]
            is_time = match[0].casefold().endswith("quarter") and not following.startswith((" of", " the"))
            if is_time or (before[-1:] and before[-1] in _NO_SHARES):
                continue
        yield *match.span(), found


def _read(match: re.Match[str], before: str, words: Vocabulary) -> Reading | None:
    tokens = match[0].casefold().replace("-", " ").split()
    value = current = share = 0.0
    is_halved = False
    for each in tokens:
        if each in words.multiples:
            return Reading(words.multiples[each], 0.4, 0.4, "×")
        if each in words.numbers:
            added = words.numbers[each]
            if current % 10:
                # "one sixteen-high stack" has two numbers.
                return None
            current += added
        elif each in words.fractions:
            part = 1 / words.fractions[each]
            if each == "half":
                share, is_halved = part, True
            elif each.endswith("s") or current == 1:
                share, current = current * part, 0.0
            elif before in _ARTICLES:
                share = part
            else:
                return None
        elif each in words.scales:
            scale = words.scales[each]
            if scale == 100:
                current = (current or 1) * scale
            else:
                value += (current + share or 1) * scale
                current = share = 0.0
    is_alone = tokens[0] in words.scales and before not in _ARTICLES
    if len(tokens) == 1 and (is_alone or tokens[0] in ("one", "zero")):
        return None
    if share and not value and not current:
        return Reading(100 * share, SHARE_STEP, SHARE_STEP, "%")
    zeros, value = 1.0, value + current + share
    while value >= 10 and value % (zeros * 10) == 0:
        zeros *= 10
    return Reading(value, 0.5 if is_halved else 1.0, zeros) if value else None
