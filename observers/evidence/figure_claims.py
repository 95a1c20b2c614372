"""Checks the figures of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import Claim, Evidence, Verdict
from ua_tui.observers.evidence.passages import passage
from ua_tui.observers.evidence.report import Report
from ua_tui.observers.evidence.sources import Sources, SourceText
from ua_tui.observers.evidence.tracing.computed import is_period, is_said_to_be_computed
from ua_tui.observers.evidence.tracing.implied_dates import implied_date
from ua_tui.observers.evidence.tracing.index import Place
from ua_tui.observers.evidence.tracing.neighbours import Neighbours
from ua_tui.observers.evidence.tracing.other_dates import other_date
from ua_tui.observers.evidence.tracing.places import Trace, Tracer, best
from ua_tui.observers.evidence.tracing.selection import Checked, select

_DISTINCT = 3
"""Significant digits from which a figure is hardly found by accident."""
_SHARE = 0.25
"""How much of the sentence has to be around a figure in a source that is not cited, at least."""
_CLEAR = 0.45
"""How much, so that it counts more than the bare figure in the source that is cited."""
_LONGEST_SENTENCE = 1_000
_ROUNDS = 2
"""How often figures are derived: the second time also from those that were derived the first time."""

_SUPPOSED = 150
"""Figures for which it is found out whether they may be computed."""


@dataclass(frozen=True)
class _Finding:
    """The verdict on a figure, with its note and the places behind it."""

    verdict: Verdict
    note: str = ""
    evidence: tuple[Evidence, ...] = ()
    trace: Trace | None = None

    @property
    def is_supported(self) -> bool:
        return self.verdict in {Verdict.TRACED, Verdict.CONVERTED, Verdict.DERIVED}


def check_figures(report: Report, sources: Sources, stop: Stop = NEVER) -> Iterator[Claim]:
    """Give a claim for each of the figures of the report.

    Raises:
        Stopped: the flag was set.
    """
    checked, weights = select(report, stop)
    if not checked:
        return
    findings = _Check(checked, sources, Tracer(sources.texts, weights, stop), stop).run()
    unread = None if sources.has_text else _Finding(Verdict.UNCHECKED, "The session has no source with text.")
    for each, finding in zip(checked, findings, strict=True):
        yield _claim(each, finding if finding.is_supported else unread or finding)


def _claim(each: Checked, finding: _Finding) -> Claim:
    sentence, figure = each.sentence, each.figure
    block = sentence.block
    start, end = block.source_range(sentence.start + figure.start, sentence.start + figure.end)
    first = max(each.at - _LONGEST_SENTENCE // 2, 0)
    return Claim(
        kind="figure",
        verdict=finding.verdict,
        text=figure.text,
        start=start,
        end=end,
        sentence=sentence.text[first : first + _LONGEST_SENTENCE],
        at=each.at - first,
        section=block.section,
        url=sentence.cites[0] if sentence.cites else "",
        note=finding.note,
        remarks=figure.remarks,
        evidence=finding.evidence,
    )


class _Check:
    """Decides on the figures: first those that a source has, then those that follow from them."""

    def __init__(self, checked: Sequence[Checked], sources: Sources, tracer: Tracer, stop: Stop) -> None:
        self._checked = checked
        self._sources = sources
        self._tracer = tracer
        self._stop = stop
        self._findings: list[_Finding] = []
        self._cited: dict[tuple[str, ...], Sequence[SourceText]] = {}

    def run(self) -> list[_Finding]:
        """Give the finding of each figure."""
        traces = [
            self._tracer.traces(each.figure, each.context, self._numbers(each)) for each in self._checked
        ]
        self._findings = [
            self._of_cited(each, found) for each, found in zip(self._checked, traces, strict=True)
        ]
        self._doubt_dates(traces)
        neighbours = Neighbours(self._checked, self._tracer)
        for _ in range(_ROUNDS):
            is_known = [finding.is_supported for finding in self._findings]
            known = [finding.trace for finding in self._findings]
            for number, each in enumerate(self._checked):
                self._stop.check()
                if is_known[number]:
                    continue
                if derived := neighbours.derive(number, is_known, known, self._texts(each)):
                    derivation, places = derived
                    evidence = tuple(_passage(place) for place in places[:3])
                    self._findings[number] = _Finding(Verdict.DERIVED, derivation.note, evidence)
        for number, (each, found) in enumerate(zip(self._checked, traces, strict=True)):
            if self._findings[number].verdict is Verdict.UNTRACED:
                self._findings[number] = self._of_others(each, found)
        self._doubt_computed(neighbours)
        return self._findings

    def _doubt_computed(self, neighbours: Neighbours) -> None:
        """Doubt what plausibly follows from other figures, also from those that are only plausible."""
        for _ in range(_ROUNDS):
            is_likely = [finding.verdict is not Verdict.UNTRACED for finding in self._findings]
            doubtful = [number for number, is_known in enumerate(is_likely) if not is_known]
            for number in doubtful[:_SUPPOSED]:
                self._stop.check()
                each = self._checked[number]
                if found := neighbours.suppose(number, is_likely, self._texts(each)):
                    self._findings[number] = _Finding(
                        Verdict.UNCHECKED, f"It may be computed, for example as {found}."
                    )

    def _doubt_dates(self, traces: Sequence[Sequence[Trace]]) -> None:
        """Doubt a year or a quarter if the source has another one beside the figure of its sentence."""
        sentences: dict[int, list[int]] = {}
        for number, each in enumerate(self._checked):
            sentences.setdefault(each.sentence.number, []).append(number)
        for numbers in sentences.values():
            dates = [
                at
                for at in numbers
                if self._checked[at].figure.kind == "date" and self._findings[at].is_supported
            ]
            if len(dates) != 1:
                continue
            companions = [
                trace.place
                for at in numbers
                if at != dates[0] and (trace := self._findings[at].trace) is not None and trace.common
            ]
            if found := other_date(
                self._checked[dates[0]], [trace.place for trace in traces[dates[0]]], companions
            ):
                shown = " ".join(found.figure.text.split())
                note = f"Beside the sentence's other figure, the source has “{shown}”."
                self._findings[dates[0]] = _Finding(Verdict.UNCHECKED, note, (_passage(found),))

    def _texts(self, each: Checked) -> Sequence[SourceText]:
        """The sources that hold for a figure: the cited ones, and all if none is cited."""
        cites = each.sentence.cites
        if not cites:
            return self._sources.texts
        if (texts := self._cited.get(cites)) is None:
            texts = self._cited[cites] = [text for url in cites for text in self._sources.cited(url)]
        return texts

    def _numbers(self, each: Checked) -> Sequence[int]:
        """The numbers of the sources that are cited for a figure."""
        return [text.number for text in self._texts(each)] if each.sentence.cites else ()

    def _of_cited(self, each: Checked, traces: Sequence[Trace]) -> _Finding:
        """What the cited sources say."""
        texts = self._texts(each)
        trace = best(traces, {text.number for text in texts})
        if trace is None:
            return self._of_publication(each, texts)
        if not trace.common:
            other = best(traces)
            if each.sentence.cites and other is not None and other.common > 1 and other.share >= _CLEAR:
                return _Finding(Verdict.UNTRACED)
            # A cell has hardly any words; without them, a figure of few digits is mostly about something else.
            is_clear = _is_distinct(each) or each.sentence.block.cell is not None
            note = "A source has this figure, but none of the sentence's words near it."
            verdict = Verdict.TRACED if is_clear else Verdict.UNCHECKED
            return _Finding(verdict, note, (_passage(trace.place),), trace if is_clear else None)
        return _traced(each, trace)

    def _of_publication(self, each: Checked, texts: Sequence[SourceText]) -> _Finding:
        """What the date of publication of a source, or the name of a month in it, says about a date."""
        if each.figure.kind == "date":
            for text in texts:
                if found := implied_date(each, text, self._tracer):
                    is_derived, note, evidence = found
                    return _Finding(Verdict.DERIVED if is_derived else Verdict.TRACED, note, (evidence,))
        return _Finding(Verdict.UNTRACED)

    def _of_others(self, each: Checked, traces: Sequence[Trace]) -> _Finding:
        """What is known of a figure that the cited sources do not have."""
        texts = self._texts(each)
        trace = best(traces)
        if trace is not None and each.sentence.cites and self._is_convincing(each, trace):
            title = trace.place.source.record.title or trace.place.source.record.url or "another source"
            return _Finding(
                Verdict.OTHER_SOURCE, f"Not in the cited source, but in “{title}”.", (_passage(trace.place),)
            )
        if each.sentence.cites and any(_is_unread(text) for text in texts):
            return _Finding(Verdict.UNCHECKED, "The text of the cited source was not read in full.")
        # "Nearly half" is how a report sums up what it has said before.
        is_worded = (
            each.figure.is_word and each.figure.kind in {"share", "multiple"} and not each.sentence.cites
        )
        if is_worded or is_said_to_be_computed(each.sentence.text, each.at, len(each.figure.text)):
            return _Finding(
                Verdict.UNCHECKED, "The report seems to have computed it; it was not found out from what."
            )
        is_time = each.figure.unit == "s" or "quarters" in each.figure.text
        if is_time and is_period(each.sentence.text, each.at, len(each.figure.text)):
            return _Finding(Verdict.UNCHECKED, "The report says so of a period; no source calls it so.")
        if not each.sentence.cites:
            return _Finding(Verdict.UNTRACED, "No source of the session has this figure near the same words.")
        if not texts:
            return _Finding(
                Verdict.UNTRACED, "The cited source was not read, and no other source has this figure."
            )
        return _Finding(Verdict.UNTRACED, "Neither the cited source nor another one has this figure.")

    def _is_convincing(self, each: Checked, trace: Trace) -> bool:
        """Whether a figure of another source is about the same thing."""
        figure = each.figure
        # Of a bare year, the note must not say that no other source has it.
        if _is_distinct(each) or (figure.kind == "date" and figure.date[1:] == (0, 0)):
            return trace.common > 0
        return trace.common > 1 and trace.share >= _SHARE


def _traced(each: Checked, trace: Trace) -> _Finding:
    evidence = (_passage(trace.place),)
    shown = " ".join(trace.place.figure.text.split())
    if trace.how == "rounded":
        return _Finding(Verdict.CONVERTED, f"The source has “{shown}”.", evidence, trace)
    if trace.how == "converted":
        return _Finding(Verdict.CONVERTED, f"Converted from “{shown}”.", evidence, trace)
    note = "The year stands elsewhere in the source." if trace.needs_year else ""
    return _Finding(Verdict.TRACED, note, evidence, trace)


def _passage(place: Place) -> Evidence:
    return passage(place.source, place.figure.start, place.figure.end)


def _is_distinct(each: Checked) -> bool:
    """Whether a figure has so many digits that it is hardly found by accident."""
    figure = each.figure
    if figure.kind == "date":
        return all(figure.date)
    digits = "".join(part for part in f"{abs(figure.value):f}" if part.isdigit()).strip("0")
    return len(digits) >= _DISTINCT


def _is_unread(text: SourceText) -> bool:
    return text.record.kind == "search_row" or text.record.gone or not text.text
