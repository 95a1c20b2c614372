"""Cuts the passage of a source around a figure."""

from __future__ import annotations

from core.evidence.records import Evidence
from core.text import clean
from observers.evidence.sources import SourceText

__all__ = ["passage_at"]

_AROUND = 120
_EDGE = 24


def passage_at(source: SourceText, start: int, end: int) -> Evidence:
    """Cut about 240 characters around a range of a source, on one line, with the range marked."""
    text = source.text
    first, last = max(start - _AROUND, 0), min(end + _AROUND, len(text))
    if first:
        first = next((at + 1 for at in range(first, min(first + _EDGE, start)) if text[at].isspace()), first)
    if last < len(text):
        last = next((at for at in range(last, max(last - _EDGE, end), -1) if text[at].isspace()), last)
    before = " ".join(text[first:start].split())
    middle = " ".join(text[start:end].split())
    after = " ".join(text[end:last].split())
    if before and text[start - 1 : start].isspace():
        before += " "
    if after and text[end : end + 1].isspace():
        after = f" {after}"
    mark = (len(before), len(before) + len(middle))
    return Evidence(
        source=source.number, start=start, end=end, passage=clean(before + middle + after), marks=(mark,)
    )
