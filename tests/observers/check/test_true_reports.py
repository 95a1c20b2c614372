"""The measuring cases are what they say: passages, spans, calculations and edits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.bench.evidence.true_reports import TrueReport, read_reports
from tests.bench.evidence.true_scores import Mark, lines, measure


@pytest.fixture(scope="module")
def reports() -> Sequence[TrueReport]:
    return read_reports()


def test_reports_have_sources_in_every_language(reports: Sequence[TrueReport]) -> None:
    assert {report.case.language for report in reports} == {"en", "de", "fr", "es"}
    assert all(source.text for report in reports for source in report.sources)


def test_a_check_that_finds_every_span_gets_full_marks(reports: Sequence[TrueReport]) -> None:
    report = next(each for each in reports if each.name == "climate-glacier")

    def check(text: str, _media_type: str, _sources: object) -> list[Mark]:
        spans = report.case.spans if text == report.text else ()
        return [(span.exact, "found", span.prefix, span.suffix) for span in spans]

    scores = measure(check, [report])
    assert scores.true["all"]["green"] == scores.true["all"].total() > 50
    assert not scores.accusations
    assert all(count["none"] == count.total() for count in scores.planted.values())
    assert "true ones marked amber: 0.0 %" in "\n".join(lines(scores))


def test_a_check_that_doubts_everything_is_rarely_right(reports: Sequence[TrueReport]) -> None:
    report = next(each for each in reports if each.name == "climate-glacier")
    errors = {report.with_error(each): each.claim for each in report.case.planted}

    def check(text: str, _media_type: str, _sources: object) -> list[Mark]:
        return [*((span.exact, "differs") for span in report.case.spans), (errors.get(text, "-"), "differs")]

    scores = measure(check, [report])
    assert all(count["red"] == count.total() for count in scores.planted.values())
    assert scores.accusations["red", True] < scores.accusations["red", False]
