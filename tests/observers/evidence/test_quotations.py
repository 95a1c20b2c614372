from __future__ import annotations

import pytest

from core.concurrency.cancellation import Stop, Stopped
from core.evidence.records import Claim, Verdict
from observers.evidence.quotations import check_quotations
from observers.evidence.reading.document import read_report
from tests.observers.evidence.quoting.reports import Known, block, page, report

SOURCE = (
    "The grid grew quickly. “We have never seen demand rise this fast,” said Ana Kovač, who runs the control room. "
    "“Every new line that we open is full within a month, and we are building the next one gradually.”\n\n"
    "The [ministry](https://m.example/a_(b)) expects **9.5 percent** more by 2030.[12] Prices fell by 1,250 euros; it "
    "isn’t clear why.3 Nobody at the company wanted to comment on the state-of-the-art ﬁlter.\n\n"
    "Storage followed later in the decade. A second plant opened in the north of the country in the spring."
)
OTHER = "Wind farms in the south were paid to stand still on forty days of the year, the regulator found."


def check(text: str, *, cites: tuple[int, ...] = (0,), kind: str = "paragraph") -> list[Claim]:
    sources = Known([page(SOURCE, 0), page(OTHER, 1)])
    the_block = block(text, "quote" if kind == "quote" else "paragraph", cites=cites)
    return list(check_quotations(report(the_block), sources))


def one(text: str, **how: tuple[int, ...]) -> Claim:
    (claim,) = check(text, **how)  # type: ignore[arg-type]
    return claim


@pytest.mark.parametrize(
    "quotation",
    [
        '"We have never seen demand rise this fast," she said.', "„we have never seen demand rise this fast“",
        "« We have never seen demand rise this fast »", "‘We have never seen demand rise this fast’",
        "“We have never seen … rise this fast.”",
        "“Every new line that we open […] we are building the next one gradually”",
        "“Every new line that [the operator] open[s] is full within a month”",
        "“[E]very new line that we open is full [sic] within a month”",
        "“The ministry expects 9.5 percent more by 2030. Prices fell by 1,250 euros; it isn't clear why”",
        "“expects 9.5 % more by 2030”",
        "“Prices fell by 1 250 euros; it isn't clear why. Nobody at the company wanted to comment”",
        "“state of the art filter”, “the state\u2011of\u2011the\u2011art filter”",
        "“We have never seen demand rise this fast. Every new line that we open is full within a month”",
        "“storage fol-lowed later in the dec\u00adade”",
    ],
)  # fmt: skip
def test_finds_a_quotation_that_is_set_otherwise(quotation: str) -> None:
    claims = check(quotation)
    assert claims
    assert [claim.verdict for claim in claims] == [Verdict.VERBATIM] * len(claims), claims


@pytest.mark.parametrize(
    ("quotation", "note"),
    [
        (
            "“we are building the next one rapidly”",
            "The source has “gradually” where the report has “rapidly”.",
        ),
        ("“Every line that we open is full within a month”", "The report leaves out “new”."),
        ("“Nobody at the company ever wanted to comment”", "The report adds “ever”."),
        ("“Prices fell by 1,350 euros”", "The source has “1,250” where the report has “1,350”."),
        (
            "“The grid grew quickly. Storage followed later in the decade.”",
            "The report joins two passages that are 68 words apart in the source.",
        ),
        (
            "“Storage followed later in the decade. The grid grew quickly.”",
            "The report joins two passages that are in another order in the source.",
        ),
        (
            "“Storage followed later … The grid grew quickly.”",
            "The parts around the ellipsis are in another order in the source.",
        ),
        ("“demand we have never seen rise this fast”", "The words are in another order in the source."),
        ("“very new line that we open is full”", "The source has “Every” where the report has “very”."),
    ],
)
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


def test_another_source_has_it() -> None:
    claim = one("The regulator said that they were “paid to stand still on forty days”.")
    assert claim.verdict is Verdict.MISATTRIBUTED
    assert claim.evidence[0].source == 1


def test_nothing_is_cited() -> None:
    assert one("“paid to stand still on forty days”", cites=()).verdict is Verdict.VERBATIM


def test_the_next_paragraph_cites_the_source() -> None:
    sources = Known([page(SOURCE, 0), page(OTHER, 1)])
    text = report(
        block("“paid to stand still on forty days”", cites=(0,)), block("So they said.", cites=(1,))
    )
    (claim,) = check_quotations(text, sources)
    assert claim.verdict is Verdict.VERBATIM


def test_nobody_has_it() -> None:
    assert one("“Nobody could have known that the bridge would fall”").verdict is Verdict.NOT_FOUND


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


def test_the_title_of_a_source_is_found() -> None:
    sources = Known([page(OTHER, 0, title="Why wind farms stand still | The Paper")])
    (claim,) = check_quotations(report(block("See “Why wind farms stand still”.")), sources)
    assert claim.verdict is Verdict.VERBATIM


def test_what_the_person_wrote_is_found() -> None:
    sources = Known([page(SOURCE, 0), page("how fast does demand rise in the north", 1, "query")])
    (claim,) = check_quotations(report(block("“how fast does demand rise”", cites=(0,))), sources)
    assert claim.verdict is Verdict.VERBATIM


@pytest.mark.parametrize(
    "sources",
    [
        Known(), Known([page("", 0)]), Known([page(OTHER, 0, "query")]),
        Known([page("", 0, gone=True), page(OTHER, 1)]),
    ],
)  # fmt: skip
def test_is_not_decided_without_the_text(sources: Known) -> None:
    (claim,) = check_quotations(report(block("“nobody has ever said this here”", cites=(0,))), sources)
    assert claim.verdict is Verdict.UNCHECKED


def test_is_not_decided_if_the_cited_page_was_only_seen() -> None:
    sources = Known([page("A row of a search.", 0, "search_row"), page(OTHER, 1)])
    (claim,) = check_quotations(report(block("“paid to stand still on forty days”", cites=(0,))), sources)
    assert claim.verdict is Verdict.UNCHECKED


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
