"""The check of reports: what it finds in true reports with planted errors, whom it accuses, and how quick it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.evidence.adapters import full_check, marks_of, new
from tests.bench.evidence.speed import speed
from tests.bench.evidence.true_reports import REPORTS, SourceText, read_reports
from tests.bench.evidence.true_scores import (
    AMBER,
    GREEN,
    NEVER_GREEN,
    RED,
    WRONG_VALUES,
    Mark,
    Scores,
    lines,
    measure,
)
from tests.bench.table import Row, Section
from ua_tui.core.claims.records import Claim

_REPORTS_RED = 4 / 28
_EVERY = 4
"""Of so many reports one is checked with the sources of all, which takes longer."""
_MORE_OF_ALL = 1.0
"""Percentage points by which a long session may be worse."""


def evidence(base: Path, _runs: int) -> Section:
    """Measure the check with both sets of true reports, with the sources of all of a set, and its speed."""
    reports, kept = read_reports(), read_reports(REPORTS / "heldout")
    doubtful: list[Claim] = []

    def check(text: str, media_type: str, sources: Sequence[SourceText]) -> Sequence[Mark]:
        found = full_check(text, media_type, sources)
        doubtful.extend(claim for claim in found.claims if claim.is_doubtful and claim.kind != "link")
        return marks_of(found)

    alone, aside = measure(check, reports), measure(check, kept)
    opening = _passages(doubtful)
    some, together = (measure(new, reports, pool=pool, every=_EVERY) for pool in (False, True))
    quick = speed(base)
    held_out = _rows("held out", aside) if kept else ()
    rows = [*_rows("dev", alone), *held_out, opening, *_pooled(some, together), *quick.rows]
    details = [
        *lines(alone),
        "held out:",
        *lines(aside),
        "sources of all reports together:",
        *lines(together),
        *quick.details,
    ]
    return Section(rows, details)


def _rows(name: str, alone: Scores) -> Iterator[Row]:
    every = alone.true["all"]
    compared = f"{every.total()} true places of {alone.reports} reports"
    green = sum(alone.planted[kind][GREEN] for kind in NEVER_GREEN)
    yield Row(
        f"evidence, {name}: wrong scale, sign, rate or unit of count shown as found", green, "errors", 0
    )
    yield Row(f"evidence, {name}: true places marked red", _red(alone), "%", 0.8, compared)
    most = round(_REPORTS_RED * alone.reports)
    yield Row(f"evidence, {name}: reports in which something true is red", alone.reports_red, "reports", most)
    yield Row(
        f"evidence, {name}: true places marked amber",
        _percent(every[AMBER], every.total()),
        "%",
        10,
        compared,
    )
    right, wrong = alone.accusations[RED, True], alone.accusations[RED, False]
    said = f"{right + wrong} red marks in reports with one error"
    yield Row(f"evidence, {name}: red marks that are wrong", _percent(wrong, right + wrong), "%", 15, said)
    values = sum((alone.planted[kind] for kind in WRONG_VALUES), Counter[str]())
    missed = values.total() - values[RED] - values[AMBER]
    said = f"{values.total()} wrong values"
    yield Row(
        f"evidence, {name}: wrong values without red or amber", _percent(missed, values.total()), "%", 7, said
    )
    yield Row(f"evidence, {name}: wrong values that are not red", 100 - _found(alone), "%", 25, said)
    calculations = alone.calculations
    nonsense = sum(calculations[name] for name in ("bare", "planted error"))
    said = f"of {calculations.total()}; by the truth of what they explain"
    yield Row(
        f"evidence, {name}: calculations of what is wrong or not computed",
        nonsense,
        "calculations",
        None,
        said,
    )


def _pooled(some: Scores, together: Scores) -> Iterator[Row]:
    said = f"{some.reports} reports with the sources of all, beyond with their own"
    yield Row("evidence: more true places red", _red(together) - _red(some), "points", _MORE_OF_ALL, said)
    fewer = _found(some) - _found(together)
    yield Row("evidence: fewer wrong values red", fewer, "points", _MORE_OF_ALL, said)


def _red(scores: Scores) -> float:
    return _percent(scores.true["all"][RED], scores.true["all"].total())


def _found(scores: Scores) -> float:
    values = sum((scores.planted[kind] for kind in WRONG_VALUES), Counter[str]())
    return _percent(values[RED], values.total())


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _passages(doubtful: Sequence[Claim]) -> Row:
    """How many red and amber marks open no passage."""
    without = sum(not claim.passages for claim in doubtful)
    said = f"of {len(doubtful)} red and amber figures and quotations"
    return Row("evidence: marks that open no passage", _percent(without, len(doubtful)), "%", 5, said)
