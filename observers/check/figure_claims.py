"""Checks the figures of a report: each is looked for in passages that speak of the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ua_tui.core.claims.records import Claim, Passage, State, TextQuote
from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.observers.check.blocks import Document, Places, sentences
from ua_tui.observers.check.comparison.calculation import Calculation, Operand
from ua_tui.observers.check.comparison.compare import Problem
from ua_tui.observers.check.comparison.doubts import (
    altered,
    instead_of,
    is_contrary,
    misdated,
    rival_of,
    swapped,
)
from ua_tui.observers.check.comparison.matching import Look, Match
from ua_tui.observers.check.comparison.operands import Operands
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.numbers import Style
from ua_tui.observers.check.figures.vocabulary import roots
from ua_tui.observers.check.passages import Passage as Sentence
from ua_tui.observers.check.sources import PassageIndex

_MOST = 5_000
"""Figures of a report that are checked."""
_MOST_CLOSE = 300
"""Doubtful figures for which calculations are looked for: each may take some hundredths of a second."""
_SEEN = 0.2
"""The share of a sentence's words that the passage shows that is named for a claim without any other."""
_TITLE, _ABOVE = 0.15, 0.3
"""What words of the title, and of the heading above a sentence and the sentence before it, count of what its own do."""
_NUMBERING = re.compile(r"\d{1,2}(?:\.\d{1,2})*[.)]?\s")
_NOTHING = Figure(start=0, end=0, text="")
_OPPOSED = "Two values in the sources give this change, but in the opposite direction."
_POINTS = "Two values in the sources differ by this number of percentage points, not by this percentage."
_WRONG = "The values that it is calculated from give another result."
_SWAPPED = "The source has these figures the other way round."
_CONTRARY = "The direction in the sentence does not fit its two values."
_ATTRIBUTES: frozenset[Problem] = frozenset({"rate", "direction", "scale", "unit", "digits"})
"""What is surely wrong if a source has the same value with another one."""
_NOTES: dict[Problem, str] = {
    "rate": "The source gives this value for a different period or unit.",
    "direction": "The source has this value in the opposite direction.",
    "comparison": "The source compares this value in another way.",
    "noun": "The source gives this number for something else.",
    "scale": "The digits are the same, but the scale is different.",
    "unit": "The digits are the same, but the unit is different.",
    "date": "No source contains this date.",
    "digits": "The digits are the same, but in another order.",
    "no rate": "The source does not give this value as a rate.",
    "elsewhere": "The source gives this value for something else, and a different value for this.",
}


def check_figures(
    document: Document, style: Style, corpus: PassageIndex, places: Places
) -> Iterator[tuple[int, Claim]]:
    """Give a claim, and its place in the visible text, for each figure of the report.

    Raises:
        Stopped: the result is no longer needed.
    """
    close = iter(range(_MOST_CLOSE))
    count, section, before = 0, "", list[Operand]()
    for look, cites in _looks(document, style, corpus):
        check_stopped()
        if look.passage.heading != section:
            section, before = look.passage.heading, []
        operands = Operands(look, before)
        judge = _Judge(look, cites, places, operands, close)
        for figure, claim in zip(look.figures, judge.claims(), strict=True):
            count += 1
            if count > _MOST:
                document.notices.append(f"Only the first {_MOST:,} figures were checked.")
                return
            yield places.place(look.passage.number, figure.start), claim
        before = operands.for_next()


def _looks(document: Document, style: Style, corpus: PassageIndex) -> Iterator[tuple[Look, str]]:
    """Give the sentences with figures, but those that speak of the report itself, and the first address each cites."""
    common, before = style.words.common, list[str]()
    title = roots(document.title, common)
    for number, block in enumerate(document.blocks):
        section = roots(block.section, common)
        # The number of a heading is no figure.
        numbering = _NUMBERING.match(block.text) if block.kind == "heading" else None
        whole = [(numbering.end() if numbering else 0, len(block.text))]
        is_whole = block.cells or block.kind == "heading"
        for part in whole if is_whole else sentences(block.text, style.words.abbreviations):
            row = block.cells, block.table, block.caption
            own = Sentence(0, number, block.text, block.section, style, *row, *part)
            headers = " ".join([block.caption, *(cell.header for cell in block.cells)])
            said = roots(f"{own.sentence} {headers}", common)
            if own.figures and not style.words.itself.search(own.sentence):
                weights = {word: corpus.idf(word) for word in said if not word.isdigit()}
                outside = {
                    word: factor * corpus.idf(word)
                    for factor, words in ((_TITLE, title), (_ABOVE, section), (_ABOVE, before))
                    for word in words
                    if word not in weights and not word.isdigit()
                }
                cites = next((url for a, b, url in block.links if a < part[1] and part[0] <= b), "")
                yield Look(own, weights, outside, corpus), cites
            before = said


@dataclass
class _Judge:
    """Gives the figures of a sentence their states.

    `cites` is the first address that it links to; `close` counts the figures that are looked at closely.
    """

    look: Look
    cites: str
    places: Places
    operands: Operands
    close: Iterator[int]

    def claims(self) -> Iterator[Claim]:
        """Give the claims of the sentence, in order."""
        exchanged = swapped(self.look)
        for at, match in enumerate(self.look.matches):
            if at in exchanged:
                yield self._instead(at, exchanged[at], _SWAPPED)
            elif is_contrary(self.look, at):
                near = [match] if match is not None else self._nearest()
                yield self._claim(at, "differs", near, note=_CONTRARY)
            elif match is None or match.problem:
                yield self._doubted(at, match)
            elif (rival := rival_of(self.look, at, match)) is not None:
                yield self._doubted(at, rival)
            else:
                yield self._claim(at, "found", [match])

    def _doubted(self, at: int, match: Match | None) -> Claim:
        """The claim of a figure that no passage has, or not as the report has it, or for something else."""
        figure = self.look.figures[at]
        if next(self.close, None) is None:
            return self._claim(at, "not looked at" if figure.is_small else "not found", self._nearest())
        problem = match.problem if match is not None else ""
        made = self.operands.explained(at) if problem not in ("rate", "no rate") else None
        if made is not None and (not problem or made.is_change_of(problem)):
            return self._calculated(at, made)
        if match is not None and problem:
            is_sure = problem in _ATTRIBUTES or (problem == "noun" and self.look.is_other_thing(at, match))
            return self._instead(at, replace(match, is_sure=is_sure or match.is_sure))
        other = instead_of(self.look, at)
        changed = altered(self.look, at) or misdated(self.look, at)
        # "23 faults" may be anywhere: what stands in the place of "23 percent" says more.
        if changed is not None and not (changed.problem == "unit" and other is not None and other.is_sure):
            return self._instead(at, changed)
        if figure.is_small:
            return self._claim(at, "not looked at", [])
        if other is not None:
            return self._instead(at, other, "")
        return self._claim(at, "not found", self._nearest())

    def _calculated(self, at: int, made: Calculation) -> Claim:
        """The claim of a figure that a calculation gives, as it is or in the other direction, or gives otherwise."""
        values = [each for operand in made.operands for each in operand.behind or (operand,)]
        doubt = _OPPOSED if made.is_opposed else ""
        if made.is_wrong:
            doubt = _POINTS if made.name == "points" else _WRONG
        state: State = "differs" if doubt else "calculated"
        return self._claim(at, state, values, note=doubt or f"Calculated: {made.name}.", formula=made.formula)

    def _instead(self, at: int, other: Match, note: str | None = None) -> Claim:
        """The claim of a figure in whose place a source has another one; without a note it says what differs."""
        is_same = other.problem in (*_ATTRIBUTES, "noun")
        is_sure = other.is_sure and (is_same or not self.operands.may_be_computed(at, other.passage))
        state: State = "differs" if is_sure else "not found"
        instead, note = other.figure.text if is_sure else "", _NOTES[other.problem] if note is None else note
        return self._claim(at, state, [other], instead=instead, note=note)

    def _nearest(self) -> list[Match]:
        best = next(iter(self.look.near), None)
        if best is None or self.look.scores[best] < _SEEN * self.look.total:
            return []
        return [Match(best, _NOTHING, 0.0, 0.0)]

    # The records

    def _claim(self, at: int, state: State, values: Sequence[Match | Operand], **more: Any) -> Claim:
        """A claim with the passages of these values; `more` are other fields."""
        own, figure = self.look.passage, self.look.figures[at]
        return Claim(
            kind="figure",
            state=state,
            quote=self.places.quote(own.number, figure.start, figure.end),
            sentence=own.sentence.strip(),
            section=own.heading,
            url=self.cites,
            passages=tuple(map(self._passage, values)),
            **more,
        )

    def _passage(self, value: Match | Operand) -> Passage:
        known = self.look.corpus.passages[value.passage]
        start, end = value.figure.start, value.figure.end
        return Passage(
            source=known.source,
            text=known.text,
            quote=TextQuote.of(known.text, start, end),
            headers=known.headers,
        )
