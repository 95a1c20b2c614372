from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ua_tui.observers.evidence.figures.find import find_figures

numbers = st.integers(0, 10**12)
cents = st.integers(0, 10**11).map(lambda number: Decimal(number) / 100)
ENGLISH, GERMAN, FRENCH = (
    "the total of the firm was {}.", "die Summe der Firma war {}.", "le total de la ville est de {}.",
)  # fmt: skip


@given(cents)
def test_english_amounts(amount: Decimal) -> None:
    (figure,) = find_figures(ENGLISH.format(f"${amount:,.2f}"))
    assert (figure.value, figure.unit, figure.step) == (amount, "USD", Decimal("0.01"))


@given(cents)
def test_german_amounts(amount: Decimal) -> None:
    written = f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))
    (figure,) = find_figures(GERMAN.format(f"{written} €"))
    assert (figure.value, figure.unit) == (amount, "EUR")


@given(cents, st.sampled_from(" \u00a0\u202f\u2009"))
def test_french_amounts(amount: Decimal, space: str) -> None:
    written = f"{amount:,.2f}".replace(",", space).replace(".", ",")
    (figure,) = find_figures(FRENCH.format(f"{written} €"))
    assert (figure.value, figure.unit) == (amount, "EUR")


@given(numbers)
def test_grouped_whole_numbers(number: int) -> None:
    for text, mark in ((ENGLISH, ","), (GERMAN, "."), (GERMAN, "'"), (FRENCH, "\u00a0")):
        (figure,) = find_figures(text.format(f"{number:,}".replace(",", mark) + " kg"))
        assert figure.value == number * 1000
        assert figure.low == figure.high == figure.value


@given(st.dates(date(1000, 1, 1), date(2199, 12, 31)))
def test_dates(day: date) -> None:
    for written in (f"{day}", f"{day:%d.%m.%Y}", f"{day:%d %B %Y}", f"{day:%B %d, %Y}", f"{day:%d/%m/%Y}"):
        (figure,) = find_figures(f"on {written} it began")
        other = figure.other and date.fromordinal(int(figure.other))
        assert figure.value == day.toordinal() or other == day


@given(
    st.text(
        st.sampled_from("0123456789.,-–/:%$€ \n()'½×^eEkmMßO\u200b\u00a0nine to and March Q"), max_size=60
    )
)
@example("0$½")
def test_never_raises_and_places_are_right(text: str) -> None:
    end = 0
    for figure in find_figures(text):
        assert 0 <= end <= figure.start < figure.end <= len(text)
        assert figure.text == text[figure.start : figure.end]
        assert figure.low <= figure.high
        end = figure.end


@given(st.text(max_size=80), st.text(max_size=20))
def test_reads_any_text_and_header(text: str, header: str) -> None:
    for figure in find_figures(text, unit=header):
        assert figure.text == text[figure.start : figure.end]


HOSTILE = (
    "1", "1,", ",", "111 ", "1.1", "1-", "1e", "1 × 10^", "quatre-vingt-", "hundred and ", "zweihundert", "[1,", "$",
    "1\u200b", "1O", "5, ", "12 to ", "http://1",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_repeated_pieces_are_read_in_linear_time(piece: str) -> None:
    find_figures(piece * 8_000 + " percent")


def test_huge_numbers_are_read() -> None:
    for text in ("1" * 1_000_000, "1e999999999999", "10^999", "9" * 40 + " trillion trillion"):
        find_figures(text)
