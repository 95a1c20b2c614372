from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observers.evidence.quoting.reports import Known, block, page, report
from ua_tui.core.concurrency.cancellation import Stop, Stopped
from ua_tui.core.evidence.records import Claim, Verdict
from ua_tui.observers.evidence.quotations import check_quotations
from ua_tui.observers.evidence.reading.document import read_report
from ua_tui.observers.evidence.report import Block
from ua_tui.observers.evidence.sources import SourceText

# Two sources, quotations that the first of them has, and others with what is altered in them.
CASES = json.loads(Path(__file__).with_name("quotations.json").read_text(encoding="utf-8"))
SOURCE, OTHER = CASES["source"], CASES["other"]


def check(text: str, *, cites: tuple[int, ...] = (0,), kind: str = "paragraph") -> list[Claim]:
    sources = Known([page(SOURCE, 0), page(OTHER, 1)])
    the_block = block(text, "quote" if kind == "quote" else "paragraph", cites=cites)
    return list(check_quotations(report(the_block), sources))


def one(text: str, **how: tuple[int, ...]) -> Claim:
    (claim,) = check(text, **how)  # type: ignore[arg-type]
    return claim


@pytest.mark.parametrize("quotation", CASES["found"])
def test_finds_a_quotation_that_is_set_otherwise(quotation: str) -> None:
    claims = check(quotation)
    assert claims
    assert [claim.verdict for claim in claims] == [Verdict.VERBATIM] * len(claims), claims


@pytest.mark.parametrize(("quotation", "note"), CASES["altered"].items())
def test_finds_an_altered_quotation_and_says_how(quotation: str, note: str) -> None:
    claim = one(quotation)
    assert (claim.verdict, claim.note) == (Verdict.ALTERED, note)
    (evidence,) = claim.evidence
    assert evidence.source == 0
    assert SOURCE[evidence.start : evidence.end]


def test_gives_the_passage_with_exact_places() -> None:
    claim = one("He wrote: “NEVER seen demand\u00a0rise this fast”.")
    (evidence,) = claim.evidence
    assert SOURCE[evidence.start : evidence.end] == "never seen demand rise this fast"
    ((start, end),) = evidence.marks
    assert evidence.passage[start:end] == "never seen demand rise this fast"
    assert claim.sentence[claim.at :].startswith("NEVER")
    assert claim.url == "https://a.example/0"


def test_marks_the_words_that_differ() -> None:
    (evidence,) = one("“we are building the next one rapidly”").evidence
    assert [evidence.passage[start:end] for start, end in evidence.marks] == ["gradually"]


STILL = "“paid to stand still on forty days”"
UNKNOWN = "“nobody has ever said this here”"
PAGES = (page(SOURCE, 0), page(OTHER, 1))


@pytest.mark.parametrize(
    ("blocks", "sources", "verdict"),
    [
        ([block(f"The regulator said that they were {STILL}.", cites=(0,))], PAGES, Verdict.MISATTRIBUTED),
        ([block(STILL)], PAGES, Verdict.VERBATIM),
        ([block(STILL, cites=(0,)), block("So they said.", cites=(1,))], PAGES, Verdict.VERBATIM),
        ([block(STILL, cites=(0,))], (page("A row.", 0, "search_row"), page(OTHER, 1)), Verdict.UNCHECKED),
        ([block("“Nobody could have known that the bridge would fall”", cites=(0,))], PAGES, Verdict.NOT_FOUND),
        ([block("“how fast does demand rise”", cites=(0,))],
         (page(SOURCE, 0), page("how fast does demand rise in the north", 1, "query")), Verdict.VERBATIM),
        ([block("See “Why wind farms stand still”.")],
         (page(OTHER, 0, title="Why wind farms stand still | The Paper"),), Verdict.VERBATIM),
        ([block(UNKNOWN, cites=(0,))], (), Verdict.UNCHECKED),
        ([block(UNKNOWN, cites=(0,))], (page("", 0),), Verdict.UNCHECKED),
        ([block(UNKNOWN, cites=(0,))], (page(OTHER, 0, "query"),), Verdict.UNCHECKED),
        ([block(UNKNOWN, cites=(0,))], (page("", 0, gone=True), page(OTHER, 1)), Verdict.UNCHECKED),
    ],
    ids=["another source has it", "nothing is cited", "the next paragraph cites it", "only seen", "nobody has it",
         "the person wrote it", "a title", "no source", "no text", "only the query", "the page is gone"],
)  # fmt: skip
def test_where_a_quotation_is_found(
    blocks: list[Block], sources: tuple[SourceText, ...], verdict: Verdict
) -> None:
    (claim,) = check_quotations(report(*blocks), Known(sources))
    assert claim.verdict is verdict
    if verdict is Verdict.MISATTRIBUTED:
        assert claim.evidence[0].source == 1


def test_short_texts_titles_code_and_hidden_text_are_no_quotations() -> None:
    sources = Known([page(SOURCE)])
    text = report(
        block("A so-called “smart meter rollout” and the “Law on the Modern Supply of Electricity”"),
        block('print("nobody has ever said this")', "code"),
        block("“nobody has ever said this here”", is_hidden=True),
        block("“nobody has ever said this here”", is_bibliography=True),
    )
    assert list(check_quotations(text, sources)) == []


def test_a_block_quotation() -> None:
    (claim,) = check("Storage followed later in the decade. — Ana Kovač", kind="quote")
    assert (claim.verdict, claim.text) == (Verdict.VERBATIM, "Storage followed later in the decade.")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Storage followed later in the decade — Ana Kovač", "Storage followed later in the decade"),
        ("Storage followed later in the decade. – the minister", "Storage followed later in the decade."),
        ("The grid grew – quickly and for years", "The grid grew – quickly and for years"),
        ("storage – followed later – and in the north", "storage – followed later – and in the north"),
    ],
)
def test_a_block_quotation_ends_before_the_name_of_its_author(text: str, quoted: str) -> None:
    (claim,) = check_quotations(report(block(text, "quote")), Known([page(SOURCE)]))
    assert claim.text == quoted


def test_a_translated_quotation_is_not_accused() -> None:
    german = (
        "Der Bedarf ist nicht so schnell gestiegen, wie wir es von den Netzen im Norden und im Süden kennen."
    )
    (claim,) = check_quotations(
        report(block("“The demand has not risen as fast as we know it from the grid”", cites=(0,))),
        Known([page(german, 0), page(SOURCE, 1)]),
    )
    assert (claim.verdict, claim.note) == (
        Verdict.UNCHECKED,
        "It may be translated: the source is in German.",
    )


def test_reports_characters_that_deceive() -> None:
    hidden = one("“We have never s\u200been demand rise this fast”")
    assert (hidden.verdict, hidden.remarks) == (Verdict.VERBATIM, ("It has invisible characters.",))
    alike = one("“We have nev\u0435r seen demand rise this fast”")
    assert (alike.verdict, alike.remarks) == (Verdict.VERBATIM, ("It has look-alike characters.",))


def test_scripts_without_spaces() -> None:
    sources = Known([page("专家说，人工智能正在改变我们的生活方式，但是速度比预期的要慢。", 0)])
    found, changed = check_quotations(
        report(block("「人工智能正在改变我们的生活方式」"), block("“人工智能没有改变我们的生活方式”")),
        sources,
    )
    assert found.verdict is Verdict.VERBATIM
    assert (changed.verdict, changed.note) == (
        Verdict.ALTERED,
        "The source has “正在” where the report has “没有”.",
    )


@pytest.mark.slow
def test_hostile_quotations_are_bounded() -> None:
    sources = Known([page(SOURCE + "a" * 20_000, 0)])
    many = report(
        block("“never seen demand rise so " * 2_500), block("“a b c d ” " * 1_500), block('"' * 20_000)
    )
    claims = list(check_quotations(many, sources))
    assert len(claims) <= 1_000
    assert "Only the first 1,000 quotations" in claims[-1].note
    (long,) = check_quotations(report(block("“" + "never seen demand " * 10_000 + "”")), sources)
    assert "Only its beginning was compared." in long.note
    assert len(long.text) <= 2_000


def test_stops() -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        list(check_quotations(report(block("“nobody has ever said this here”")), Known([page(SOURCE)]), stop))


@pytest.mark.parametrize(
    "mark", ["[^1]", "[^two]", "[1, 2]", "[1][2]", "¹", "<sup>[1](#n)</sup>", "[1](https://a.example/0)"]
)
def test_marks_of_notes_are_no_words_of_a_quotation(mark: str) -> None:
    text = (
        f"> The ministry expects 9.5 percent{mark} more by 2030.{mark}\n\n[^1]: https://a.example/0\n"
        "[^two]: https://a.example/0\n\n## Sources\n\n1. <a id='n' href='https://a.example/0'>S</a>\n"
        "2. https://a.example/0\n"
    )
    (claim,) = check_quotations(read_report(text.encode(), "a.md"), Known([page(SOURCE, 0)]))
    assert (claim.verdict, claim.url) == (Verdict.VERBATIM, "https://a.example/0")


def test_a_word_without_end_in_a_block_quotation_is_read_at_once() -> None:
    (claim,) = check("a" * 100_000, kind="quote")
    assert claim.verdict is Verdict.NOT_FOUND
