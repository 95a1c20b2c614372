"""Characters that hide in figures or only look like digits, read as a reader sees them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from observers.evidence.figures.figure import Figure

__all__ = ["Marks", "fold"]

INVISIBLE, LOOK_ALIKE = "invisible characters", "look-alike characters"
_HIDDEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufe00-\ufe0f"
_INVISIBLE = re.compile(f"[{_HIDDEN}]+")
_SPACES = dict.fromkeys(
    map(ord, "\u202f\u2009\u2007\u2008\u200a\u2002\u2003\u2004\u2005\u2006\u205f\u3000"), "\u00a0"
)
_PLAIN = _SPACES | {
    ord("’"): "'",
    ord("‘"): "'",
    ord("‐"): "-",
    ord("‑"): "-",
    ord("‒"): "–",
    ord("٫"): ".",
    ord("٬"): ",",
}
_OTHER_DIGITS = re.compile(r"[^\x00-\x7f\W_a-zA-Z]")
_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_LETTERS = str.maketrans("OoОоΟοlIІі|", "00000011111")
_ODD = re.compile(r"[^\x00-\xff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u22ff]")
_BETWEEN_DIGITS = re.compile(
    r"(?<=[0-9])[OoОоΟοlIІі]{1,3}(?=[0-9]|[.,][0-9]|[ ]?%)|(?<![\w.])[lIОΟІO](?=[.,]?[0-9]{2})(?=[0-9.,]{2,12}(?!\w))"
)


@dataclass(frozen=True, slots=True)
class Marks:
    """Where a text has invisible and look-alike characters, in order."""

    invisible: Sequence[int]
    look_alikes: Sequence[int]

    def add_remarks(self, figure: Figure, start: int, end: int) -> Figure:
        """The figure with its place in the original text, and what is suspicious in it."""
        remarks = []
        for places, remark in ((self.invisible, INVISIBLE), (self.look_alikes, LOOK_ALIKE)):
            at = bisect_left(places, start)
            if at < len(places) and places[at] < end:
                remarks.append(remark)
        return replace(figure, start=start, end=end, remarks=tuple(remarks))


def fold(text: str) -> tuple[str, Sequence[int], Marks | None]:
    """A text as a reader sees it, the places of its characters in the original, and what was changed.

    The places are empty if nothing was left out.
    """
    look_alikes: list[int] = []
    folded = text
    if not text.isascii():
        folded = text.translate(_PLAIN)
    hidden = [] if text.isascii() else [match.span() for match in _INVISIBLE.finditer(folded)]
    places: list[int] = []
    if hidden:
        parts, at = [], 0
        for start, end in hidden:
            parts.append(folded[at:start])
            places.extend(range(at, start))
            at = end
        parts.append(folded[at:])
        places.extend(range(at, len(folded)))
        folded = "".join(parts)
    if not text.isascii() and _ODD.search(folded):
        folded, changed = _without_other_digits(folded)
        look_alikes += changed
    folded, changed = _without_letters(folded)
    look_alikes += changed
    if not hidden and not look_alikes and len(folded) == len(text):
        return folded, (), None
    if places:
        look_alikes = [places[at] for at in look_alikes if at < len(places)]
    invisible = [at for start, end in hidden for at in (start, end - 1)]
    return folded, places or range(len(text)), Marks(invisible, sorted(look_alikes))


def _without_other_digits(text: str) -> tuple[str, list[int]]:
    """Digits of other scripts as ASCII, with their places."""
    changed: list[int] = []

    def replaced(match: re.Match[str]) -> str:
        character = match[0]
        digit = unicodedata.decimal(character, None)
        if digit is not None:
            changed.append(match.start())
            return str(digit)
        return character

    text = _OTHER_DIGITS.sub(replaced, text)
    if changed:
        text = text.translate(_FULL_WIDTH)
    return text, changed


def _without_letters(text: str) -> tuple[str, list[int]]:
    """Letters that stand for digits as digits, with their places."""
    changed: list[int] = []

    def digits(match: re.Match[str]) -> str:
        changed.extend(range(*match.span()))
        return match[0].translate(_LETTERS)

    text = _BETWEEN_DIGITS.sub(digits, text)
    return text, changed
