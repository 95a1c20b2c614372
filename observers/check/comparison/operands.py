"""Gathers what a calculation may use for a figure of the report: values, and the words that announce a calculation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from ua_tui.observers.check.comparison.calculation import Calculation, Operand, Task, calculate
from ua_tui.observers.check.comparison.matching import Look
from ua_tui.observers.check.figures.context import CLAUSE
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.vocabulary import root, roots

_KEPT = 6
"""Values of the sentences before that a calculation may use."""
_BEFORE, _LONG_BEFORE = 0.5, 0.25
"""What it counts that the report has a value in the sentence before the claim's, or still before that."""
_PASSAGES = 5
"""The nearest passages whose values are used."""
_POINTS = frozenset({"%", "pp", "point"})


class Operands:
    """The values that the figures of a sentence may be calculated from.

    `own` are those of the sentence that the sources have or give, `before` those of earlier sentences of its section.
    """

    def __init__(self, look: Look, before: Sequence[Operand]) -> None:
        self.look = look
        self.passages = look.corpus.passages
        self.before = before
        self.own = [
            replace(self._operand(match.passage, match.figure, 1.0), level=1.0, at=at)
            for at, match in enumerate(look.matches)
            if match is not None and match.problem in ("", "noun", "no rate")
        ]

    def explained(self, at: int) -> Calculation | None:
        """The calculation that gives a figure, or should give it; if it does, the figure is a value of its own."""
        figure, found = self.look.figures[at], calculate(self._task(at))
        if found is None or found.is_opposed or found.is_wrong:
            return found
        first = found.operands[0]
        group = first.group if found.is_of_one else ""
        self.own.append(Operand(first.passage, figure, group, 1.0, at=at, behind=found.operands))
        return found

    def for_next(self) -> list[Operand]:
        """The values for the next sentence of the section."""
        kept = [replace(each, level=_LONG_BEFORE) for each in self.before[-_KEPT:]]
        last = (replace(each, level=_BEFORE, moment=(0, each.moment[1]), at=-1) for each in self.own)
        return [*kept, *last]

    def may_be_computed(self, at: int, passage: int) -> bool:
        """Whether two values of a passage have a figure as their sum, difference or mean: then none stands there."""
        figure = self.look.figures[at]
        beside = [*self.passages[passage].figures, *(each.figure for each in self.own)]
        units = _POINTS if figure.unit in _POINTS else {figure.unit}
        values = {each.value for each in beside if each.kind == "amount" and each.unit in units}
        return any(
            math.isclose(figure.value, each)
            for one, other in combinations(values, 2)
            for each in (one + other, abs(one - other), (one + other) / 2)
        )

    def _task(self, at: int) -> Task:
        """What may announce a calculation of a figure: the words of its clause, its sentence and its column."""
        own, words = self.look.passage, self.look.words
        figure, text, cues = self.look.figures[at], own.blanked, words.calculation
        before = CLAUSE.split(text[own.start : figure.start])[-1]
        after = CLAUSE.split(text[figure.end : figure.end + 40])[0]
        if figure.bound in ("over", "under"):
            # "Less than half" announces no difference.
            before = words.bounds.sub("", before)
        sentence = frozenset(roots(text[own.start : own.end], frozenset()))
        around = frozenset(roots(" ".join([before, after, own.header(figure)]), frozenset()))
        around |= sentence if own.cells else frozenset()
        names = {name for name in cues if cues[name] & (sentence if name == "sum" else around)}
        if figure.unit == "×":
            names.add("ratio")
        if figure.rate:
            names.add("mean")
        if figure.sign:
            names |= {"difference", "change"}
        if root((after.split() or [""])[0]) in cues["of"]:
            names.add("share")
        nearest = next(iter(self.look.near), -1)
        return Task(figure, frozenset(names), words, sentence, self._operands(at), nearest)

    def _operands(self, at: int) -> list[Operand]:
        """The values that a calculation may use: those of the report here and those of the nearest passages."""
        look, before = self.look, self.before
        operands = [*(self._named(each, at) for each in self.own if each.at != at), *before]
        near = {each.passage: 1.0 for each in self.own}
        for passage in look.near[:_PASSAGES]:
            near.setdefault(passage, min(look.scores[passage] / look.total, 1.0))
        for each in before[-2:]:
            near.setdefault(each.passage, 0.5)
        for passage, nearness in near.items():
            for figure in self.passages[passage].figures:
                if figure.kind == "amount":
                    likeness = look.likeness(at, passage, figure.start)
                    operands.append(self._operand(passage, figure, nearness + likeness))
        return operands

    def _named(self, operand: Operand, at: int) -> Operand:
        """A value of the sentence as a claim uses it; one before a semicolon is as far as in the sentence before."""
        figures = self.look.figures
        figure = figures[operand.at]
        start, end = sorted((figure.start, figures[at].start))
        text = self.look.passage.blanked
        if ";" in text[start:end]:
            return replace(operand, level=_BEFORE)
        role, _ = self.look.passage.moments[figure.start]
        # "5 more than 40" in one clause has the thing compared with behind it.
        before = CLAUSE.split(text[self.look.passage.start : figure.start])[-1]
        is_reference = operand.at > at and "#" in before
        role = role or (-1 if is_reference else int(operand.at < at))
        return replace(operand, moment=(role, operand.moment[1]))

    def _operand(self, passage: int, figure: Figure, nearness: float) -> Operand:
        """A value of a source, with what the words there say of its time."""
        known = self.passages[passage]
        column = known.header(figure) or str(known.column(figure))
        moment = known.moments[figure.start]
        return Operand(passage, figure, known.group, 0.0, nearness, moment, column=column)
