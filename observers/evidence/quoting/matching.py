"""Finds a quotation word for word in a text, with what it leaves out by an ellipsis or puts in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ua_tui.observers.evidence.quoting.folding import Folded, fold

Span = tuple[int, int]
"""The first word and the word after the last one."""

FARTHEST = 1_500
"""Letters that an ellipsis may leave out."""
_BRACKETS = 120
"""Letters that brackets may stand for."""
_MOST = 200
"""Places of a text where the first part of a quotation is tried."""
_MOST_TRIES = 5_000
"""Places that are looked at in a text that repeats the same letters."""
_MOST_PARTS = 40
_ELLIPSIS = r"…|\.\s?\.\s?\.(?:\s?\.)?"
_GAP = re.compile(rf"[\[(]\s*(?:{_ELLIPSIS})\s*[\])]|{_ELLIPSIS}|\[([^\[\]]{{0,120}})\]")
_REMARK = re.compile(
    r"sic!?|\d.*|(?:emphasis|italics|translation|translated|Hervorhebung|Anm|Übersetzung|souligné|traduction|énfasis)\b.*",
    re.IGNORECASE,
)
"""What brackets add that is no part of the text."""


@dataclass(frozen=True)
class Part:
    """Words of a quotation that must follow each other.

    `start` is where the part begins in the quotation. `gap` is how many letters of the source may stand before it,
    0 for the first one. An open end may stand inside a word, as in "compan[ies]".
    """

    folded: Folded
    start: int
    gap: int = 0
    opens_inside: bool = False
    ends_inside: bool = False


def read_parts(text: str, *, brackets: bool) -> list[Part]:
    """Split a quotation at its ellipses, and with `brackets` at what stands in brackets, too.

    Without it, the words in brackets belong to the quotation: "[T]he".
    """
    parts: list[Part] = []
    gap, begin, opens_inside = 0, 0, False
    for found in [*_GAP.finditer(text), None]:
        inserted = found[1] if found is not None else None
        is_remark = inserted is not None and bool(_REMARK.fullmatch(inserted.strip()) or not inserted.strip())
        if inserted is not None and not is_remark and not brackets:
            continue
        end = found.start() if found is not None else len(text)
        folded = fold(text[begin:end])
        if folded.compact:
            ends_inside = inserted is not None and text[end - 1 : end].isalnum()
            parts.append(Part(folded, begin, gap if parts else 0, opens_inside, ends_inside))
        if found is None or len(parts) == _MOST_PARTS:
            break
        width = 1 if is_remark else _BRACKETS if inserted is not None else FARTHEST
        gap = max(gap, width) if not folded.compact else width
        begin = found.end()
        opens_inside = inserted is not None and text[begin : begin + 1].isalnum()
    return parts


def find_parts(parts: Sequence[Part], text: Folded) -> list[Span] | None:
    """Find all parts in order, none too far from the one before; None if they are not in the text."""
    first = parts[0]
    for number, place in enumerate(occurrences(first, text)):
        if number == _MOST:
            break
        spans = [_span(place, first, text)]
        end = place + len(first.folded.compact)
        for part in parts[1:]:
            following = next(occurrences(part, text, end, end + part.gap), None)
            if following is None:
                break
            spans.append(_span(following, part, text))
            end = following + len(part.folded.compact)
        else:
            return spans
    return None


def occurrences(part: Part, text: Folded, begin: int = 0, latest: int | None = None) -> Iterator[int]:
    """The places of the compact text where a part begins, up to `latest`; it begins and ends with whole words."""
    wanted = part.folded.compact
    stop = len(text.compact) if latest is None else min(latest + len(wanted), len(text.compact))
    at, tries = text.compact.find(wanted, begin, stop), 0
    while at >= 0 and tries < _MOST_TRIES:
        tries += 1
        if (part.opens_inside or text.at(at) is not None) and (
            part.ends_inside or text.at(at + len(wanted)) is not None
        ):
            yield at
        at = text.compact.find(wanted, at + 1, stop)


def _span(place: int, part: Part, text: Folded) -> Span:
    return text.word_at(place), text.word_at(place + len(part.folded.compact) - 1) + 1
