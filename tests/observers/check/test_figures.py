from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.find import find_figures
from ua_tui.observers.check.figures.numbers import style_of

FORMS = Path(__file__).with_name("forms.txt").read_text(encoding="utf-8").splitlines()
CASES = [line for line in FORMS if " => " in line]


def shown(figure: Figure) -> str:
    """A figure in short: its value or date, unit, what it counts, rate, direction and bound."""
    if figure.kind == "name":
        return figure.name
    if figure.kind == "date":
        return "-".join(str(part) for part in figure.date if part)
    values = "/".join(f"{reading.value:.10g}" for reading in figure.readings)
    rate = f"per {figure.rate}" if figure.rate else ""
    sign = {1: "up", -1: "down", 0: ""}[figure.sign]
    small = "small" if figure.is_small else ""
    return " ".join(filter(None, [figure.bound, values, figure.unit, figure.noun, rate, sign, small]))


@pytest.mark.parametrize("case", CASES)
def test_reads_a_figure_with_all_that_belongs_to_it(case: str) -> None:
    text, _, expected = case.partition(" => ")
    found = [shown(figure) for figure in find_figures(text, style_of(text))]
    assert "; ".join(found) == expected


def test_the_places_of_figures_are_those_of_the_text() -> None:
    text = "On 12 March 2024 about $1.2bn, a third of 3.6 billion dollars, went to 43 countries (v2.1.3)."
    for figure in find_figures(text, style_of(text)):
        assert text[figure.start : figure.end] == figure.text


@pytest.mark.parametrize("text", ["Case 2024-00-10 was closed.", "Case 2024-13-10 was closed."])
def test_what_has_no_month_is_no_date(text: str) -> None:
    assert not [
        figure for figure in find_figures(text, style_of(text)) if figure.kind == "date" and figure.date[1]
    ]
    assert not [figure for figure in find_figures(text, style_of(text)) if figure.text == "2024-00-10"]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Revenue ($m)", "8500000 USD"), ("Journeys 2031 (million)", "8500000"), ("Length (km)", "8500 length"),
        ("Share, %", "8.5 %"), ("Area (thousand hectares)", "85000000 area"),
        ("Price per month", "8.5"), ("Rank", "8.5"),
    ],
)  # fmt: skip
def test_a_cell_has_the_scale_and_unit_of_its_column(header: str, expected: str) -> None:
    style = style_of("The table of the office and of the lines is in the report of the year.")
    (figure,) = find_figures("8.5", style, [header])
    assert shown(figure) == expected


@pytest.mark.parametrize("header", ["Umsatz in Mio. Euro", "In Millionen Euro"])
def test_a_german_column_of_millions(header: str) -> None:
    style = style_of("Die Tabelle ist von dem Amt und mit den Zahlen für das Jahr.")
    (figure,) = find_figures("8,5", style, [header])
    assert shown(figure) == "8500000 EUR"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Stadt hat 4.217 Wohnungen, und die Kosten sind 1,5 Mio. Euro.", 4217.0),
        ("The city has 4.217 kilometres of pipes, and the cost is 1.5 million.", 4217.0),
        ("The city of the bay has 4,217 flats and the costs are $1.5 million.", 4217.0),
        ("La ville a 4 217 logements, et le coût est de 1,5 million d'euros.", 4217.0),
    ],
)
def test_what_a_mark_means_is_decided_by_the_language(text: str, expected: float) -> None:
    first = find_figures(text, style_of(text))[0]
    assert [reading.value for reading in first.readings] == [expected]


def test_an_ambiguous_mark_keeps_both_readings_each_with_the_scale() -> None:
    (figure,) = find_figures("4,217 km", style_of("4,217 km"))
    assert sorted(reading.value for reading in figure.readings) == [4217.0, 4217000.0]
    assert {reading.decimal for reading in figure.readings} == {".", ","}


@given(st.text("v0159.,-–/%½²٣ xkBs€'", max_size=30))
@example("firmware v10.0")
def test_no_run_of_digits_and_marks_is_an_error(text: str) -> None:
    found = find_figures(text, style_of(text))
    assert [figure.text for figure in found] == [text[figure.start : figure.end] for figure in found]
