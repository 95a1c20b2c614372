"""Characters that hide in figures or only look like digits, read as a reader sees them."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

HAS_INVISIBLE = "It has invisible characters."
HAS_LOOK_ALIKE = "It has look-alike characters."
_SPACES = "\u202f\u2009\u2007\u2008\u200a\u2002\u2003\u2004\u2005\u2006\u205f\u3000"
_PLAIN = dict.fromkeys(_SPACES, "\u00a0") | dict.fromkeys("’‘", "'") | dict.fromkeys("‐‑", "-")
_PLAIN |= {"‒": "–", "٫": ".", "٬": ","}
_ODD_FORMS = re.compile(f"[{''.join(_PLAIN)}]")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufe00-\ufe0f]+"
)
# Everything above Greek and Cyrillic that may be a digit; dashes, quotes, signs of money and arrows are none.
_MAY_BE_DIGIT = re.compile(r"[\u0600-\u1fff\ua000-\uabff\uff10-\uff19\U00010000-\U0001ffff]")
_PIECE = 48 << 10
_ZEROS = "OoОоΟο"
_LETTERS = str.maketrans(f"{_ZEROS}lIІі", "0" * len(_ZEROS) + "1111")
# The letter comes first, as a search for one of few characters is many times quicker than one for what is before it.
_BETWEEN_DIGITS = re.compile(
    rf"[{_ZEROS}lIІі](?:(?<=[0-9].)|(?<=[0-9][{_ZEROS}lIІі].))(?=[{_ZEROS}lIІі]?[0-9]|[.,][0-9]|[ ]?%)"
    r"|[lIІ](?<![\w.].)(?=[0-9]{1,3}(?:[.,][0-9]{1,3})+(?!\w)|[0-9]{2,}[ ]?%)"
)


@dataclass(frozen=True, slots=True)
class Marks:
    """What was changed in a text; `places` are those of the characters that were kept, empty if all were."""

    places: Sequence[int]
    invisible: Sequence[int]
    look_alikes: Sequence[int]

    def range(self, start: int, end: int) -> tuple[int, int]:
        """A range of the folded text in the original one."""
        return (self.places[start], self.places[end - 1] + 1) if self.places else (start, end)

    def remarks(self, start: int, end: int) -> tuple[str, ...]:
        """What is suspicious in a range of the original text."""
        return tuple(
            remark
            for places, remark in ((self.invisible, HAS_INVISIBLE), (self.look_alikes, HAS_LOOK_ALIKE))
            if (at := bisect_left(places, start)) < len(places) and places[at] < end
        )


def fold(text: str) -> tuple[str, Marks | None]:
    """A text as a reader sees it, and what was changed; None if nothing suspicious was.

    Spaces, apostrophes and dashes get their common form, invisible characters are left out, and digits of other
    scripts and letters between digits become the digits they look like.
    """
    parts, places = [], array("q")
    look_alikes: list[int] = []
    hidden: list[int] = []
    for start in range(0, len(text), _PIECE):
        piece = _fold_piece(text[start : start + _PIECE], start, places, hidden, look_alikes)
        parts.append(piece)
    folded = "".join(parts)
    if not hidden and not look_alikes:
        return folded, None
    return folded, Marks(places if len(folded) < len(text) else (), hidden, sorted(look_alikes))


def _fold_piece(text: str, offset: int, places: array[int], hidden: list[int], look_alikes: list[int]) -> str:
    """Fold a piece that begins at `offset`; adds to the places that are kept, hidden, and changed."""
    kept: Sequence[int] = range(offset, offset + len(text))
    folded = text
    changed: list[int] = []
    if not text.isascii():
        folded = _ODD_FORMS.sub(lambda match: _PLAIN[match[0]], folded)
        folded, kept = _without_hidden(folded, kept, hidden)
        folded = _MAY_BE_DIGIT.sub(lambda match: _digit(match, changed), folded)
    folded = _BETWEEN_DIGITS.sub(lambda match: _letter(match, changed), folded)
    look_alikes.extend(kept[at] for at in changed)
    places.extend(kept)
    return folded


def _without_hidden(text: str, kept: Sequence[int], hidden: list[int]) -> tuple[str, Sequence[int]]:
    """The text without invisible characters, and the places of the rest."""
    parts, at, places = [], 0, array("q")
    for match in _HIDDEN.finditer(text):
        start, end = match.span()
        parts.append(text[at:start])
        places.extend(kept[at:start])
        hidden.extend(kept[start:end])
        at = end
    if not parts:
        return text, kept
    places.extend(kept[at:])
    return "".join([*parts, text[at:]]), places


def _digit(match: re.Match[str], changed: list[int]) -> str:
    digit = unicodedata.decimal(match[0], None)
    if digit is None:
        return match[0]
    changed.append(match.start())
    return str(digit)


def _letter(match: re.Match[str], changed: list[int]) -> str:
    changed.append(match.start())
    return match[0].translate(_LETTERS)
