from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.observers.evidence.quoting.reports import Known
from ua_tui.core.concurrency.cancellation import Stop, Stopped
from ua_tui.core.evidence.records import Claim, Disagreement, Source, SourceKind
from ua_tui.observers.evidence.disagreements import find_disagreements
from ua_tui.observers.evidence.figure_claims import check_figures
from ua_tui.observers.evidence.report import Block, Link, Report, Sentence
from ua_tui.observers.evidence.sources import SourceText


def source(
    number: int,
    text: str,
    *,
    site: str = "",
    kind: SourceKind = "article",
    title: str = "",
    published: str = "",
) -> SourceText:
    url = f"https://{site or f'site{number}.example'}/page{number}"
    return SourceText(number, Source(kind=kind, url=url, title=title, published=published), text)


def report(*sentences: str, title: str = "") -> Report:
    """A report of paragraphs; each cites the first source."""
    blocks = []
    for sentence in sentences:
        mark = Link(len(sentence), len(sentence) + 3, "https://site0.example/page0")
        text = f"{sentence}[1]"
        blocks.append(Block(kind="paragraph", text=text, offsets=array("L", range(len(text))), links=(mark,)))
    return Report(
        source="\n".join(block.text for block in blocks),
        title=title,
        blocks=blocks,
        sentences=[
            Sentence(number, block, 0, len(block.text), (block.links[0].url,))
            for number, block in enumerate(blocks)
        ],
    )


def claims_of(the_report: Report, sources: Known) -> list[Claim]:
    return [
        msgspec.structs.replace(each, id=number)
        for number, each in enumerate(check_figures(the_report, sources), 1)
    ]


def find(said: str | Report, *texts: str | SourceText) -> list[Disagreement]:
    """Compare a report, whose figures are from the first of the sources."""
    the_report = report(said) if isinstance(said, str) else said
    sources = Known(
        [text if isinstance(text, SourceText) else source(number, text) for number, text in enumerate(texts)]
    )
    return list(find_disagreements(claims_of(the_report, sources), the_report, sources))


REVENUE = "Nvidia's revenue reached $57.0 billion in the third quarter of 2025."

# What a report says, its source, and another source that gives another value, or only seems to.
CASES = json.loads(Path(__file__).with_name("disagreements.json").read_text(encoding="utf-8"))


def found_in(case: list[Any]) -> list[Disagreement]:
    said, *texts = case
    given = ({"text": each} if isinstance(each, str) else each for each in texts)
    return find(said, *(source(at, **each) for at, each in enumerate(given)))


@pytest.mark.parametrize("name", CASES["found"])
def test_sources_disagree(name: str) -> None:
    (one,) = found_in(CASES["found"][name])
    assert len(one.values) == len(one.evidence) == 2
    assert [evidence.source for evidence in one.evidence] == [0, 1]
    for value, evidence in zip(one.values, one.evidence, strict=True):
        ((start, end),) = evidence.marks
        assert evidence.passage[start:end] == value
    assert one.claims
    assert "…" in one.subject
    assert "[1]" not in one.subject


def test_sources_do_not_disagree() -> None:
    assert {name: found for name, case in CASES["not found"].items() if (found := found_in(case))} == {}


FIRST = "Nvidia reported revenue of $57.0 billion for the third quarter of 2025."
SECOND = "Nvidia reported revenue of $54.1 billion for the third quarter of 2025."


def test_claims_of_one_subject_are_one_disagreement() -> None:
    the_report = report(REVENUE, "As said, Nvidia had a revenue of $57 billion in the third quarter of 2025.")
    (one,) = find(the_report, FIRST, SECOND)
    assert len(one.claims) == 2


def test_a_report_that_has_both_values_is_one_disagreement() -> None:
    the_report = report(REVENUE)
    mark = Link(0, 1, "https://site1.example/page1")
    block = Block(kind="paragraph", text=SECOND, offsets=array("L", range(len(SECOND))), links=(mark,))
    second = Sentence(1, block, 0, len(SECOND), (mark.url,))
    both = Report(
        source=f"{the_report.source}\n{SECOND}",
        blocks=(*the_report.blocks, block),
        sentences=(*the_report.sentences, second),
    )
    (one,) = find(both, FIRST, SECOND)
    assert one.values == ("$57.0 billion", "$54.1 billion")
    assert len(one.claims) == 2


def test_each_value_is_given_once() -> None:
    texts = [FIRST, SECOND, SECOND, SECOND.replace("54.1", "49.5"), FIRST]
    (one,) = find(REVENUE, *texts)
    assert one.values == ("$57.0 billion", "$54.1 billion", "$49.5 billion")
    assert [evidence.source for evidence in one.evidence] == [0, 1, 3]


def test_the_subject_is_short() -> None:
    said = f"After many months in which hardly anybody in the industry knew what to think, {REVENUE[:-1]} by all means."
    (one,) = find(said, FIRST, SECOND)
    assert "revenue reached … in the third quarter of 2025" in one.subject
    assert len(one.subject) < 110


@pytest.mark.parametrize("texts", [[], [FIRST], [FIRST, ""]])
def test_nothing_to_compare(texts: list[str]) -> None:
    assert not find(REVENUE, *texts)


def test_there_are_at_most_fifty() -> None:
    cities = [f"{first}{second}berg" for first in ("Ar", "Bor", "Car", "Dor", "Er", "Far", "Gor", "Har")
              for second in "abcdefgh"]  # fmt: skip
    lines = [f"Acme employs {1_000 + 37 * at} people in {city} in 2025." for at, city in enumerate(cities)]
    others = [f"Acme employs {5_000 + 37 * at} people in {city} in 2025." for at, city in enumerate(cities)]
    found = find(report(*lines), "\n\n".join(lines), "\n\n".join(others))
    assert 0 < len(found) <= 50


def test_it_stops() -> None:
    the_report = report(REVENUE)
    sources = Known([source(0, FIRST), source(1, SECOND)])
    claims = claims_of(the_report, sources)
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        list(find_disagreements(claims, the_report, sources, stop))


PIECES = (
    "Nvidia", "revenue", "$57.0 billion", "$54.1 billion", "2025", "Q3", "from", "to", "rose", "5", "7 percent", "not",
    "|", "\n\n", ". The ", ", ", "will", "a year", "“", "ago", "H100", "Umsatz", "d'affaires", "5–7", "%", "'", "’s",
)  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join), min_size=2, max_size=4))
def test_whatever_the_sources_are_the_passages_have_the_values(texts: list[str]) -> None:
    for one in find(f"{REVENUE} It rose 7 percent.", *(f"{FIRST} {text}" for text in texts), SECOND):
        assert len(one.values) == len(one.evidence) > 1
        assert len(set(one.values)) == len(one.values)
        for value, evidence in zip(one.values, one.evidence, strict=True):
            ((start, end),) = evidence.marks
            assert evidence.passage[start:end] == value


@pytest.mark.parametrize(
    "noise", ["A" * 300, "A.A " * 100, " " * 300, "\n\t" * 150, "5 " * 150, "according to " * 30]
)
def test_hostile_sources_take_linear_time(noise: str) -> None:
    hostile = " ".join(f"{noise} revenue of Nvidia {number} billion dollars" for number in range(100))
    assert find(REVENUE, FIRST, hostile) == []
