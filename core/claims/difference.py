"""What differs between a claim and a passage: both texts in pieces, to be shown side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from ua_tui.core.claims.places import find_quotes
from ua_tui.core.claims.records import Claim, Passage, TextQuote
from ua_tui.core.text import clean, clean_line

_AROUND = 200
"""Characters of a text before and after what matters in it."""
_LONGEST_COMPARED = 4_000
"""Characters of a quotation; in a longer one all words are marked."""
_WORDS = re.compile(r"\w+|\W")


class Piece(NamedTuple):
    """A part of a text on one line, and whether it is what matters."""

    text: str
    is_marked: bool = False


def sentence_pieces(claim: Claim) -> list[Piece]:
    """The sentence of a claim; marked is the claim, or of an altered quotation what the source does not have."""
    return list(_pieces(claim, claim.sentence or claim.quote.exact, claim.quote, claim.instead))


def passage_pieces(claim: Claim, passage: Passage) -> list[Piece]:
    """A passage; marked is the value or the words, or for an altered quotation what the report does not have."""
    return list(_pieces(claim, passage.text, passage.quote, claim.quote.exact))


def _pieces(claim: Claim, text: str, quote: TextQuote, other: str) -> Iterator[Piece]:
    """What is near a quote in a text; marked is the quote, or of an altered quotation what `other` lacks."""
    is_altered = bool(other) and claim.kind == "quotation" and claim.state == "differs"
    (places,) = find_quotes([text.replace("\n", " ")], [quote])
    if not places:
        yield Piece(clean_line(text, 2 * _AROUND))
        return
    begin, end = places[0].start, places[-1].end
    first = max(begin - 2 * _AROUND, text.rfind(" ", 0, begin - _AROUND) + 1) if begin > _AROUND else 0
    last = text.find(" ", end + _AROUND)
    last = last if 0 < last < end + 2 * _AROUND else end + _AROUND
    yield Piece("…" * (first > 0) + _flat(text[first:begin]))
    if is_altered and max(len(other), end - begin) <= _LONGEST_COMPARED:
        yield from _different(text[begin:end], other)
    else:
        yield Piece(_flat(text[begin:end][:_LONGEST_COMPARED]), True)
    yield Piece(_flat(text[end:last]) + "…" * (len(text) > last))


def _different(text: str, other: str) -> Iterator[Piece]:
    """A text in pieces; those that the other one does not have are marked."""
    ours, theirs = _WORDS.findall(text), _WORDS.findall(other)
    for kind, start, end, _, _ in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if start < end:
            yield Piece(_flat("".join(ours[start:end])), kind != "equal")


def _flat(text: str) -> str:
    """A text on one line, with its spaces at both ends."""
    return clean(text).replace("\n", " ").replace("\t", " ")
