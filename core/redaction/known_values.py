"""Finds known secrets in a text, also the piece of one that is left where the text was cut.

Texts are cut in hundreds of places, and some before their secrets are masked. A piece is recognised by what follows or
precedes it: an ellipsis, or the end of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from ua_tui.core.redaction.detectors import SecretSearch

_PIECE = 6
_CUT_AFTER = re.compile(r"(?:\s|\\+n)?\[?(?:…|\\+u2026)")
_CUT_BEFORE = re.compile(r"(?:…|\\+u2026)\]?(?:\s|\\+n)?\Z")
_END = re.compile(r"\Z|\n?\0|\\*\"")
# The name of a field, or a word at the end of a sentence, is no piece of a password that begins with it.
_WORDLIKE = re.compile(r"[a-z_-]+|[A-Z_-]+|[A-Z][a-z]+")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:(?:\\*/){2}[^/?#\\]*(?:\\*/)?", re.IGNORECASE)


class KnownValues:
    """Searches a text for known secrets in every given spelling, and for everything that looks like a secret."""

    def __init__(self, spellings: Iterable[str] = ()) -> None:
        self._heads: dict[str, list[str]] = {}
        self._tails: dict[str, list[str]] = {}
        for each in spellings:
            # An address begins with what every address of its host begins with.
            address = _ADDRESS.match(each)
            least = _PIECE + (address.end() if address else 0)
            self._heads.setdefault(each[:least], []).append(each)
            self._tails.setdefault(each[-_PIECE:], []).append(each)

    @cached_property
    def search(self) -> SecretSearch:
        """The search for all secrets; the words that it finds are places to pass to `spans`."""
        return SecretSearch(tuple({*self._heads, *self._tails}))

    def spans(self, text: str, word: str, start: int) -> Iterator[tuple[str, int, int]]:
        """The secrets at a place that `scan` found: the spelling of each, whole or cut, with its start and end."""
        for form in self._heads.get(word, ()):
            found = _common(form, text[start : start + len(form)])
            if found < len(form):
                # What follows in the text may be another escape than in the secret: its backslash is no piece of it.
                found = len(form[:found].rstrip("\\"))
                if found < len(word) or not _ends_cut(text, start, start + found):
                    continue
            yield form[:found], start, start + found
        end = start + len(word)
        for form in self._tails.get(word, ()):
            before = text[max(end - len(form), 0) : end]
            found = _common(form[::-1], before[::-1])
            if found < len(form) and _CUT_BEFORE.search(text, max(end - found - 20, 0), end - found):
                yield form[-found:], end - found, end


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _ends_cut(text: str, start: int, end: int) -> bool:
    """Whether the text was cut at `end`, within a secret that began at `start`."""
    if _CUT_AFTER.match(text, end):
        return True
    return _END.match(text, end) is not None and not _WORDLIKE.fullmatch(text, start, end)
