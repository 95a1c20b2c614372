from __future__ import annotations

import json
from array import array
from pathlib import Path

import pytest

from tests.observers.evidence.quoting.reports import Known, block, page, report
from ua_tui.core.concurrency.cancellation import Stop, Stopped
from ua_tui.core.evidence.records import Claim, Source, Verdict
from ua_tui.observers.evidence.figure_claims import check_figures
from ua_tui.observers.evidence.reading.document import read_report
from ua_tui.observers.evidence.report import Block, Cell, Link, Report, Sentence
from ua_tui.observers.evidence.sources import SourceText

# Sources, and sentences that cite the first of them: each of their figures with its verdict, and its computation.
CASES = json.loads(Path(__file__).with_name("figure_claims.json").read_text(encoding="utf-8"))
PLANT, RIVAL = CASES["plant"]["sources"]
(FIRM,), (HEAT,) = CASES["park"]["sources"], CASES["heat"]["sources"]
COMPUTED = {"park", "staff"}
"""The cases that have the computations of derived figures."""


def check(text: str, *, cites: tuple[int, ...] = (0,)) -> list[Claim]:
    return list(check_figures(report(block(text, cites=cites)), Known([page(PLANT, 0), page(RIVAL, 1)])))


@pytest.mark.parametrize("name", CASES)
def test_says_how_a_figure_follows_from_the_source(name: str) -> None:
    case = CASES[name]
    sources = Known([
        SourceText(
            number,
            Source(kind="article", url=f"https://a.example/{number}", published=case.get("published", "")),
            text,
        )
        for number, text in enumerate(case["sources"])
    ])  # fmt: skip
    found = {}
    for sentence in case["sentences"]:
        claims = check_figures(report(block(sentence, cites=(0,))), sources)
        found[sentence] = [
            f"{claim.text}: {claim.verdict}"
            + (
                f" ({claim.note})"
                if claim.verdict is Verdict.DERIVED and name in COMPUTED and claim.note
                else ""
            )
            for claim in claims
        ]
    assert found == case["sentences"]


def test_shows_the_passage_and_the_computation() -> None:
    (share,) = check("A quarter of the people in the plant are engineers.")
    assert share.note == "1,206 / 4,812 ≈ A quarter"
    (count,) = check("The plant employs 4,812 people.")
    (evidence,) = count.evidence
    assert PLANT[evidence.start : evidence.end] == "4,812"
    assert "employs 4,812 people" in evidence.passage


def test_a_word_that_ends_like_over_is_no_approximation() -> None:
    text = "Die Besucher in Bremen: {} 171 Besucher."
    assert [claim.verdict for claim in check(text.format("über"), cites=(1,))] == [Verdict.CONVERTED]
    assert [claim.verdict for claim in check(text.format("gegenüber"), cites=(1,))] == [Verdict.UNTRACED]


def linked(text: str, mark: str, *, is_before: bool = False) -> Report:
    """A paragraph with a link at its end, or with the text of the link at its beginning."""
    whole = mark + text if is_before else text + mark
    start = 0 if is_before else len(text)
    the_block = Block(
        kind="paragraph",
        text=whole,
        offsets=array("L", range(len(whole))),
        links=[Link(start, start + len(mark), "https://a.example/0")],
    )
    sentence = Sentence(0, the_block, 0, len(whole), ("https://a.example/0",))
    return Report(source=whole, blocks=[the_block], sentences=[sentence])


@pytest.mark.parametrize("mark", ["5", "[12]", "3, 4", "†"])
def test_the_mark_of_a_footnote_is_no_part_of_a_figure(mark: str) -> None:
    sources = Known([page(PLANT, 0)])
    for text in ("In the plant work 4,812", "Of the people of the plant, engineers are 1,206."):
        (claim,) = check_figures(linked(text, mark), sources)
        assert (claim.text, claim.verdict) == (text.split()[-1].rstrip("."), Verdict.TRACED)


@pytest.mark.parametrize("figure", ["4,812", "1206", "4,821.5"])
def test_a_figure_that_is_a_link_is_checked(figure: str) -> None:
    (claim,) = check_figures(
        linked(" people work in the plant.", figure, is_before=True), Known([page(PLANT)])
    )
    assert claim.text == figure
    assert (claim.verdict is Verdict.UNTRACED) == (figure == "4,821.5")


@pytest.mark.parametrize(
    ("source", "column", "rows", "expected"),
    [
        (PLANT, "Sales ($m)", {"2022": "310.5", "2023": "377.0", "Total": "687.5"}, "traced traced derived"),
        (FIRM, "Share (%)", {"Fees": "22.4", "Reserves": "19.1", "Others": "58.5", "Total": "100"},
         "traced traced derived derived"),
    ],
    ids=["a sum", "the rest of shares"],
)  # fmt: skip
def test_adds_up_the_column_of_a_table(source: str, column: str, rows: dict[str, str], expected: str) -> None:
    blocks, sentences = [], []
    for row, (name, value) in enumerate(rows.items(), 1):
        cell = Cell(0, row, 1, row_header=name, column_header=column)
        blocks.append(Block(kind="cell", text=value, offsets=array("L", range(len(value))), cell=cell))
        sentences.append(Sentence(row, blocks[-1], 0, len(value), ("https://a.example/0",)))
    claims = check_figures(Report(source="", blocks=blocks, sentences=sentences), Known([page(source)]))
    assert [str(claim.verdict) for claim in claims] == expected.split()


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("The plant employs 99 people.", Known([])),
        ("The plant employs 99 people.", Known([page("", gone=True)])),
        ("The plant employs 99 people.", Known([page("The plant, a row of a search.", kind="search_row")])),
    ],
)
def test_does_not_decide_without_the_text(text: str, sources: Known) -> None:
    (claim,) = check_figures(report(block(text, cites=(0,))), sources)
    assert claim.verdict is Verdict.UNCHECKED


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["9,9.9-", "In all 500 people and 20% of ", "12 March 2020, ", "a total of 7 "]
)
def test_the_work_for_a_figure_is_bounded_however_often_a_source_has_it(text: str) -> None:
    # Comparing each with each, these take minutes.
    whole = text * 1_500
    claims = list(check_figures(report(block(whole, cites=(0,))), Known([page(whole, 0)])))
    assert len(claims) >= 1_500
    assert {claim.verdict for claim in claims} <= {Verdict.TRACED, Verdict.UNCHECKED}


def test_a_frequent_figure_is_looked_for_in_the_cited_source_first() -> None:
    frequent = [page("There were 25 of them. " * 500, number) for number in range(30)]
    cited = page(
        "There were 25 of them. " * 50 + "Nobody knows. " * 30 + "The plant in Oldham has 25 engineers.", 30
    )
    (claim,) = check_figures(
        report(block("In Oldham, 25 engineers work in the plant.", cites=(30,))), Known([*frequent, cited])
    )
    (evidence,) = claim.evidence
    assert (claim.verdict, evidence.source) == (Verdict.TRACED, 30)
    assert "plant in Oldham" in evidence.passage


def test_nothing_is_untraced_if_the_session_read_nothing() -> None:
    text = report(block("The plant in Oldham employs 99 people and has 512 MW."))
    query = page("Write about the plant in Oldham with 512 MW.", kind="query")
    for known in (Known(), Known([query])):
        found = {claim.text: claim.verdict for claim in check_figures(text, known)}
        assert found["99"] is Verdict.UNCHECKED
    assert found["512 MW"] is Verdict.TRACED


def test_stops() -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        list(check_figures(report(block("The plant employs 99 people.")), Known([page(PLANT)]), stop))


def test_a_report_without_full_stops_has_bounded_claims() -> None:
    text = "The plant in Oldham employs 4,812 people and " * 6_000
    claims = list(check_figures(read_report(text.encode(), "work_products/a.txt"), Known([page(PLANT, 0)])))
    assert len(claims) == 5_000
    assert max(len(claim.sentence) for claim in claims) <= 1_000
    assert all(claim.sentence[claim.at :].startswith(claim.text) for claim in claims)


@pytest.mark.parametrize(
    "text",
    [
        "Reading time: 4 minutes", "Sources consulted: 23", "Based on 18 articles of the press.",
        "I ran 31 searches and opened 19 pages.", "Confidence: high (77%)", "Memo, 25.11.2026, page 1 of 2",
        "Briefing, 25 November 2026.", "Status: Nov 25, 2026 · 3 sources",
    ],
)  # fmt: skip
def test_leaves_out_what_a_report_says_of_itself(text: str) -> None:
    assert list(check_figures(report(block(text)), Known([page(FIRM, 0)]))) == []
    claims = list(
        check_figures(report(block("The park opened on 25.11.2026, with 77 percent.")), Known([page(FIRM)]))
    )
    assert [claim.verdict for claim in claims] == [Verdict.UNTRACED, Verdict.UNTRACED]


def test_a_year_that_another_source_has_is_not_said_to_be_in_none() -> None:
    sources = Known(
        [page("The firm orders ships.", 0), page("The shore connection of ships is due in 2028.", 1)]
    )
    (claim,) = check_figures(report(block("The connection is ready by 2028.", cites=(0,))), sources)
    assert claim.verdict is Verdict.OTHER_SOURCE


def test_only_doubts_a_share_in_words_that_sums_up() -> None:
    (free,) = check_figures(report(block("Nearly half of it is old.")), Known([page(FIRM)]))
    assert free.verdict is Verdict.UNCHECKED


def test_the_unit_above_the_names_of_the_rows_is_of_the_whole_table() -> None:
    text = "| Mio. Euro | 2023 | 2024 |\n|---|---|---|\n| Umsatz | 1412,3 | 1284,6 |\n| Ergebnis | 58,4 | 78,1 |\n"
    text += "\n[Werke](https://a.example/0)\n"
    claims = check_figures(read_report(text.encode(), "work_products/a.md"), Known([page(HEAT, 0)]))
    found = [(claim.text, str(claim.verdict)) for claim in claims]
    assert found == [("1412,3", "traced"), ("1284,6", "traced"), ("58,4", "traced"), ("78,1", "untraced")]


@pytest.mark.parametrize("date", ["Kurzanalyse, November 2026", "Rapport du 25 novembre 2026"])
def test_the_date_of_a_report_below_its_title_is_left_out(date: str) -> None:
    text = f"# Wärme\n\n{date}\n\nDie Werke bauen seit November 2026.\n"
    claims = check_figures(read_report(text.encode(), "work_products/a.md"), Known([page(HEAT, 0)]))
    assert [str(claim.verdict) for claim in claims] == ["untraced"]
