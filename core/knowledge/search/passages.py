"""Cuts a passage of about 40 words around the best matches in a text, and removes Markdown markup from it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress

WORDS = 40
"""Words of a passage; two Chinese or Japanese characters count as one."""

_BEFORE = 6
_WORD = re.compile(r"[぀-ヿ㐀-䶿一-鿿]{1,2}|[^\s぀-ヿ㐀-䶿一-鿿]{1,60}")
_SPACES = re.compile(r"\s+")
_HEADINGS = re.compile(r"(?:(?<=\s)|^)#{1,6}\s+")
_SIGNS = re.compile(r"\*\*+|`+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*)(?![\s*])[^*]+(?<![\s*])(\*)(?![\w*])")
_LINK = re.compile(r"(?<!\w)(!?\[)[^\[\]]*[^\W\d_][^\[\]]*(\](?:\([^()\s]*\)|\[[^\[\]]*\]|(?!\w)))")
"""Words in brackets, with or without their address; a number in brackets stays, as it names a source."""

Places = Sequence[tuple[int, int]]


def cut_passage(text: str, places: Places) -> tuple[int, str, tuple[tuple[int, int], ...]]:
    """Choose the passage of a text with the most different matches, which are at `places`, in characters, in order.

    Returns:
        Where the passage begins in the text, the passage on one line, and the matches in the passage.
    """
    words = [found.span() for found in _WORD.finditer(text)]
    if not words:
        return 0, "", ()
    first = _best_window([start for start, _ in words], text, places)
    start, end = words[first][0], words[min(first + WORDS, len(words)) - 1][1]
    return start, *on_one_line(
        text[start:end], [(a - start, b - start) for a, b in places if start <= a and b <= end]
    )


def _best_window(starts: list[int], text: str, places: Places) -> int:
    """The number of the word at which the passage begins."""
    found = [(max(bisect_right(starts, a) - 1, 0), text[a:b].casefold()) for a, b in places]

    def matches(first: int) -> tuple[int, int]:
        inside = [name for number, name in found if first <= number < first + WORDS - _BEFORE]
        return len({*inside}), len(inside)

    chosen = max((number for number, _ in found), key=matches, default=0)
    return min(max(chosen - _BEFORE, 0), max(len(starts) - WORDS, 0))


def on_one_line(text: str, places: Places) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Replace white space by single spaces, and move the places with their words."""
    surplus = [(found.start() + 1, found.end()) for found in _SPACES.finditer(text)]
    line, moved = _without(text, surplus, places)
    return _SPACES.sub(" ", line), moved


def plain_passage(text: str, marks: Places) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the passage without marks of headings, emphasis, code and links, and the ranges that match in it."""
    return _without(text, _marks(text), sorted(marks))


def _without(
    text: str, removed: Iterable[tuple[int, int]], places: Places
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text without ranges, and what is left of places in it."""
    kept = bytearray(b"\1") * len(text)
    for start, end in removed:
        kept[start:end] = bytes(end - start)
    # Where each character of the text is in what is left, and the end.
    moved = [0, *accumulate(kept)]
    spans = [(moved[min(place, len(text))] for place in span) for span in places]
    return "".join(compress(text, kept)), tuple((start, end) for start, end in spans if start < end)


def _marks(text: str) -> Iterable[tuple[int, int]]:
    for pattern in (_HEADINGS, _SIGNS):
        yield from (found.span() for found in pattern.finditer(text))
    for pattern in (_EMPHASIS, _LINK):
        for found in pattern.finditer(text):
            yield from (found.span(1), found.span(2))
