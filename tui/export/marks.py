"""Finds where the claims of a report are in a text that shows it, and marks the doubtful ones in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from ua_tui.core.claims.places import find_quotes
from ua_tui.core.claims.records import Claim

MOST_MARKS = 1_500
_FARTHEST = 5_000
"""Characters between a claim and its mark."""

# Every alternative ends somewhere, so that nothing is tried twice.
_MARKUP = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|<(?!https?:)[/!?a-z](?:[^>\"']|\"[^\"]*\"|'[^']*')*+>?|&\#?[a-z0-9]{1,40}+;"
    r"|\]\((?:[^()\n]|\([^()\n]*\))*+\)?|\]\[[^\]\n]*+\]?|^ {0,3}\[[^\]\n]{1,500}\]:[^\n]*|(?<!\w)_|_(?!\w)",
    re.IGNORECASE | re.MULTILINE,
)
_LINK = re.compile(r"\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*+\]\((?:[^()\n]|\([^()\n]*\))*+\)")
COVER = "\x00"
"""Stands for each character of markup: no word, and no space."""
_WORD_END, _CLOSING = re.compile(r"[\s|]|\Z"), " \t.,;:!?\"'”’»)]"
_PARAGRAPH_END = re.compile(r"\n(?=[ \t]*(?:\n|(?:[-+*#>|]|\d{1,3}[.)])(?:\s|\Z)))|\||\Z")
_BLOCKQUOTE_END = re.compile(r"\n(?! {0,3}>)|\Z")


class Range(NamedTuple):
    """Characters of a line that show a claim, which is named by its number in the check, from 0."""

    start: int
    end: int
    claim: int


def noted(claims: Sequence[Claim]) -> list[int]:
    """The numbers of the claims that are shown, the riskiest first and else in their order."""
    numbers = [number for number, claim in enumerate(claims) if claim.state != "not looked at"]
    return sorted(numbers, key=lambda number: claims[number].risk)[:MOST_MARKS]


def find_ranges(lines: Iterable[str], claims: Sequence[Claim]) -> Mapping[int, Sequence[Range]]:
    """Find where claims are in the lines that show a report; of several in a place, the shortest doubtful one is shown.

    Raises:
        Stopped: the result is no longer needed.
    """
    shown = sorted(noted(claims))
    places = find_quotes(lines, [claims[number].quote for number in shown])
    by_line: dict[int, list[Range]] = defaultdict(list)
    for number, found in zip(shown, places, strict=True):
        for place in found:
            by_line[place.row].append(Range(place.start, place.end, number))
    return {line: _apart(ranges, claims) for line, ranges in by_line.items()}


def _apart(found: Sequence[Range], claims: Sequence[Claim]) -> list[Range]:
    """Ranges that do not overlap, in their order."""
    ranges: list[Range] = []
    active: list[Range] = []
    starting: dict[int, list[Range]] = defaultdict(list)
    for each in found:
        starting[each.start].append(each)

    def rank(each: Range) -> tuple[bool, int, int]:
        return not claims[each.claim].is_doubtful, each.end - each.start, each.claim

    for start, end in pairwise(sorted({at for each in found for at in (each.start, each.end)})):
        active = [each for each in active if each.end > start] + starting[start]
        if active:
            number = min(active, key=rank).claim
            if ranges and ranges[-1].claim == number and ranges[-1].end == start:
                ranges[-1] = ranges[-1]._replace(end=end)
            else:
                ranges.append(Range(start, end, number))
    return ranges


def cover(text: str) -> str:
    """Markdown without its markup: every character stays in its place."""
    return _MARKUP.sub(lambda found: COVER * len(found[0]), text)


def mark_markdown(
    text: str,
    claims: Sequence[Claim],
    mark: Callable[[int], str],
    cover: Callable[[str], str] = cover,
    link: re.Pattern[str] = _LINK,
) -> str:
    """Write `mark` of the number of each doubtful claim behind it.

    A mark is behind the whole word and in no link. That of a quotation is at the end of its paragraph, table cell or
    block of quoted text, so that a speaker stays with it.

    Raises:
        Stopped: the result is no longer needed.
    """
    covered = cover(text)
    lines = covered.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    links = [found.span() for found in link.finditer(text)]
    doubtful = sorted(number for number in noted(claims) if claims[number].is_doubtful)
    found = find_quotes(lines, [claims[number].quote for number in doubtful])
    marks: dict[int, list[int]] = defaultdict(list)
    for number, places in zip(doubtful, found, strict=True):
        if not places:
            continue
        line, end = lines[places[-1].row], starts[places[-1].row] + places[-1].end
        before = bisect_right(links, (end, 0))
        end = max(end, links[before - 1][1] if before else 0)
        wanted, closing = _WORD_END, _CLOSING
        if claims[number].kind == "quotation":
            wanted = _BLOCKQUOTE_END if line.lstrip().startswith(">") else _PARAGRAPH_END
            closing = " \t"
        after = wanted.search(covered, end, end + _FARTHEST)
        at = after.start() if after else end
        while at > end and covered[at - 1] in closing:
            at -= 1
        marks[at].append(number)
    parts: list[str] = []
    done = 0
    for at, numbers in sorted(marks.items()):
        parts += (text[done:at], *(f" {each}" for each in dict.fromkeys(map(mark, numbers))))
        done = at
    return "".join((*parts, text[done:]))
