"""Gathers what a calculation may use for a figure of the report: values, and the words that announce it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property
from itertools import combinations

from ua_tui.observers.check.blocks import label_of
from ua_tui.observers.check.calculation import COLUMN, Calculation, Operand, Task, calculate, miscalculate
from ua_tui.observers.check.compare import EXACT
from ua_tui.observers.check.figures.context import CLAUSE, Context
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.vocabulary import Vocabulary, form_of, root
from ua_tui.observers.check.matching import Look
from ua_tui.observers.check.sources import roots
from ua_tui.observers.check.statements import Statement

_KEPT = 6
"""Values of the sentences before that a calculation may use."""
_BEFORE, _LONG_BEFORE = 0.5, 0.25
"""What it counts that the report has a value in the sentence before the claim's, or still before that."""
_PASSAGES, _ROWS = 5, 12
"""The nearest passages whose values are used, and the rows of a table before and after one."""
_POINTS = frozenset({"%", "pp", "point"})
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")
_BESIDE = 0.75
"""The weight of words that are directly beside a value: the next, or the one after it."""


class Earlier:
    """The values that the report has had so far: those of the sentences before, and of the columns of its tables."""

    def __init__(self) -> None:
        self.section = ""
        self.values: list[Operand] = []
        self.columns: dict[tuple[int, str], list[Operand]] = {}

    def enter(self, section: str) -> None:
        """Forget the sentences before if a section begins."""
        if section != self.section:
            self.section, self.values = section, []

    def add(self, statement: Statement, own: list[Operand]) -> None:
        """Keep the values of a sentence that the sources have or give."""
        self.values = [replace(each, level=_LONG_BEFORE) for each in self.values[-_KEPT:]]
        self.values += [replace(each, level=_BEFORE, role=0, at=-1) for each in own]
        for each in own if statement.block.cells else ():
            self.columns.setdefault(statement.column(each.at), []).append(replace(each, group=COLUMN))


class Operands:
    """The values that the figures of a sentence may be calculated from.

    `own` are those of the sentence that the sources have or give.
    """

    def __init__(self, look: Look, earlier: Earlier) -> None:
        self.look = look
        self.statement = look.statement
        self.passages = look.corpus.passages
        self.earlier = earlier
        self._task = cache(self._make_task)
        self.own = [
            replace(self._operand(match.passage, match.figure, 1.0), level=1.0, at=at)
            for at, match in enumerate(look.matches)
            if match is not None and match.problem in ("", "noun", "no rate")
        ]

    def explained(self, at: int) -> Calculation | None:
        """The calculation that gives a figure; from then on it is a value of its own."""
        figure, found = self.statement.figures[at], calculate(self._task(at))
        if found is None:
            return None
        first = found.operands[0]
        group = first.group if found.is_of_one else ""
        self.own.append(Operand(first.passage, figure, group, 1.0, at=at, behind=found.operands))
        return found

    def may_be_computed(self, at: int, passage: int) -> bool:
        """Whether two values of a passage have a figure as their sum or difference: then none stands in its place."""
        figure = self.statement.figures[at]
        units = _POINTS if figure.unit in _POINTS else {figure.unit}
        beside = [
            *self.passages[passage].figures,
            *(each.figure for each in self.own if each.passage != passage),
        ]
        values = [
            each.value
            for each in beside
            if each.kind == "amount"
            and each.unit in units
            and not (each.is_small and figure.noun != each.noun)
        ]
        return figure.kind == "amount" and any(
            abs(figure.value - each) <= EXACT * abs(each)
            for one, other in combinations(values, 2)
            for each in (one + other, abs(one - other))
        )

    def contradicted(self, at: int) -> Calculation | None:
        """The calculation that the report names for a figure and that gives something else."""
        return miscalculate(self._task(at))

    def _make_task(self, at: int) -> Task:
        """What may announce a calculation of a figure: the words of its clause, its sentence and its column."""
        statement, words = self.statement, self.look.words
        figure, text, cues = statement.figures[at], self._blanked, words.calculation
        start, end = figure.start - statement.start, figure.end - statement.start
        before = CLAUSE.split(text[max(0, start - 60) : start])[-1]
        after = CLAUSE.split(text[end : end + 40])[0]
        clause = range(figure.start - len(before), figure.end + len(after))
        if figure.bound in ("over", "under"):
            # "Less than half" announces no difference.
            before = words.bounds.sub("", before)
        headers = [cell.header for cell in statement.block.cells if cell.start <= figure.start < cell.end]
        sentence = frozenset(roots(text, frozenset()))
        around = frozenset(roots(" ".join([before, after, *headers]), frozenset()))
        around |= sentence if statement.block.cells else frozenset()
        names = {name for name in cues if cues[name] & (sentence if name in ("sum", "midpoint") else around)}
        if figure.unit == "×":
            names.add("ratio")
        if figure.rate:
            names.add("mean")
        if cues["mean"] & sentence:
            names.add("product")
        if figure.sign:
            names |= {"difference", "change"}
        if any(each.kind == "date" and each.start in clause for each in statement.figures):
            names.add("former")
        if root((after.split() or [""])[0]) in cues["of"]:
            names = (names | {"share"}) - {"sum"}
        if start > len(before) and self._is_same_again(before, after):
            is_directed = figure.sign or any(
                form_of(words.direction, each) for each in text.casefold().split()
            )
            names |= {"share", "change" if is_directed else "difference"}
        return Task(figure, frozenset(names), words, sentence, at, self._operands(at))

    def _is_same_again(self, before: str, after: str) -> bool:
        """Whether a figure says something again, as in "498 of 612, which is 81 percent": no other words are near."""
        words, cues = self.look.words, self.look.words.calculation
        known = cues["that is"].union(cues["difference"], cues["change"], cues["sum"])
        said = [
            word
            for word in before.casefold().split()
            if word not in words.common and not form_of(words.direction, word)
        ]
        is_more = any(form_of(words.direction, word) for word in after.casefold().split()[:2])
        return len(before) < 40 and not is_more and all(root(word) in known for word in said)

    @cached_property
    def _blanked(self) -> str:
        """The sentence without its figures: "per cent" announces no mean."""
        text = self.statement.text
        for figure in self.statement.figures:
            start, end = figure.start - self.statement.start, figure.end - self.statement.start
            text = f"{text[:start]}{'#' * (end - start)}{text[end:]}"
        return text

    def _operands(self, at: int) -> list[Operand]:
        """The values that a calculation may use: those of the report here and those of the nearest passages."""
        look, before = self.look, self.earlier.values
        operands = [self._named(each, at) for each in self.own if each.at != at] + before
        if self.statement.block.cells:
            operands += self.earlier.columns.get(self.statement.column(at), ())
        near = {each.passage: 1.0 for each in self.own}
        for passage in look.near[:_PASSAGES]:
            near.setdefault(passage, min(look.scores[passage] / self.statement.total, 1.0))
        for each in before[-2:]:
            near.setdefault(each.passage, 0.5)
        for row in self._rows(set(list(near)[:4])):
            near.setdefault(row, 0.3)
        for passage, nearness in near.items():
            for figure in self.passages[passage].figures:
                if figure.kind == "amount":
                    likeness = look.likeness(at, passage, figure)
                    operands.append(self._operand(passage, figure, nearness + likeness))
        return operands

    def _rows(self, near: set[int]) -> Iterator[int]:
        """The other rows of the tables that near passages belong to."""
        groups = {self.passages[number].group for number in near if self.passages[number].table}
        last = len(self.passages)
        around = {row for each in near for row in range(max(0, each - _ROWS), min(last, each + _ROWS))}
        return (row for row in sorted(around - near) if groups and self.passages[row].group in groups)

    def _named(self, operand: Operand, at: int) -> Operand:
        """A value of the sentence as a claim uses it; one before a semicolon is as far as in the sentence before."""
        figures, first = self.statement.figures, self.statement.start
        figure = figures[operand.at]
        start, end = sorted((figure.start - first, figures[at].start - first))
        if ";" in self._blanked[start:end]:
            return replace(operand, level=_BEFORE)
        role = _role(self._blanked, figure.start - first, figure.end - first, self.look.words)
        # "5 more than 40" in one clause has the thing compared with behind it.
        is_reference = operand.at > at and "#" in CLAUSE.split(self._blanked[: figure.start - first])[-1]
        return replace(operand, role=role or (-1 if is_reference else int(operand.at < at)))

    def _operand(self, passage: int, figure: Figure, nearness: float) -> Operand:
        """A value of a source, with what the words there say of its time."""
        known = self.passages[passage]
        role = _role(known.text, figure.start, figure.end, known.style.words)
        cells = list(known.cells)
        place = next((at for at, cell in enumerate(cells) if cell.start <= figure.start < cell.end), -1)
        header = cells[place].header if place >= 0 else ""
        # The year of the column, of the row, or of the clause.
        clause = CLAUSE.split(known.text[max(0, figure.start - 60) : figure.start])[-1]
        clause += CLAUSE.split(known.text[figure.end : figure.end + 60])[0]
        named = _YEAR.findall(header) or _YEAR.findall(known.text if known.cells else clause)
        year = int(named[0]) if len(named) == 1 else 0
        column = header or str(place)
        beside = frozenset(
            word for word, weight in self.look.source_profile(passage, figure).items() if weight > _BESIDE
        )
        return Operand(
            passage, figure, known.group, 0.0, nearness, role, year, column=column, beside=beside,
            is_addressed=bool(cells) and self._names(passage),
        )  # fmt: skip

    def _names(self, row: int) -> bool:
        """Whether the sentence has all words of the name of a table's row, or whether that is the row of totals."""
        known = self.passages[row]
        name = set(roots(label_of(known.text, known.cells), known.style.words.common))
        return bool(name) and (
            name <= self._said or not name.isdisjoint(known.style.words.calculation["sum"])
        )

    @cached_property
    def _said(self) -> set[str]:
        statement = self.statement
        return {
            *statement.weights,
            *roots(f"{statement.text} {statement.block.section}", self.look.words.common),
        }


def _role(text: str, start: int, end: int, words: Vocabulary) -> int:
    """Whether a value is, by the words beside it, a former one (-1) or the present one (1); 0 if they do not say."""
    clause, former = Context(text, words).clause(start, end), words.calculation["former"]
    near = [*clause.before[:4], *clause.behind[:40].casefold().split()[:5]]
    role = "past" if any(root(word) in former for word in near) else clause.role(4)
    return {"past": -1, "present": 1, "": 0}[role]
