"""Finds the figures from which another one may have been computed: of its sentence, paragraph, table or source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from observers.evidence.figures.figure import Figure
from observers.evidence.sources import SourceText
from observers.evidence.tracing.derived import Derivation, Operand, derive, derive_total
from observers.evidence.tracing.index import Place
from observers.evidence.tracing.places import Trace, Tracer
from observers.evidence.tracing.selection import Checked

__all__ = ["Neighbours"]

_NEAR = 300
"""Characters between figures of a source that belong together."""
_SHARE = 0.35
"""How much of the sentence has to be around the figures of a source."""
_FIGURES = 3_000
"""Figures of a source among which those near the sentence's words are looked for."""
_CLUSTERS = 2
_MOST = 6
_SIZES = (2, 3, _MOST)
"""With so many of the nearest figures a computation is tried, the fewest first."""


class Neighbours:
    """The figures of a report by their paragraph, and by the row and the column of their table."""

    def __init__(self, checked: Sequence[Checked], tracer: Tracer) -> None:
        self._checked = checked
        self._tracer = tracer
        self._traces: Sequence[Trace | None] = [None] * len(checked)
        self._blocks: dict[int, list[int]] = {}
        self._rows: dict[tuple[int, int], list[int]] = {}
        self._columns: dict[tuple[int, int], list[int]] = {}
        for number, each in enumerate(checked):
            block = each.sentence.block
            self._blocks.setdefault(id(block), []).append(number)
            if block.cell is not None:
                self._rows.setdefault((block.cell.table, block.cell.row), []).append(number)
                self._columns.setdefault((block.cell.table, block.cell.column), []).append(number)

    def derive(
        self,
        number: int,
        is_known: Sequence[bool],
        traces: Sequence[Trace | None],
        texts: Sequence[SourceText],
    ) -> tuple[Derivation, list[Place]] | None:
        """Compute a figure from known figures near it, else from figures of the cited source near the same words."""
        each = self._checked[number]
        cell = each.sentence.block.cell
        self._traces = traces
        found = self._in_paragraph(number, is_known) if cell is None else self._in_table(number, is_known)
        if found is not None:
            known = (traces[operand.key] for operand in found.operands)
            return found, [trace.place for trace in known if trace is not None]
        return self._in_source(number, texts)

    def _operands(self, numbers: Sequence[int], is_known: Sequence[bool], but: int) -> list[Operand]:
        return [
            Operand(self._checked[at].figure, at, self._exact(at))
            for at in numbers
            if is_known[at] and at != but
        ]

    def _exact(self, number: int) -> Figure | None:
        """What a figure was rounded from."""
        trace, figure = self._traces[number], self._checked[number].figure
        if trace is None or trace.how == "same" or trace.place.figure.unit != figure.unit:
            return None
        value = float(figure.value)
        is_near = abs(float(trace.place.figure.value) - value) < 0.2 * abs(value)
        return trace.place.figure if is_near else None

    def _in_paragraph(self, number: int, is_known: Sequence[bool]) -> Derivation | None:
        each = self._checked[number]
        operands = self._operands(self._blocks[id(each.sentence.block)], is_known, number)
        same = [one for one in operands if self._checked[one.key].sentence is each.sentence]
        operands.sort(key=lambda one: abs(one.key - number))
        same.sort(key=lambda one: abs(one.key - number))
        text = each.sentence.text
        if found := derive(each.figure, same, text, each.at, is_same_sentence=True):
            return found
        return derive(each.figure, operands, text, each.at) if len(same) < len(operands) else None

    def _in_table(self, number: int, is_known: Sequence[bool]) -> Derivation | None:
        each = self._checked[number]
        cell = each.sentence.block.cell
        assert cell is not None
        column = self._columns[cell.table, cell.column]
        row = self._rows[cell.table, cell.row]
        for numbers in (column, row):
            others = [at for at in numbers if at != number]
            is_complete = len(others) > 1 and all(is_known[at] for at in others)
            if is_complete and (found := derive_total(each.figure, self._operands(others, is_known, number))):
                return found
        words = f"{cell.row_header} {cell.column_header} {each.sentence.text}"
        operands = self._operands(row, is_known, number)
        return derive(each.figure, operands, words, len(words) - len(each.sentence.text) + each.at)

    def _in_source(self, number: int, texts: Sequence[SourceText]) -> tuple[Derivation, list[Place]] | None:
        """Compute a figure from two figures near each other in the cited source."""
        each = self._checked[number]
        if not each.sentence.cites:
            return None
        cell = each.sentence.block.cell
        words = each.sentence.text
        if cell is not None:
            words = f"{cell.row_header} {cell.column_header} {words}"
        at = len(words) - len(each.sentence.text) + each.at
        for places in self._clusters(number, texts):
            operands = [Operand(place.figure, key) for key, place in enumerate(places)]
            for size in _SIZES:
                if found := derive(each.figure, operands[:size], words, at):
                    return found, [places[operand.key] for operand in found.operands]
                if size >= len(operands):
                    break
        return None

    def _clusters(self, number: int, texts: Sequence[SourceText]) -> Iterator[list[Place]]:
        """Figures that are near each other in a source: first around those that the same sentence has."""
        each = self._checked[number]
        allowed = {text.number for text in texts}
        for at in self._blocks[id(each.sentence.block)]:
            trace = self._traces[at]
            if trace is not None and trace.common and trace.place.source.number in allowed:
                yield self._around(trace.place.source, trace.place.number)
        for text in texts:
            for middle in self._alike(each, text):
                yield self._around(text, middle)

    def _alike(self, each: Checked, text: SourceText) -> Sequence[int]:
        """The figures of a source that have most of the sentence's words around them."""
        figures = text.figures
        if not 1 < len(figures) <= _FIGURES:
            return ()
        scored = []
        for number, figure in enumerate(figures):
            share, common = self._tracer.score(Place(text, figure, number), each.context)
            if share >= _SHARE and common > 1:
                scored.append((-share, number))
        chosen: list[int] = []
        for _, number in sorted(scored):
            if all(abs(figures[number].start - figures[other].start) > _NEAR for other in chosen):
                chosen.append(number)
            if len(chosen) == _CLUSTERS:
                break
        return chosen

    def _around(self, text: SourceText, number: int) -> list[Place]:
        """A figure of a source and those near it, the nearest first."""
        figures = text.figures
        middle = figures[number].start
        near = range(max(number - _MOST, 0), min(number + _MOST + 1, len(figures)))
        nearest = sorted(near, key=lambda at: abs(figures[at].start - middle))
        return [Place(text, figures[at], at) for at in nearest if abs(figures[at].start - middle) <= _NEAR][
            :_MOST
        ]
