from __future__ import annotations

from decimal import Decimal

import pytest

from observers.evidence.figures.figure import Figure
from observers.evidence.figures.find import find_figures
from tests.observers.evidence.figures.forms import FORMS

LINES = [line for line in FORMS.strip().splitlines() if not line.startswith("#")]


def described(figure: Figure, expected: str) -> str:
    """A figure as the table of forms has it, with as many decimals as are expected."""
    if figure.kind == "date":
        parts = ["date", "-".join(map(str, figure.date))]
    else:
        number = expected.split()[1] if expected.count(" ") else "0"
        decimals = len(number.partition(".")[2])
        parts = [figure.kind, f"{figure.value:.{decimals}f}" if decimals else plain(figure.value)]
    if figure.unit:
        parts.append(figure.unit)
    if figure.low != figure.high:
        parts.append(f"{plain(figure.low)}..{plain(figure.high)}")
    if figure.other is not None:
        parts.append(f"/{plain(figure.other)}")
    return " ".join(parts)


def plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@pytest.mark.parametrize("line", LINES)
def test_reads_a_written_form(line: str) -> None:
    text, _, expected = line.partition(" => ")
    wanted = [each.strip() for each in expected.split(";")] if expected else []
    found = find_figures(text)
    assert [
        described(figure, wanted[at] if at < len(wanted) else "") for at, figure in enumerate(found)
    ] == wanted
    assert all(text[figure.start : figure.end] == figure.text for figure in found)


def test_reads_a_short_text_by_the_language_of_what_is_around_it() -> None:
    (figure,) = find_figures("1.140", around="Die Zahl der Beschäftigten ist im Werk der Firma gestiegen.")
    assert figure.value == 1140


def test_takes_no_telephone_number_for_figures() -> None:
    assert find_figures("Call 020 7946 0958, or 01329 444 661.") == []
