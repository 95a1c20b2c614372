"""Finds the figures from which another one may have been computed: of its sentence, paragraph, table or source."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

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


class Neighbours:
    """The figures of a report by their paragraph, and by the row and the column of their table."""

    def __init__(self, checked: Sequence[Checked], tracer: Tracer) -> None:
        self._checked = checked
        self._tracer = tracer
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
        found = self._in_paragraph(number, is_known) if cell is None else self._in_table(number, is_known)
        if found is not None:
            known = (traces[operand.key] for operand in found.operands)
            return found, [trace.place for trace in known if trace is not None]
        return self._in_source(each, texts)

    def _operands(self, numbers: Sequence[int], is_known: Sequence[bool], but: int) -> list[Operand]:
        return [Operand(self._checked[at].figure, at) for at in numbers if is_known[at] and at != but]

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

    def _in_source(self, each: Checked, texts: Sequence[SourceText]) -> tuple[Derivation, list[Place]] | None:
        """Compute a figure from two figures near each other in the cited source."""
        if not each.sentence.cites:
            return None
        for text in texts:
            for places in self._clusters(each, text):
                operands = [Operand(place.figure, at) for at, place in enumerate(places)]
                cell = each.sentence.block.cell
                words = each.sentence.text
                if cell is not None:
                    words = f"{cell.row_header} {cell.column_header} {words}"
                at = len(words) - len(each.sentence.text) + each.at
                if found := derive(each.figure, operands, words, at):
                    return found, [places[operand.key] for operand in found.operands]
        return None

    def _clusters(self, each: Checked, text: SourceText) -> list[list[Place]]:
        """The figures around the places of a source that have most of the sentence's words."""
        figures = text.figures
        if not 1 < len(figures) <= _FIGURES:
            return []
        scored = []
        for number, figure in enumerate(figures):
            place = Place(text, figure, number)
            share, common = self._tracer.score(place, each.context)
            if share >= _SHARE and common > 1:
                scored.append((share, -number))
        scored.sort(reverse=True)
        starts = [figure.start for figure in figures]
        clusters: list[list[Place]] = []
        for _, negative in scored:
            middle = figures[-negative].start
            if any(cluster[0].figure.start <= middle <= cluster[-1].figure.start for cluster in clusters):
                continue
            first, last = bisect_left(starts, middle - _NEAR), bisect_left(starts, middle + _NEAR)
            nearest = sorted(range(first, last), key=lambda at: abs(figures[at].start - middle))[:6]
            clusters.append([Place(text, figures[at], at) for at in sorted(nearest)])
            if len(clusters) == _CLUSTERS:
                break
        return clusters
