from __future__ import annotations

from array import array

import pytest

from core.concurrency.cancellation import Stop, Stopped
from core.evidence.records import Claim, Source, Verdict
from observers.evidence.figure_claims import check_figures
from observers.evidence.reading.document import read_report
from observers.evidence.report import Block, Cell, Link, Report, Sentence
from observers.evidence.sources import SourceText
from tests.observers.evidence.quoting.reports import Known, block, page, report

PLANT = (
    "The plant in Oldham opened on 12 March 2024 after two years of building. It cost $1.24 billion and employs 4,812 "
    "people, 1,206 of them engineers.\n\n"
    "Output came to 640 MW in 2024 and to 512 MW in 2023, the operator said.\n\n"
    "| Year | Sales ($m) |\n|---|---|\n| 2022 | 310.5 |\n| 2023 | 377.0 |\n"
)
RIVAL = "Its rival in Bremen spent 91.7 million euros on a plant of 88 hectares and counted 176 visitors."


def check(text: str, *, cites: tuple[int, ...] = (0,)) -> list[Claim]:
    return list(check_figures(report(block(text, cites=cites)), Known([page(PLANT, 0), page(RIVAL, 1)])))


def verdicts(text: str, *, cites: tuple[int, ...] = (0,)) -> list[tuple[str, str]]:
    return [(claim.text, str(claim.verdict)) for claim in check(text, cites=cites)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The plant employs 4,812 people.", [("4,812", "traced")]),
        ("The plant employs about 4,800 people.", [("4,800", "converted")]),
        ("The plant cost $1.2bn.", [("$1.2bn", "converted")]),
        ("The plant cost 1,240 million dollars.", [("1,240 million dollars", "traced")]),
        ("The plant in Oldham delivers 0.64 GW of output.", [("0.64 GW", "converted")]),
        ("The plant opened on March 12, 2024.", [("March 12, 2024", "traced")]),
        ("The plant in Oldham opened in March 2024.", [("March 2024", "traced")]),
        ("A quarter of the people in the plant are engineers.", [("A quarter", "derived")]),
        ("Output rose from 512 MW to 640 MW, by 25 percent.", [
            ("512 MW", "traced"), ("640 MW", "traced"), ("25 percent", "derived"),
        ]),
        ("The other one takes 640,000 kW.", [("640,000 kW", "unchecked")]),
        ("The other one takes 4,812 of something.", [("4,812", "traced")]),
        ("Sales in 2023 were 377 million dollars.", [("2023", "traced"), ("377 million dollars", "traced")]),
        ("The plant employs 4,821 people.", [("4,821", "untraced")]),
        ("The plant opened on March 13, 2024.", [("March 13, 2024", "untraced")]),
        ("The plant cost €1.24 billion.", [("€1.24 billion", "untraced")]),
        ("Output came to 640 kW.", [("640 kW", "untraced")]),
        ("The rival in Bremen spent 91.7 million euros on a plant.", [("91.7 million euros", "other_source")]),
    ],
)  # fmt: skip
def test_says_how_a_figure_follows_from_the_source(text: str, expected: list[tuple[str, str]]) -> None:
    assert verdicts(text) == expected


BUYERS = (
    "Stocks at the buyers cover 3.1 weeks, down from 4.4 in the spring. The round was closed at a valuation of 5.2 "
    "billion. The tower lost a tenant, freeing up another 600,000 square feet. The upgrade costs $1.3b over 40 years. "
    "Some 225 people were hired for the canal."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Stocks at the buyers covered 4.4 weeks in the spring.",
            ["traced"],
        ),
        ("The round was closed at a valuation of $5.2 billion.", ["traced"]),
        ("The tenant of the tower will free another 600,000.", ["traced"]),
        ("The upgrade costs NZ$1.3 billion.", ["traced"]),
        ("The upgrade costs €1.3 billion.", ["untraced"]),
        ("The canal hired more than 200 people.", ["converted"]),
        ("The canal hired more than 240 people.", ["untraced"]),
        ("Stocks at the buyers cover 4.7 weeks.", ["untraced"]),
        ("The round was closed at a valuation of $5.7 billion.", ["untraced"]),
    ],
)
def test_finds_a_figure_whose_unit_the_source_leaves_out_or_shortens(text: str, expected: list[str]) -> None:
    claims = check_figures(report(block(text, cites=(0,))), Known([page(BUYERS, 0)]))
    assert [str(claim.verdict) for claim in claims] == expected


def test_shows_the_passage_and_the_computation() -> None:
    (share,) = check("A quarter of the people in the plant are engineers.")
    assert share.note == "1,206 / 4,812 ≈ A quarter"
    (count,) = check("The plant employs 4,812 people.")
    (evidence,) = count.evidence
    assert PLANT[evidence.start : evidence.end] == "4,812"
    assert "employs 4,812 people" in evidence.passage


def test_a_word_that_ends_like_over_is_no_approximation() -> None:
    text = "Die Besucher in Bremen: {} 171 Besucher."
    assert verdicts(text.format("über"), cites=(1,)) == [("171", "converted")]
    assert verdicts(text.format("gegenüber"), cites=(1,)) == [("171", "untraced")]


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


def test_a_count_that_looks_like_a_year_is_part_of_a_share() -> None:
    source = "En nómina figuran 17.075 personas, de las que 2087 desarrollan nuevos productos."
    text = "La plantilla es de 17.075 personas, y el 12,2 % de ellas desarrolla productos."
    _, share = check_figures(report(block(text, cites=(0,))), Known([page(source)]))
    assert share.note == "2087 / 17.075 ≈ 12,2 %"


def test_adds_up_the_column_of_a_table() -> None:
    blocks, sentences = [], []
    for row, (year, value) in enumerate([("2022", "310.5"), ("2023", "377.0"), ("Total", "687.5")], 1):
        cell = Cell(0, row, 1, row_header=year, column_header="Sales ($m)")
        blocks.append(Block(kind="cell", text=value, offsets=array("L", range(len(value))), cell=cell))
        sentences.append(Sentence(row, blocks[-1], 0, len(value), ("https://a.example/0",)))
    claims = list(check_figures(Report(source="", blocks=blocks, sentences=sentences), Known([page(PLANT)])))
    assert [claim.verdict for claim in claims] == [Verdict.TRACED, Verdict.TRACED, Verdict.DERIVED]


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


@pytest.mark.parametrize(
    "text",
    [
        "There are two reasons for the plant, and three against it.",
        "Table 3 and page 99 have the plant.",
        "One of the plants is old.",
    ],
)
def test_leaves_out_what_is_hardly_taken_from_a_source(text: str) -> None:
    assert check(text) == []


@pytest.mark.parametrize(
    "text", ["9,9.9-", "In all 500 people and 20% of ", "12 March 2020, ", "2020 ", "a total of 7 "]
)
def test_the_work_for_a_figure_is_bounded_however_often_a_source_has_it(text: str) -> None:
    # Comparing each with each, these take minutes.
    whole = text * 3_000
    claims = list(check_figures(report(block(whole, cites=(0,))), Known([page(whole, 0)])))
    assert len(claims) >= 3_000
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


FIRM = f"\n{' And so it was for all who saw it.' * 12}\n".join(
    [
        "The park has 62 turbines with a capacity of 930 megawatts.",
        "The park was built for 2.84 billion euros instead of 2.5 billion.",
        "Its staff grew from 1,140 to 1,365 people.",
        "Fees for the grid fall by 1.9 cents to 9.6 cents.",
        "Reserves of water are at 22.4 percent; a year ago they were at 19.1 percent.",
        "The park lies some 250 miles offshore.",
        "With little care the yield is 72 percent, and with more care it is 85.",
    ]
)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("The 62 turbines of the park have 930 megawatts, or 15 MW each.", "930 megawatts / 62 = 15 MW"),
        ("Built for 2.84 billion euros, the park was 340 million euros over plan.",
         "2.84 billion euros − 2.5 billion = 340 million euros"),
        ("The staff grew by more than 200 people.", "1,365 − 1,140 ≈ 200"),
        ("Fees for the grid fall from 11.5 cents to 9.6 cents.", "9.6 cents + 1.9 cents = 11.5 cents"),
        ("Reserves of water have risen by 3.3 points in a year.", "22.4 percent − 19.1 percent = 3.3"),
        ("A point of care is worth thirteen points of yield.", "85 − 72 percent = thirteen"),
        ("The park lies 250 miles (400 km) offshore.", "250 miles ≈ 400 km"),
        ("Fees for the grid: minus 1.9 cents.", ""),
        ("Built for 2.84 billion euros, the park was dearer by 13.6 percent (up).",
         "(2.84 billion euros − 2.5 billion) / 2.5 billion = 13.6 percent"),
    ],
)  # fmt: skip
def test_computes_what_a_report_derives_from_its_source(text: str, note: str) -> None:
    claims = list(check_figures(report(block(text, cites=(0,))), Known([page(FIRM, 0)])))
    assert note in [claim.note for claim in claims]
    assert {claim.verdict for claim in claims} <= {Verdict.TRACED, Verdict.CONVERTED, Verdict.DERIVED}


def test_only_doubts_what_a_report_says_to_have_computed() -> None:
    for text, expected in [
        ("The park has 62 turbines, i.e. 77 percent of all.", Verdict.UNCHECKED),
        ("The park has 62 turbines (77 percent of all).", Verdict.UNCHECKED),
        ("The park has 62 turbines and 77 percent of all.", Verdict.UNTRACED),
        ("The park lies 250 miles (470 km) offshore.", Verdict.UNTRACED),
    ]:
        *_, claim = check_figures(report(block(text, cites=(0,))), Known([page(FIRM, 0)]))
        assert (text, claim.verdict) == (text, expected)


@pytest.mark.parametrize(
    "text",
    [
        "Reading time: 4 minutes",
        "Sources consulted: 23",
        "Based on 18 articles of the press.",
        "I ran 31 searches and opened 19 pages.",
        "Confidence: high (77%)",
        "Memo, 25.11.2026, page 1 of 2",
    ],
)
def test_leaves_out_what_a_report_says_of_itself(text: str) -> None:
    assert list(check_figures(report(block(text)), Known([page(FIRM, 0)]))) == []
    claims = list(
        check_figures(report(block("The park opened on 25.11.2026, with 77 percent.")), Known([page(FIRM)]))
    )
    assert [claim.verdict for claim in claims] == [Verdict.UNTRACED, Verdict.UNTRACED]


def test_takes_the_rest_of_a_column_of_shares() -> None:
    blocks, sentences = [], []
    rows = [("Fees", "22.4"), ("Reserves", "19.1"), ("Others", "58.5"), ("Total", "100")]
    for row, (name, value) in enumerate(rows, 1):
        cell = Cell(0, row, 1, row_header=name, column_header="Share (%)")
        blocks.append(Block(kind="cell", text=value, offsets=array("L", range(len(value))), cell=cell))
        sentences.append(Sentence(row, blocks[-1], 0, len(value), ("https://a.example/0",)))
    claims = check_figures(Report(source="", blocks=blocks, sentences=sentences), Known([page(FIRM)]))
    assert [str(claim.verdict) for claim in claims] == ["traced", "traced", "derived", "derived"]


NEWS = (
    "The ferry firm said on its results that revenue rose in the third quarter, and that talks with the union resume "
    "next Tuesday. Batteries for a ferry cost $310 per kilowatt-hour. The second ship follows in the spring of 2028."
)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Revenue of the firm rose in Q3 2026.", "traced"),
        ("Revenue of the firm rose in the third quarter of 2026.", "traced"),
        ("Revenue of the firm rose in Q2 2026.", "untraced"),
        ("Talks with the union resume on Tuesday, 27 October.", "derived"),
        ("Talks with the union resume on Wednesday, 28 October.", "untraced"),
        ("Batteries of a ferry cost $310/kWh.", "traced"),
        ("Batteries of a ferry cost $310/MWh.", "untraced"),
    ],
)
def test_reads_quarters_days_and_rates_as_news_write_them(text: str, verdict: str) -> None:
    url = "https://a.example/0"
    source = SourceText(0, Source(kind="article", url=url, published="2026-10-20"), NEWS)
    claims = check_figures(report(block(text, cites=(0,))), Known([source]))
    assert [str(claim.verdict) for claim in claims] == [verdict]


def test_a_year_that_another_source_has_is_not_said_to_be_in_none() -> None:
    sources = Known(
        [page("The firm orders ships.", 0), page("The shore connection of ships is due in 2028.", 1)]
    )
    (claim,) = check_figures(report(block("The connection is ready by 2028.", cites=(0,))), sources)
    assert claim.verdict is Verdict.OTHER_SOURCE


def test_only_doubts_a_share_in_words_that_sums_up() -> None:
    (cited,) = check_figures(report(block("Nearly half of it is old.", cites=(0,))), Known([page(FIRM)]))
    (free,) = check_figures(report(block("Nearly half of it is old.")), Known([page(FIRM)]))
    assert (cited.verdict, free.verdict) == (Verdict.UNTRACED, Verdict.UNCHECKED)


POWER = (
    "The utility at Holm is growing. What it gave in two years: wind 112.4 TWh and 121.9 TWh, offshore wind 25.7 TWh "
    "and 28.3 TWh, solar 63.2 TWh and 74.8 TWh, hydro 19.8 TWh and 17.6 TWh, biomass 42.5 TWh and 41.0 TWh, and "
    "nuclear 88.0 TWh and 86.2 TWh. In all it gave 498.6 TWh. Its revenue was $437 million and its cost $291 million."
)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Renewables gave the utility 283.6 TWh in all.", Verdict.UNCHECKED),
        ("Renewables gave the utility 293.6 TWh in all.", Verdict.UNTRACED),
        ("Renewables account for about 57% of what the utility gave.", Verdict.UNCHECKED),
        ("The revenue of the utility was $447 million.", Verdict.UNTRACED),
        ("The utility at Holm has 77 employees.", Verdict.UNTRACED),
        ("The utility at Holm grew in the first nine months of the year.", Verdict.UNCHECKED),
        ("The utility at Holm was built in nine months.", Verdict.UNTRACED),
    ],
)
def test_only_doubts_what_plausibly_follows(text: str, verdict: Verdict) -> None:
    (claim,) = check_figures(report(block(text, cites=(0,))), Known([page(POWER, 0)]))
    assert claim.verdict is verdict


def test_doubts_what_follows_from_a_figure_that_may_be_computed() -> None:
    text = "Renewables gave the utility 283.6 TWh in all, a share of 56.9% of the 498.6 TWh."
    claims = check_figures(report(block(text, cites=(0,))), Known([page(POWER, 0)]))
    assert [str(claim.verdict) for claim in claims] == ["unchecked", "unchecked", "traced"]


@pytest.mark.parametrize(
    "text",
    [
        "Briefing, 25 November 2026.",
        "Status: Nov 25, 2026 · 3 sources",
        "Compiled in November 2026 from three sources.",
    ],
)
def test_leaves_out_the_date_of_the_report_at_its_top(text: str) -> None:
    assert list(check_figures(report(block(text)), Known([page(FIRM, 0)]))) == []


HEAT = (
    "Die Werke hatten 2024 einen Umsatz von 1.284,6 Mio. Euro (Vorjahr: 1.412,3 Mio. Euro). Ihr Ergebnis vor Steuern "
    "wuchs auf 71,8 Mio. Euro nach 58,4 Mio. Euro im Vorjahr. Der Preis der Wärme steigt von 11,86 auf 12,69 Cent. Die "
    "Pumpe kostet 74 Mio. Euro, 40 Prozent davon zahlt der Bund. Sie hat 312 Kilometer Rohre."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das Ergebnis der Werke vor Steuern legte um 22,9 Prozent zu.", ["unchecked"]),
        ("Das Ergebnis der Werke vor Steuern legte um 27,9 Prozent zu.", ["untraced"]),
        ("Der Preis der Wärme ist nun 12,69 statt 11,86 Cent.", ["traced", "traced"]),
        ("Der Preis der Wärme ist nun 12,96 statt 11,86 Cent.", ["untraced", "traced"]),
        ("Von den Kosten der Pumpe zahlt der Bund 40 Prozent oder 29,6 Mio. Euro.", ["traced", "unchecked"]),
        ("Die Werke haben für die Wärme 318 Kilometer Rohre.", ["untraced"]),
        ("Ihr Umsatz sank 2024 um 127,7 Mio. Euro.", ["traced", "derived"]),
    ],
)
def test_only_doubts_what_may_have_been_computed(text: str, expected: list[str]) -> None:
    claims = check_figures(report(block(text, cites=(0,))), Known([page(HEAT, 0)]))
    assert [str(claim.verdict) for claim in claims] == expected


def test_the_unit_above_the_names_of_the_rows_is_of_the_whole_table() -> None:
    text = "| Mio. Euro | 2023 | 2024 |\n|---|---|---|\n| Umsatz | 1412,3 | 1284,6 |\n| Ergebnis | 58,4 | 78,1 |\n"
    text += "\n[Werke](https://a.example/0)\n"
    claims = check_figures(read_report(text.encode(), "work_products/a.md"), Known([page(HEAT, 0)]))
    found = [(claim.text, str(claim.verdict)) for claim in claims]
    assert found == [("1412,3", "traced"), ("1284,6", "traced"), ("58,4", "traced"), ("78,1", "untraced")]


def test_the_month_of_a_report_below_its_title_is_left_out() -> None:
    text = "# Wärme\n\nKurzanalyse, November 2026\n\nDie Werke bauen seit November 2026.\n"
    claims = check_figures(read_report(text.encode(), "work_products/a.md"), Known([page(HEAT, 0)]))
    assert [str(claim.verdict) for claim in claims] == ["untraced"]


SLEEP = (
    "An der Studie nahmen 1.248 Erwachsene teil. Das relative Risiko der Kurzschläfer sank auf 1,54. Die Kosten der "
    "Behandlung stiegen 2024 auf 214 Millionen Euro, 2019 waren es 171 Millionen Euro."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("An der Studie nahmen rund 1.250 Erwachsene teil.", "converted"),
        ("An der Studie nahmen rund 1.290 Erwachsene teil.", "untraced"),
        ("Die Behandlung kommt die Kosten betreffend auf 43 Millionen Euro dazu.", "unchecked"),
    ],
)
def test_reads_round_counts_and_differences(text: str, expected: str) -> None:
    claims = check_figures(report(block(text, cites=(0,))), Known([page(SLEEP, 0)]))
    assert [str(claim.verdict) for claim in claims] == [expected]


def test_the_day_of_a_report_in_french_is_left_out() -> None:
    text = "# Sommeil\n\nRapport du 25 novembre 2026\n"
    assert not list(check_figures(read_report(text.encode(), "work_products/a.md"), Known([page(SLEEP, 0)])))
