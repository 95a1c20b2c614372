"""Removes the marks of Markdown from a passage that is shown, and moves the places that match."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

_HEADINGS = re.compile(r"(?:(?<=\s)|^)#{1,6}\s+")
_SIGNS = re.compile(r"\*\*+|`+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*)(?![\s*])[^*]+(?<![\s*])(\*)(?![\w*])")
_LINK = re.compile(r"(?<!\w)(!?\[)[^\[\]]*[^\W\d_][^\[\]]*(\](?:\([^()\s]*\)|\[[^\[\]]*\]|(?!\w)))")
"""Words in brackets, with or without their address; a number in brackets stays, as it names a source."""


def plain_passage(text: str, marks: Sequence[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the passage without marks of headings, emphasis, code and links, and the ranges that match in it."""
    removed = _joined(_removed(text))
    ends = [end for _, end in removed]
    lengths = [0]
    for start, end in removed:
        lengths.append(lengths[-1] + end - start)

    def moved(place: int) -> int:
        number = bisect_right(ends, place)
        inside = max(place - removed[number][0], 0) if number < len(removed) else 0
        return place - lengths[number] - inside

    parts, at = [], 0
    for start, end in removed:
        parts.append(text[at:start])
        at = end
    places = ((moved(start), moved(end)) for start, end in sorted(marks))
    return "".join([*parts, text[at:]]), tuple((start, end) for start, end in places if start < end)


def _removed(text: str) -> Iterable[tuple[int, int]]:
    for pattern in (_HEADINGS, _SIGNS):
        yield from (found.span() for found in pattern.finditer(text))
    for pattern in (_EMPHASIS, _LINK):
        for found in pattern.finditer(text):
            yield from (found.span(1), found.span(2))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order; those that overlap are one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
