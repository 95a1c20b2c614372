"""Measures a check of reports with true reports and planted errors.

`python -m tests.bench.evidence.true_scores MODULE:FUNCTION FOLDER… [--pool] [--details]` prints the figures. The
function takes the text of a report, its media type and its sources, and returns its marks; `--pool` gives it the
sources of all reports at once, as in a long session.
"""

from __future__ import annotations

import argparse
import importlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.evidence.true_reports import (
    ERRORS,
    Planted,
    SourceText,
    Span,
    TrueReport,
    locate,
    place_of_error,
    read_reports,
    reader_text,
    squeezed,
)

Mark = tuple[str, str] | tuple[str, str, str, str]
"""Exact text and state, or with what stands before and after it; of a link, the text is its address."""
Check = Callable[[str, str, Sequence[SourceText]], Sequence[Mark]]

GREEN, AMBER, RED, NONE = "green", "amber", "red", "none"
_COLOURS = {"found": GREEN, "calculated": GREEN, "not found": AMBER, "differs": RED, "never seen": RED}
_GRAVITY = (NONE, GREEN, AMBER, RED)
NEVER_GREEN = ("wrong scale", "flipped sign", "other rate", "other unit of count")
WRONG_VALUES = ("wrong value", "wrong scale", "flipped sign", "other rate", "other unit of count", "other period",
                 "swapped values", "wrong calculation")  # fmt: skip


@dataclass(frozen=True)
class Placed:
    """A mark where a reader sees it; of a link, or if the text is nowhere to be seen, without a place."""

    exact: str
    state: str
    place: tuple[int, int] | None

    @property
    def colour(self) -> str:
        return _COLOURS.get(self.state, NONE)


@dataclass
class Scores:
    """What was counted: colours of true places and of errors, and which red and amber marks were right."""

    reports: int = 0
    reports_red: int = 0
    true: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    planted: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    languages: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    acceptable: Counter[str] = field(default_factory=Counter)
    expected: Counter[str] = field(default_factory=Counter)
    accusations: Counter[tuple[str, bool]] = field(default_factory=Counter)
    calculations: Counter[str] = field(default_factory=Counter)
    nowhere: int = 0
    details: list[str] = field(default_factory=list)


def place_marks(report: TrueReport, text: str, marks: Sequence[Mark]) -> list[Placed]:
    """Where marks are; one without surroundings is at the next place with this text that has none yet."""
    seen = report.seen if text == report.text else reader_text(text, report.case.media_type)
    ends: dict[str, int] = {}
    placed = []
    for exact, state, *around in marks:
        prefix, suffix = around or ("", "")
        place = locate(seen, exact, prefix, suffix, ends.get(exact, 0))
        if place is None and (at := seen.find(squeezed(exact), ends.get(exact, 0))) >= 0 and exact.strip():
            place = at, at + len(squeezed(exact))
        if place is not None:
            ends[exact] = place[1]
        placed.append(Placed(exact, state, place))
    return placed


def _touching(marks: Sequence[Placed], place: tuple[int, int] | None) -> list[Placed]:
    return [
        mark
        for mark in marks
        if place and mark.place and mark.place[0] < place[1] and place[0] < mark.place[1]
    ]


def _worst(marks: Sequence[Placed]) -> str:
    return max((mark.colour for mark in marks), key=_GRAVITY.index, default=NONE)


def _marks_of_span(report: TrueReport, marks: Sequence[Placed], span: Span) -> list[Placed]:
    if span.kind == "link":
        return [mark for mark in marks if mark.exact == span.exact]
    touching = _touching(marks, locate(report.seen, span.exact, span.prefix, span.suffix))
    if span.kind == "quotation":
        return [mark for mark in touching if len(mark.exact) > len(span.exact) // 3]
    # A quotation's mark says nothing of a figure in it, and the mark of a year nothing of the phrase that it is in.
    return [mark for mark in touching if len(mark.exact) <= 3 * len(span.exact) + 24]


def measure(check: Check, reports: Sequence[TrueReport], pool: bool = False, every: int = 1) -> Scores:
    """Check every report, or each of so many, and these with each of their errors."""
    scores = Scores()
    everything = [source for report in reports for source in report.sources]
    for report in reports[::every]:
        sources = everything if pool else report.sources
        _measure_true(scores, report, place_marks(report, report.text, check(*_asked(report, sources))))
        for planted in report.case.planted:
            text = report.with_error(planted)
            marks = check(text, report.case.media_type, sources)
            _measure_error(scores, report, planted, place_marks(report, text, marks))
    return scores


def _asked(report: TrueReport, sources: Sequence[SourceText]) -> tuple[str, str, Sequence[SourceText]]:
    return report.text, report.case.media_type, sources


def _measure_true(scores: Scores, report: TrueReport, marks: Sequence[Placed]) -> None:
    scores.reports += 1
    scores.reports_red += any(mark.colour == RED for mark in marks)
    links = {span.exact for span in report.case.spans if span.kind == "link"}
    scores.nowhere += sum(mark.place is None and mark.exact not in links for mark in marks)
    known: set[Placed] = set()
    for span in report.case.spans:
        own = _marks_of_span(report, marks, span)
        known.update(own)
        colour = _worst(own)
        for name in (*_classes(span), f"language {report.case.language}"):
            scores.true[name][colour] += 1
        if colour in {RED, AMBER}:
            states = ", ".join(f"{mark.state} {mark.exact!r}" for mark in own if mark.colour == colour)
            scores.details.append(
                f"true but {colour}: {report.name}: {span.prefix[-40:]}[{span.exact}]: {states}"
            )
        if any(mark.state == "calculated" for mark in own):
            scores.calculations[span.truth] += 1
    scores.calculations["elsewhere"] += sum(
        mark.state == "calculated" and mark not in known for mark in marks
    )


def _classes(span: Span) -> Iterator[str]:
    yield "all"
    if span.kind != "figure":
        yield span.kind
        return
    yield "figure"
    yield f"figure, {span.truth}"
    if span.written:
        yield f"figure, written: {span.written}"
    if span.awkward:
        yield "figure, awkward"


def _measure_error(scores: Scores, report: TrueReport, planted: Planted, marks: Sequence[Placed]) -> None:
    if planted.kind == "invented link":
        right = [mark for mark in marks if mark.exact == planted.claim]
    else:
        right = _touching(marks, place_of_error(report, planted))
    colour = _worst(right)
    scores.planted[planted.kind][colour] += 1
    scores.languages[report.case.language][colour] += 1
    states = {mark.state for mark in right if mark.colour == colour}
    scores.acceptable[planted.kind] += bool(states & set(planted.acceptable))
    scores.expected[planted.kind] += planted.expected in states
    scores.calculations["planted error"] += colour == GREEN and "calculated" in states
    for mark in marks:
        if mark.colour in {RED, AMBER}:
            scores.accusations[mark.colour, mark in right] += 1
    if colour not in {RED, AMBER}:
        scores.details.append(
            f"error is {colour}: {report.name}: {planted.kind}: {planted.old!r} → {planted.new!r}"
        )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "–"


def lines(scores: Scores) -> Iterator[str]:
    """The figures, a line each."""
    everything = scores.true["all"]
    claims = everything.total()
    missed = sum(scores.planted[kind][GREEN] for kind in NEVER_GREEN)
    total = sum(scores.planted[kind].total() for kind in NEVER_GREEN)
    wrong = sum((scores.planted[kind] for kind in WRONG_VALUES), Counter[str]())
    right, false = scores.accusations[RED, True], scores.accusations[RED, False]
    doubted, doubted_wrongly = scores.accusations[AMBER, True], scores.accusations[AMBER, False]
    both = right + doubted, right + doubted + false + doubted_wrongly
    yield f"wrong scale, sign, rate, unit of count shown as found: {missed} of {total}"
    yield f"true figures, quotations and links marked red: {_percent(everything[RED], claims)}"
    yield f"reports of {scores.reports} in which anything true is red: {scores.reports_red}"
    yield f"true ones marked amber: {_percent(everything[AMBER], claims)}"
    yield f"true ones without a mark: {_percent(everything[NONE], claims)}"
    yield f"red marks that are right, one planted error in a true report: {_percent(right, right + false)}"
    yield f"red or amber marks that are right: {_percent(*both)}"
    yield f"planted wrong values red or amber: {_percent(wrong[RED] + wrong[AMBER], wrong.total())}"
    yield f"planted wrong values red: {_percent(wrong[RED], wrong.total())}"
    yield f"marks whose text nobody sees: {scores.nowhere}"
    calculations = ", ".join(f"{name} {count}" for name, count in scores.calculations.items())
    yield f"calculations, by the truth of what they explain: {calculations or '–'}"
    yield f"{'planted':<24}{'red':>6}{'amber':>6}{'green':>6}{'none':>6}{'acceptable':>12}{'expected':>10}"
    for kind in ERRORS:
        counts = scores.planted[kind]
        cells = "".join(f"{counts[colour]:>6}" for colour in (RED, AMBER, GREEN, NONE))
        yield f"{kind:<24}{cells}{scores.acceptable[kind]:>12}{scores.expected[kind]:>10}"
    for language, counts in sorted(scores.languages.items()):
        cells = "".join(f"{counts[colour]:>6}" for colour in (RED, AMBER, GREEN, NONE))
        yield f"{f'all, language {language}':<24}{cells}"
    yield f"{'true':<34}{'green':>6}{'amber':>6}{'red':>6}{'none':>6}"
    for name in sorted(scores.true):
        counts = scores.true[name]
        yield f"{name:<34}" + "".join(f"{counts[colour]:>6}" for colour in (GREEN, AMBER, RED, NONE))


def main() -> None:
    """Measure the check that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("check", help="MODULE:FUNCTION")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--pool", action="store_true", help="every report against the sources of all")
    parser.add_argument("--details", action="store_true", help="name each wrong mark and each missed error")
    asked = parser.parse_args()
    module, _, name = asked.check.partition(":")
    check: Check = getattr(importlib.import_module(module), name)
    for folder in asked.folders:
        scores = measure(check, read_reports(folder), asked.pool)
        print(f"{folder}{', sources of all reports together' if asked.pool else ''}")
        print("\n".join([*lines(scores), *(scores.details if asked.details else [])]))


if __name__ == "__main__":
    main()
