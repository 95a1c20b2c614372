"""Finds the figures from which another one may have been computed: of its sentence, paragraph, table or source."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest

from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.sources import SourceText
from ua_tui.observers.evidence.tracing.derived import Derivation, Operand, derive, derive_total, is_computing
from ua_tui.observers.evidence.tracing.index import Place
from ua_tui.observers.evidence.tracing.places import Context, Trace, Tracer
from ua_tui.observers.evidence.tracing.plausible import may_follow
from ua_tui.observers.evidence.tracing.selection import Checked

_NEAR = 300
"""Characters between figures of a source that belong together."""
_SHARE = 0.35
"""How much of the sentence has to be around the figures of a source."""
_FIGURES = 3_000
"""Figures of a source among which those near the sentence's words are looked for."""
_CLUSTERS = 2
_SCORED = 60
_REACH = 40
"""Figures of the report before and after one that are looked at."""
_CELLS = 200
"""Cells of a row or column that may be summed up."""
_MOST = 6
_WIDE, _MANY = 800, 16
"""Characters and figures that are looked at for a computation that only may be."""
_SHORT, _SHORT_TEXTS = 120, 3
"""Figures of a source all of which are looked at for it, and how many such sources."""
_TOTAL = re.compile(r"\b(?:total\w*|sum|summe|gesamt|insgesamt|overall|ensemble|suma)\b", re.IGNORECASE)
_USED = 8
"""Sources, of those that the report's figures are from, in which uncited figures are computed."""


class Neighbours:
    """The figures of a report by their paragraph, and by the row and the column of their table."""

    def __init__(self, checked: Sequence[Checked], tracer: Tracer) -> None:
        self._checked = checked
        self._tracer = tracer
        self._traces: Sequence[Trace | None] = [None] * len(checked)
        self._blocks: dict[int, list[int]] = {}
        self._rows: dict[tuple[int, int], list[int]] = {}
        self._columns: dict[tuple[int, int], list[int]] = {}
        self._words: dict[int, Mapping[str, Sequence[int]]] = {}
        self._alikes: dict[object, Sequence[int]] = {}
        self._in_sources: dict[int, tuple[Derivation, list[Place]] | None] = {}
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
        if number not in self._in_sources:
            self._in_sources[number] = self._in_source(number, texts)
        return self._in_sources[number]

    def suppose(self, number: int, is_likely: Sequence[bool], texts: Sequence[SourceText]) -> str:
        """Give a computation by which a figure may follow from others of its sentence or row and of the source."""
        each = self._checked[number]
        block, cell = each.sentence.block, each.sentence.block.cell
        near = self._blocks[id(block)] if cell is None else self._rows[cell.table, cell.row]
        own = self._operands(_around(near, number, _MOST), is_likely, number)
        words = each.sentence.text
        if cell is not None:
            words = f"{cell.row_header} {cell.column_header} {words}"
        at = len(words) - len(each.sentence.text) + each.at
        if found := may_follow(each.figure, own, words, at):
            return found
        own = [one for one in own if cell is not None or self._checked[one.key].sentence is each.sentence]
        for places in self._supposed(number, texts if each.sentence.cites else self._used(), words, at):
            operands = [Operand(place.figure, key) for key, place in enumerate(places)]
            if found := may_follow(each.figure, operands, words, at):
                return found
            if own and (found := may_follow(each.figure, [*own, *operands], words, at)):
                return found
        return ""

    def _supposed(
        self, number: int, texts: Sequence[SourceText], words: str, at: int
    ) -> Iterator[Sequence[Place]]:
        """Figures of the source that are near each other; all, if the report computes and the source is short."""
        yield from self._clusters(number, texts, _WIDE, _MANY)
        each = self._checked[number]
        if not is_computing(each.figure, words, at):
            return
        short = [text for text in texts if len(text.figures) <= _SHORT][:_SHORT_TEXTS]
        for text in short:
            for first in range(0, len(text.figures), _MANY // 2):
                places = [
                    Place(text, text.figures[at], at) for at in range(len(text.figures))[first:][:_MANY]
                ]
                if any(self._tracer.score(place, each.context)[1] for place in places):
                    yield places

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
        operands = self._operands(_around(self._blocks[id(each.sentence.block)], number), is_known, number)
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
            if len(numbers) > _CELLS:
                continue
            others = [at for at in numbers if at != number and (is_known[at] or not self._is_total(at))]
            is_complete = len(others) > 1 and all(is_known[at] for at in others)
            if is_complete and (found := derive_total(each.figure, self._operands(others, is_known, number))):
                return found
        words = f"{cell.row_header} {cell.column_header} {each.sentence.text}"
        operands = self._operands(_around(row, number), is_known, number)
        return derive(each.figure, operands, words, len(words) - len(each.sentence.text) + each.at)

    def _is_total(self, number: int) -> bool:
        cell = self._checked[number].sentence.block.cell
        return cell is not None and _TOTAL.search(f"{cell.row_header} {cell.column_header}") is not None

    def _in_source(self, number: int, texts: Sequence[SourceText]) -> tuple[Derivation, list[Place]] | None:
        """Compute a figure from figures near each other in the cited source, else in one that the report uses."""
        each = self._checked[number]
        if not each.sentence.cites:
            texts = self._used()
        cell = each.sentence.block.cell
        words = each.sentence.text
        if cell is not None:
            words = f"{cell.row_header} {cell.column_header} {words}"
        at = len(words) - len(each.sentence.text) + each.at
        for places in self._clusters(number, texts):
            operands = [Operand(place.figure, key) for key, place in enumerate(places)]
            if found := derive(each.figure, operands, words, at):
                return found, [places[operand.key] for operand in found.operands]
        return None

    def _used(self) -> Sequence[SourceText]:
        """The sources that most of the traced figures of the report are from."""
        sources = [trace.place.source for trace in self._traces if trace is not None]
        counts = Counter(source.number for source in sources)
        by_number = {source.number: source for source in sources}
        return [by_number[number] for number, _ in counts.most_common(_USED)]

    def _clusters(
        self, number: int, texts: Sequence[SourceText], reach: int = _NEAR, most: int = _MOST
    ) -> Iterator[list[Place]]:
        """Figures that are near each other in a source: first around those that the same sentence has."""
        each = self._checked[number]
        allowed = {text.number for text in texts}
        near: Sequence[int] = _around(self._blocks[id(each.sentence.block)], number, _MOST)
        if not each.sentence.cites:
            near = range(max(number - _MOST, 0), min(number + _MOST + 1, len(self._checked)))
        for at in sorted(near, key=lambda at: abs(at - number)):
            trace = self._traces[at]
            if trace is not None and trace.common and trace.place.source.number in allowed:
                yield self._cluster(trace.place.source, trace.place.number, reach, most)
        for text in texts:
            for middle in self._alike(each.context, text):
                yield self._cluster(text, middle, reach, most)

    def _alike(self, context: Context, text: SourceText) -> Sequence[int]:
        """The figures of a source that have most of the sentence's words around them."""
        key = context.near, context.wide, text.number
        if (known := self._alikes.get(key)) is None:
            known = self._alikes[key] = self._find_alike(context, text)
        return known

    def _find_alike(self, context: Context, text: SourceText) -> Sequence[int]:
        figures = text.figures
        if not 1 < len(figures) <= _FIGURES:
            return ()
        words = self._words_of(text)
        shared: Counter[int] = Counter()
        for word in sorted(context.near):
            shared.update(words.get(word, ()))
        scored = []
        for number in nlargest(_SCORED, shared, key=lambda at: (shared[at], -at)):
            share, common = self._tracer.score(Place(text, figures[number], number), context)
            if share >= _SHARE and common > 1:
                scored.append((-share, number))
        chosen: list[int] = []
        for _, number in sorted(scored):
            if all(abs(figures[number].start - figures[other].start) > _NEAR for other in chosen):
                chosen.append(number)
            if len(chosen) == _CLUSTERS:
                break
        return chosen

    def _words_of(self, text: SourceText) -> Mapping[str, Sequence[int]]:
        """The numbers of the figures of a source by the words around them."""
        if (words := self._words.get(text.number)) is None:
            found: defaultdict[str, list[int]] = defaultdict(list)
            for number, figure in enumerate(text.figures):
                for word in self._tracer.stems_at(Place(text, figure, number)):
                    found[word].append(number)
            words = self._words[text.number] = found
        return words

    def _cluster(self, text: SourceText, number: int, reach: int, most: int) -> list[Place]:
        """A figure of a source and those near it, the nearest first."""
        figures = text.figures
        middle = figures[number].start
        near = range(max(number - most, 0), min(number + most + 1, len(figures)))
        nearest = sorted(near, key=lambda at: abs(figures[at].start - middle))
        return [Place(text, figures[at], at) for at in nearest if abs(figures[at].start - middle) <= reach][
            :most
        ]


def _around(numbers: Sequence[int], number: int, reach: int = _REACH) -> Sequence[int]:
    """Those of the ascending numbers that are next to one of them."""
    at = bisect_left(numbers, number)
    return numbers[max(at - reach, 0) : at + reach + 1]
