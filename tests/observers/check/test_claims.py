from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observers.check.sources import checked, states
from ua_tui.core.claims.records import Claim
from ua_tui.observers.check import figure_claims

# Sources, and sentences about them: each of their figures with its state, and what the source has instead or the
# calculation.
CASES = json.loads(Path(__file__).with_name("claims.json").read_text(encoding="utf-8"))
SENTENCES = [(name, sentence) for name, case in CASES.items() for sentence in case["sentences"]]


@pytest.mark.parametrize(("name", "sentence"), SENTENCES)
def test_says_what_the_sources_have(name: str, sentence: str) -> None:
    case = CASES[name]
    found = checked(sentence, *case["sources"])
    assert states(found.claims) == case["sentences"][sentence]


# True sentences that calculate, round and say things in other words; no check may call one of them wrong.
TRUE = json.loads(Path(__file__).with_name("true_sentences.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "sentence"), [(name, each) for name, case in TRUE.items() for each in case["sentences"]]
)
def test_nothing_true_is_red(name: str, sentence: str) -> None:
    assert not checked(f"# The report\n\n{sentence}", *TRUE[name]["sources"]).red


def one(report: str, *texts: str) -> Claim:
    (claim,) = [each for each in checked(report, *texts).claims if each.state != "not looked at"]
    return claim


PLANT = CASES["plant"]["sources"][0]


def test_a_claim_has_its_place_and_the_passage_by_their_words() -> None:
    report = "# The plant\n\nIt is large. The plant in Oldham employs **4,812** people."
    claim = one(report, PLANT)
    assert (claim.quote.exact, claim.quote.suffix) == ("4,812", " people.")
    assert claim.quote.prefix.endswith("The plant in Oldham employs ")
    assert claim.section == "The plant"
    (passage,) = claim.passages
    assert (passage.source, passage.quote.exact) == (0, "4,812")
    assert "employs 4,812 people" in passage.text


def test_another_value_in_the_other_direction_is_red_whatever_its_passage_adds_up_to() -> None:
    turnover = "The turnover of the Ostby harbour company"
    source = f"{turnover} fell by 47 percent in 2031, berths by 22 percent and tugs by 18 percent."
    claim = checked(f"{turnover} rose by 40 percent in 2031.", source).claims[0]
    assert (claim.state, claim.instead, claim.note) == ("differs", "47 percent", "")


def test_the_value_of_another_thing_is_doubtful_although_the_sentence_has_it_for_that_too() -> None:
    source = "The port of Norrhaven handled 412,000 tonnes for Italy and 187,000 tonnes for China."
    report = "The port of Norrhaven handled {} tonnes for Italy, more than twice as much as for China (187,000 tonnes)."
    for said, state in (("412,000", "found"), ("187,000", "not found")):
        first, *_, last = checked(report.format(said), source).claims
        assert (first.state, last.state) == (state, "found")


def test_red_shows_what_the_source_has_instead() -> None:
    claim = one("The plant in Oldham employs 4,821 people, most of them for years.", PLANT)
    assert (claim.state, claim.instead) == ("differs", "4,812 people" if " " in claim.instead else "4,812")
    assert claim.passages[0].quote.exact == "4,812"


@pytest.mark.parametrize(
    ("said", "source", "note"),
    [
        ("41 billion", "41 percent", "The digits are the same, but the unit is different."),
        ("41 percent", "41 billion", ""),
        ("41 billion", "41 million", "The digits are the same, but the scale is different."),
    ],
)
def test_percent_are_no_other_scale(said: str, source: str, note: str) -> None:
    sentence = "The market for stacked memory reached {} last year in Europe."
    claim = one(sentence.format(said), sentence.format(source))
    assert (claim.state, claim.note) == ("differs", note)


def test_amber_shows_the_nearest_passage() -> None:
    claim = one("The plant in Oldham has a canteen with 77 tables in a hall of its own.", PLANT)
    assert claim.state == "not found"
    assert claim.passages


def test_a_calculation_shows_both_operands() -> None:
    report = "Engineers make up 25.1 % of the people in the plant in Oldham: 1,206 of 4,812."
    (claim,) = [each for each in checked(report, PLANT).claims if each.formula]
    assert claim.formula == "1,206 / 4,812 ≈ 25.1 %"
    assert [passage.quote.exact for passage in claim.passages] == ["1,206", "4,812"]


def test_what_a_report_says_of_itself_is_left_out() -> None:
    for line in ("Reading time: 14 minutes", "Sources consulted: 23", "This report has 31 pages."):
        assert not checked(line, PLANT).claims


def test_a_column_gives_the_unit_and_its_row_the_name() -> None:
    report = "| Year | Sales ($m) |\n|---|---|\n| 2022 | 310.5 |\n| 2023 | 377.0 |\n| 2024 | 401.0 |\n"
    found = states(checked(report, PLANT).claims)
    assert found["310.5"] == found["377.0"] == "found"
    assert found["401.0"].startswith(("not found", "differs"))


def test_calculations_are_looked_for_a_limited_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        (name, f"{4_000 + 617 * at:,}")
        for at, name in enumerate(("Altona", "Bremen", "Celle", "Dorsten", "Emden"))
    ]
    head = "| Town | Visitors |\n|---|---|\n"
    source = head + "\n".join(f"| {name} | {value} |" for name, value in rows)
    moved = head + "\n".join(f"| {name} | {rows[at - 1][1]} |" for at, (name, _) in enumerate(rows))
    assert [each.state for each in checked(moved, source).claims] == ["differs"] * 5
    monkeypatch.setattr(figure_claims, "_MOST_CLOSE", 2)
    assert [each.state for each in checked(moved, source).claims] == ["differs"] * 2 + ["not found"] * 3
