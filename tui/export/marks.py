"""Marks the claims in the source of a report, so that the marks survive conversion and sanitising.

A claim is put between two tokens of private-use characters. They are plain text for every parser, and are never inside
tags, attributes or addresses; what a parser does to them can therefore only lose a mark.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from ua_tui.core.evidence.files import ReportFormat
from ua_tui.core.evidence.records import Claim

MOST_MARKS = 1_500
START, END, CLOSE = "\ue000", "\ue001", "\ue002"
TOKEN = re.compile(f"([{START}{END}])([0-9]{{1,9}}){CLOSE}")
_STRAY = re.compile(f"[{START}{END}{CLOSE}]")
_RESERVED = {ord(each): "\ufffd" for each in (START, END, CLOSE)}

# Every alternative ends somewhere, so that nothing is tried twice.
_HIDDEN = (
    r"<!--[\s\S]*?(?:-->|\Z)"
    r"|<(?P<raw>script|style|title|textarea|template|noscript|iframe|svg|math)\b[\s\S]*?(?:</(?P=raw)\b[^>]*>?|\Z)"
)
_TAG = r"<[/!?a-z](?:[^>\"']|\"[^\"]*\"|'[^']*')*+>?|&\#?[a-z0-9]{1,40}+;?"
_IN_HTML = re.compile(f"(?P<hidden>{_HIDDEN})|{_TAG}", re.IGNORECASE)
_IN_MARKDOWN = re.compile(
    rf"(?P<hidden>{_HIDDEN})|{_TAG}"
    r"|\]\((?:[^()\n]|\([^()\n]*\))*+\)?|\]\[[^\]\n]*+\]?|^ {0,3}\[[^\]\n]{1,500}\]:[^\n]*"
    r"|(?:https?|mailto):[^\s<>()\[\]]*[^\s<>()\[\].,;:!?]|\\.|^[ \t]*(?:[-+*>#|]|\d{1,9}[.)])++[ \t|]*",
    re.IGNORECASE | re.MULTILINE,
)


def mark_claims(source: str, kind: ReportFormat, claims: Sequence[Claim]) -> str:
    """Put tokens around each claim that has a place in the source; those in hidden parts get none."""
    source = source.translate(_RESERVED)
    spans, hidden = _protected(source, kind)
    starts = [start for start, _ in spans]
    places: list[tuple[int, int, str]] = []
    for claim in claims[:MOST_MARKS]:
        if not 0 <= claim.start < claim.end <= len(source):
            continue
        at = [_moved(place, starts, spans) for place in (claim.start, claim.end)]
        if at[0] in hidden and at[1] == at[0]:
            continue
        # An end comes before a start at the same place, but not before its own.
        places.append((at[0], 1, f"{START}{claim.id}{CLOSE}"))
        places.append((at[1], 0 if at[1] > at[0] else 2, f"{END}{claim.id}{CLOSE}"))
    places.sort(key=lambda place: place[:2])
    parts: list[str] = []
    done = 0
    for at_place, _, token in places:
        parts += (source[done:at_place], token)
        done = at_place
    return "".join((*parts, source[done:]))


def marked_ids(text: str) -> set[int]:
    """The claims of which both tokens are in a text, in their order."""
    begun: set[int] = set()
    complete: set[int] = set()
    for found in TOKEN.finditer(text):
        number = int(found[2])
        if found[1] == START:
            begun.add(number)
        elif number in begun:
            complete.add(number)
    return complete


def replace_marks(text: str, at_end: Callable[[int], str]) -> str:
    """Replace the token at the end of each claim, and remove all others."""
    complete = marked_ids(text)

    def replaced(found: re.Match[str]) -> str:
        number = int(found[2])
        return at_end(number) if found[1] == END and number in complete else ""

    return _STRAY.sub("", TOKEN.sub(replaced, text))


def without_marks(text: str) -> str:
    """Remove all tokens."""
    return _STRAY.sub("", TOKEN.sub("", text))


def _protected(source: str, kind: ReportFormat) -> tuple[list[tuple[int, int]], set[int]]:
    """The ranges in which no token may be, and the ends of those that nobody sees."""
    if kind == "text":
        return [], set()
    spans: list[tuple[int, int]] = []
    hidden: set[int] = set()
    for start, end, is_hidden in _matches(_IN_HTML if kind == "html" else _IN_MARKDOWN, source):
        spans.append((start, end))
        if is_hidden:
            hidden.add(end)
    return spans, hidden


def _matches(pattern: re.Pattern[str], source: str) -> Iterator[tuple[int, int, bool]]:
    for found in pattern.finditer(source):
        if found.end() > found.start():
            yield found.start(), found.end(), found["hidden"] is not None


def _moved(place: int, starts: Sequence[int], spans: Sequence[tuple[int, int]]) -> int:
    """The place itself, or the end of the range that it is in."""
    at = bisect_right(starts, place) - 1
    if at < 0:
        return place
    start, end = spans[at]
    return end if start < place < end else place
