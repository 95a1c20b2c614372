"""A claim in words, the same in the panel, on the command line and in exports: both texts, and what differs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from typing import NamedTuple

from ua_tui.core.claims.checked_report import NOUNS
from ua_tui.core.claims.ledger import ListedClaim
from ua_tui.core.claims.places import find_quotes
from ua_tui.core.claims.records import Claim, Source, State, TextQuote
from ua_tui.core.text import clean, clean_line

_KINDS = {kind: noun for kind, (noun, _) in NOUNS.items()} | {"query": "what you wrote"}
_MOST_PASSAGES = 6
_AROUND = 200
"""Characters of a text before and after what matters in it."""
_LONGEST_COMPARED = 4_000
"""Characters of a quotation; in a longer one all words are marked."""
_LINE, _NAME, _NOTE = 300, 120, 600
"""The longest value or title, name and note, in characters."""
_WORDS = re.compile(r"\w+|\W")


class TextPart(NamedTuple):
    """A part of a text on one line, and whether it is what matters."""

    text: str
    is_marked: bool = False


class DescribedPassage(NamedTuple):
    """What is near the value in a passage, the headings of a table's columns, and its source with facts about it."""

    pieces: Sequence[TextPart]
    headers: str
    title: str
    url: str
    facts: Sequence[str]

    @property
    def text(self) -> str:
        """The passage without marks."""
        return "".join(piece.text for piece in self.pieces)


class ClaimDescription(NamedTuple):
    """What is said of a claim, in texts on one line without control characters.

    `why` is what the source has instead, the calculation or the rule; `said` its sentence, `address` that of a link
    with other words. `heading` says what the passages are, `absent` what was looked for if there are none. `judged`
    is what a model said and a person decided.
    """

    words: str
    state: State
    why: str
    section: str
    said: Sequence[TextPart]
    address: str
    heading: str
    passages: Sequence[DescribedPassage]
    absent: str
    judged: Sequence[str]


def describe_claim(claim: ListedClaim, sources: Sequence[Source]) -> ClaimDescription:
    """Describe a claim of a report that was compared with these sources."""
    words, address = clean_line(claim.quote.exact, _LINE), clean_line(claim.url, 2 * _AROUND)
    instead = clean_line(claim.instead, _LINE) if claim.state == "differs" else ""
    note = clean_line(claim.meaning if claim.is_doubtful else claim.note, _NOTE)
    if instead:
        quoted = f"“{instead}”" if claim.kind == "quotation" else instead
        note = f"The source says {quoted}." + (f" {note}" if claim.note and instead not in claim.note else "")
    is_link = claim.kind == "link"
    what = f"has the address {address}" if is_link else f"mentions {words}"
    return ClaimDescription(
        words=words,
        state=claim.state,
        why=" ".join(filter(None, (note.strip(), clean_line(claim.formula, _LINE)))),
        section=clean_line(claim.section, _NAME),
        said=list(_pieces(claim, claim.sentence or claim.quote.exact, claim.quote, claim.instead)),
        address=address if is_link and address != words else "",
        heading="Nearest passage" if claim.state == "not found" else "In the source",
        passages=[
            DescribedPassage(
                list(_pieces(claim, each.text, each.quote, claim.quote.exact)),
                clean_line(each.headers, _LINE),
                clean_line((source := sources[each.source]).name, _LINE),
                clean_line(source.url or source.path, 2 * _AROUND),
                source_facts(source),
            )
            for each in claim.passages[:_MOST_PASSAGES]
        ],
        absent=f"No page that was read {what}.",
        judged=list(_judged(claim)),
    )


def source_facts(source: Source) -> list[str]:
    """What a source is, who wrote it, and when it was published and read; what is not known is left out."""
    read = {"search_row": "found", "run": "made", "file": "made"}.get(source.kind, "read")
    facts = (
        "" if source.kind == "article" else _KINDS[source.kind],
        source.author,
        source.site,
        f"published {source.published.partition('T')[0]}" if source.published else "",
        f"{read} {_when(source.read_at)}" if source.read_at is not None else "",
        source.session,
    )
    return [clean_line(each, _NAME) for each in facts if each]


def _judged(claim: ListedClaim) -> Iterator[str]:
    if claim.opinion is not None:
        yield f"Second opinion: {claim.opinion.text}"
    if (decision := claim.decision) is not None:
        who = f"{(decision.answer or 'note').capitalize()} by {decision.by}, {_when(decision.at)}"
        yield clean_line(": ".join(filter(None, (who, decision.note))), _NOTE)


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _pieces(claim: Claim, text: str, quote: TextQuote, other: str) -> Iterator[TextPart]:
    """What is near a quote in a text; marked is the quote, or of an altered quotation what `other` lacks."""
    is_altered = bool(other) and claim.kind == "quotation" and claim.state == "differs"
    (places,) = find_quotes([text.replace("\n", " ")], [quote])
    if not places:
        yield TextPart(clean_line(text, 2 * _AROUND))
        return
    begin, end = places[0].start, places[-1].end
    first = max(begin - 2 * _AROUND, text.rfind(" ", 0, begin - _AROUND) + 1) if begin > _AROUND else 0
    last = text.find(" ", end + _AROUND)
    last = last if 0 < last < end + 2 * _AROUND else end + _AROUND
    yield TextPart("…" * (first > 0) + _flat(text[first:begin]))
    if is_altered and max(len(other), end - begin) <= _LONGEST_COMPARED:
        yield from _different(text[begin:end], other)
    else:
        yield TextPart(_flat(text[begin:end][:_LONGEST_COMPARED]), True)
    yield TextPart(_flat(text[end:last]) + "…" * (len(text) > last))


def _different(text: str, other: str) -> Iterator[TextPart]:
    """A text in pieces; those that the other one does not have are marked."""
    ours, theirs = _WORDS.findall(text), _WORDS.findall(other)
    for kind, start, end, _, _ in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if start < end:
            yield TextPart(_flat("".join(ours[start:end])), kind != "equal")


def _flat(text: str) -> str:
    """A text on one line, with its spaces at both ends."""
    return clean(text).replace("\n", " ").replace("\t", " ")
