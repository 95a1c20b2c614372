"""Finds the figures in the sources that may match those of a sentence, and says how near they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import ne

from ua_tui.observers.check.comparison.compare import (
    EXACT,
    Problem,
    are_moved,
    is_mistyped,
    is_same_date,
    is_same_value,
    problem_of,
    same_noun,
    span,
)
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.vocabulary import root, stem
from ua_tui.observers.check.passages import Passage, alike
from ua_tui.observers.check.sources import PassageIndex

_CANDIDATES = 60
"""Figures with a value that are compared with a claim, those of the nearest passages first."""
_NEAR = (0.40, 0.34, 0.22, 0.12)
"""How near a passage must be to a sentence to speak of the same thing, by the digits of the figure: figures with more
digits are rarely met by chance."""
_RARE, _SELDOM = 2, 5
"""Places of a value with three digits or more in all sources with which a third of that is enough, and of any value
with which two thirds are: what is there often is met by chance in large sessions."""
_LOCAL = 0.3
"""What the words around a figure count beside those of its whole sentence."""
_SMALLEST = 6
"""The smallest number of one digit that says in another scale or unit that they were mixed up."""
_AROUND = 0.4
"""The weight of words that are not in a passage itself, but in its headings or neighbours."""
_COMPANY = 0.12
"""What each other figure of the sentence adds to the nearness of a passage that has it, too, up to three."""
_BEGINNING = 5
"""Letters that two nouns of one word have in common: with them a true number of 256 in new reports is not red."""
_NOUN = 0.15
"""What it adds that both count the same noun."""


@dataclass(frozen=True, slots=True)
class Match:
    """A figure of a source that may be the claim's: how near its passage is, how alike its place, and what differs.

    `is_sure` says of one with another value that it is surely meant.
    """

    passage: int
    figure: Figure
    nearness: float
    likeness: float
    problem: Problem = ""
    is_sure: bool = False

    @property
    def rank(self) -> float:
        """How likely it is meant: the words of its sentence count less than those around it."""
        return self.nearness / 4 + self.likeness


class Look:
    """A sentence of the report beside the sources: which passages are near to it, and which figures may be its own.

    Attributes:
        passage: the sentence, heading or table row.
        weights: the roots of its words with what each says.
        outside: those of the headings above it and of the sentence before it.
        total: the weight of all words.
        likeness: how far the words around a figure and around a place of a passage are the same, from 0 to 1.
        scores: for each passage that shares words with the sentence their weight.
        places: for each figure in how many places the sources have its value.
        stated: those places, of all figures: the passages and where the values are in them.
        matches: for each figure the most likely one of the sources that has its value, if any.
    """

    def __init__(
        self,
        passage: Passage,
        weights: Mapping[str, float],
        outside: Mapping[str, float],
        corpus: PassageIndex,
    ) -> None:
        self.passage = passage
        self.weights, self.outside = weights, outside
        self.figures = passage.figures
        self.total = sum(weights.values()) or 1.0
        self.corpus = corpus
        self.words = passage.style.words
        self.likeness, self._nearness = cache(self._likeness), cache(self._nearness_of)
        self.scores = corpus.nearest(weights)
        same = [list(self._same(figure)) for figure in self.figures]
        self.company = Counter(passage for found in same for passage in {passage for passage, _ in found})
        self.places = [len(found) for found in same]
        self.stated = {(passage, source.start) for found in same for passage, source in found}
        self.matches = [self._match(at, found) for at, found in enumerate(same)]

    @cached_property
    def near(self) -> list[int]:
        """The passages that share words with the sentence, the nearest first."""
        return sorted(self.scores, key=lambda each: -self.scores[each])

    @property
    def found(self) -> list[Match]:
        """The matches without a problem."""
        return [match for match in self.matches if match is not None and not match.problem]

    def compare(self, at: int, passage: int, source: Figure, *, company: int = 0) -> Match:
        """How near a figure of a source is to one of the sentence; `company` counts others that both have."""
        figure, known = self.figures[at], self.corpus.passages[passage]
        nearness = self._nearness(passage)
        lacks = self._lacks_noun(figure, source, passage)
        counts_same = not source.noun or same_noun(figure, source, self.words)
        if figure.kind == "amount" and figure.noun and not lacks and counts_same:
            nearness += _NOUN
        nearness += _COMPANY * min(company, 3)
        problem = problem_of(figure, source, self.words)
        if problem == "noun" and known.style.words is not self.words:
            problem = ""
        if not problem and (lacks or self._lacks_rate(figure, source, passage)):
            problem = "noun" if lacks else "no rate"
        return Match(passage, source, min(nearness, 1.0), self.likeness(at, passage, source.start), problem)

    def _nearness_of(self, passage: int) -> float:
        """The share of the words of the sentence that are in a passage or around it."""
        known = self.corpus.passages[passage].words
        around, score = self.corpus.context(passage), self.scores.get(passage, 0.0)
        for word, weight in self.weights.items():
            if word in around and word not in known:
                score += _AROUND * weight
        for word, weight in self.outside.items():
            if word in around or word in known:
                score += weight
        return score / self.total

    def _likeness(self, at: int, passage: int, start: int) -> float:
        own, idf = self.passage.profiles[self.figures[at].start], self.corpus.idf
        there = self.corpus.passages[passage].profiles[start]
        return (alike(own, there, idf) + alike(there, own, idf)) / 2

    def is_near(self, figure: Figure, match: Match, places: int) -> bool:
        """Whether a passage speaks of what the sentence speaks of, as far as a figure of so many digits needs it.

        `places` is how often the sources have the value: what is there once or twice is hardly met by chance.
        """
        if figure.kind == "name":
            return True
        needed = _NEAR[min(digits_of(figure), len(_NEAR)) - 1]
        is_rare = places <= _RARE and digits_of(figure) > 2 and figure.unit != "%" and figure.kind == "amount"
        if self.corpus.passages[match.passage].style.words is not self.words:
            # A translation has few words in common.
            needed /= 2
        needed *= 1 / 3 if is_rare else 2 / 3 if places <= _SELDOM else 1.0
        return match.nearness + _LOCAL * match.likeness >= needed

    def is_of_kind(self, figure: Figure, source: Figure) -> bool:
        """Whether a source's figure with another value could be meant by a claim."""
        if source.kind != figure.kind:
            return False
        if figure.kind == "date":
            # A date that only leaves out a part of the claim's does not contradict it.
            return bool(figure.date[1]) == bool(source.date[1]) and not is_same_date(source, figure)
        if source.unit != figure.unit:
            is_elliptic = not (source.unit or source.noun or source.is_small or source.is_cell)
            is_scaled_alike = figure.readings[0].scale == source.readings[0].scale
            is_elliptic &= is_scaled_alike or figure.readings[0].shown == source.readings[0].shown
            return is_elliptic and is_slip(figure, source)
        is_count = figure.noun and source.noun
        return not is_count or same_noun(figure, source, self.words)

    def is_other_thing(self, at: int, match: Match) -> bool:
        """Whether a source surely counts something else with a claim's number: the claim's noun stands elsewhere.

        A writer who only uses another word for the same thing takes none that the sources have for something else:
        of 35 replaced nouns that the sources have elsewhere only, 16 are shown so, and one of 3,000 true figures is.
        """
        noun = self.figures[at].noun
        word, reach = root(noun), _BEGINNING if len(noun) >= _BEGINNING else None
        around = self.corpus.context(match.passage) | self.corpus.passages[match.passage].words
        # "Visits" may be made by "visitors".
        if word in self.corpus.by_word and word[:reach] not in {each[:reach] for each in around}:
            return True
        return any(each.noun == noun for each in self.corpus.passages[match.passage].figures)

    def _same(self, figure: Figure) -> Iterator[tuple[int, Figure]]:
        found = {each for wanted in span(figure) for each in self.corpus.having(*wanted)}
        tried = sorted(found, key=lambda each: -self.scores.get(each[0], 0.0))
        for passage, place in tried[:_CANDIDATES]:
            source = self.corpus.passages[passage].figures[place]
            if is_same(figure, source):
                yield passage, source

    def _match(self, at: int, same: Sequence[tuple[int, Figure]]) -> Match | None:
        """The source's figure that is most likely the claim's and near enough."""
        figure = self.figures[at]
        found = (self.compare(at, *each, company=self.company[each[0]] - 1) for each in same)
        near = [each for each in found if self.is_near(figure, each, len(same))]
        if figure.is_small:
            near = [each for each in near if self._has_noun(figure, each)]
        return min(near, key=lambda each: (bool(each.problem), -each.rank), default=None)

    def _lacks_noun(self, figure: Figure, source: Figure, passage: int) -> bool:
        """Whether what a claim counts is neither behind the source's figure, nor in the passage or around it."""
        known = self.corpus.passages[passage]
        if figure.kind != "amount" or not figure.noun or source.noun or known.style.words is not self.words:
            return False
        words = known.words | self.corpus.near[passage]
        if root(figure.noun) in words:
            return False
        same = self.words.same
        groups = same.get(stem(figure.noun), frozenset())
        return not any(groups & same.get(word, frozenset()) for word in words)

    def _lacks_rate(self, figure: Figure, source: Figure, passage: int) -> bool:
        """Whether no word of a passage says what a claim is per; a table may say it anywhere."""
        known, rates = self.corpus.passages[passage], set(figure.rate.split("|"))
        there = known.style.words
        if not figure.rate or source.rate or known.cells:
            return False
        named = [*there.rate_units.items(), *there.rate_words.items()]
        own = {root(word) for word, rate in named if rate in rates} | {root(figure.rate)}
        return own.isdisjoint(known.words)

    def _has_noun(self, figure: Figure, match: Match) -> bool:
        """Whether a passage counts what a small number counts."""
        if not figure.noun:
            return match.likeness > _LOCAL
        if match.figure.noun:
            return same_noun(figure, match.figure, self.words)
        return root(figure.noun) in self.corpus.passages[match.passage].words


def is_same(figure: Figure, source: Figure) -> bool:
    """Whether two figures have the same value, date or name."""
    if figure.kind == "date" and source.kind == "date":
        return is_same_date(figure, source)
    if "name" in (figure.kind, source.kind):
        # "Python 3.13" is found in "the version is 3.13".
        return figure.name == source.name or figure.text == source.text
    return is_same_value(figure, source)


def may_stand_for(figure: Figure, source: Figure) -> bool:
    """Whether a source's figure can be what a claim should say: of the same size, or of the same digits."""
    if figure.kind != "amount":
        return True
    if source.noun and not figure.noun:
        return False
    a, b = abs(figure.value), abs(source.value)
    return not a or not b or 0.05 < a / b < 20 or figure.digits == source.digits


def is_slip(figure: Figure, source: Figure) -> bool:
    """Whether a claim has the digits of a source with another scale or unit, or with digits changed or moved."""
    if figure.kind == "date":
        # Another year, month or day.
        return all(figure.date[:2]) and sum(map(ne, figure.date, source.date)) == 1
    if figure.kind == "name":
        return _is_typing_error(figure.name, source.name)
    one, other = figure.digits, source.digits
    if max(len(one), len(other)) < 2:
        # "30 g" for "30 mg", but not "five hours" for "five days" of something else.
        return _SMALLEST <= figure.readings[0].shown == source.readings[0].shown
    ratio = abs(figure.value / source.value) if source.value else 0.0
    if one == other:
        # "42 percent" is often the result of a calculation, and not 4.2 percent.
        return not figure.unit == source.unit == "%"
    # "54 percent" may be a rounded 54.5 percent.
    is_as_exact = source.readings[0].step <= figure.readings[0].step * 1.001 or len(one) == len(other)
    return is_as_exact and 0.3 < ratio < 3.4 and _is_typing_error(f"{one:0<3}", f"{other:0<3}")


def is_rescaled(figure: Figure, source: Figure) -> bool:
    """Whether an amount has the digits of a source's with another scale, of the same unit if the source names one."""
    is_elliptic = not (figure.unit or figure.noun)
    if (
        is_unscaled(figure)
        or is_unscaled(source)
        or (source.noun if is_elliptic else source.unit != figure.unit)
    ):
        # "2.1 million" of something is no "2,100 MWh", nor "2,100 photographs".
        return False
    one, other = figure.readings[0], source.readings[0]
    if one.scale == other.scale == 1 and one.written == other.written:
        return False
    if round(math.log10(one.written / other.written), 6) % 1:
        # 120 hours are about a thousandth of 14 years.
        return False
    size = 1e3 ** round(math.log10(abs(figure.value / source.value)) / 3)
    slack = one.coarse / 2 * (1 + EXACT) / size
    return size != 1 and abs(figure.value / size - source.value) <= slack


def change_of(figure: Figure, source: Figure) -> Problem:
    """What differs between two amounts of the same digits: scale, unit, order; "" if the digits are others."""
    if not (figure.kind == source.kind == "amount" and figure.value and source.value):
        return ""
    if is_rescaled(figure, source):
        # A share and an amount differ in their unit, not in their scale.
        return "unit" if (figure.unit == "%") != (source.unit == "%") else "scale"
    own, there = figure.readings[0], source.readings[0]
    # "1.4 million acres" for 1,376,000 hectares, and euros for dollars.
    is_measured = own.written != there.written and own.unit == there.unit != "time"
    is_measured |= own.unit != there.unit and all(_is_money(each.unit) for each in (own, there))
    slack = own.coarse / own.written / 2 if is_measured else abs(own.plain) * EXACT
    # "6.3 micrograms" in the air are 6.3 µg/m³.
    is_ratio = any("/" in each or each == "speed" for each in (own.unit, there.unit))
    is_other = own.unit != there.unit and not is_ratio
    is_other &= bool(there.unit or (source.noun and (source.is_bare or _is_money(own.unit))))
    if figure.unit and (is_other or is_measured) and abs(own.plain - there.plain) <= slack:
        return "unit"
    one, other = figure.digits, source.digits
    is_long = len(one) > 2 or abs(figure.value) >= 100
    is_long &= source.unit in ("", figure.unit) or (not figure.unit and (figure.is_cell or own.scale > 1))
    is_moved = is_long and 0.3 < abs(figure.value / source.value) < 3.4 and are_moved(one, other)
    return "digits" if is_moved else ""


def _is_money(unit: str) -> bool:
    return unit.isupper() or unit in ("crown", "franc")


def is_unscaled(figure: Figure) -> bool:
    """Whether an amount has neither a scale nor a unit, which may be anywhere, as in "All figures in thousands"."""
    return figure.readings[0].scale == 1 and not (figure.unit or figure.noun)


def digits_of(figure: Figure) -> int:
    """How many digits of a figure say something; a unit or a scale says as much as one."""
    if figure.kind == "date":
        return 1 + sum(map(bool, figure.date))
    digits = len(figure.digits)
    return digits + (not figure.is_bare and digits > 1)


def _is_typing_error(one: str, other: str) -> bool:
    """Whether two digits changed places, or one of three or more is another."""
    return are_moved(one, other) or (is_mistyped(one, other) and len(one.rstrip("0")) >= 3)
