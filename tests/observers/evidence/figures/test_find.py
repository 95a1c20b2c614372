from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.figures.find import find_figures

# One line each: the text, `=>`, and the figures in it, separated by `;`. A figure is `kind value unit`, then
# `low..high` of a range and `/other` of another reading; dates are `date year-month-day`. A line without `=>` has none.
SECTIONS = [
    section.splitlines()
    for section in Path(__file__).with_name("forms.txt").read_text(encoding="utf-8")[2:].split("\n# ")
]


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


@pytest.mark.parametrize("lines", SECTIONS, ids=lambda lines: lines[0])
def test_reads_written_forms(lines: list[str]) -> None:
    for line in lines[1:]:
        text, _, expected = line.partition(" => ")
        wanted = [each.strip() for each in expected.split(";")] if expected else []
        found = find_figures(text)
        described_figures = [
            described(figure, wanted[at] if at < len(wanted) else "") for at, figure in enumerate(found)
        ]
        assert (text, described_figures) == (text, wanted)
        assert all(text[figure.start : figure.end] == figure.text for figure in found), text


def test_reads_a_short_text_by_the_language_of_what_is_around_it() -> None:
    (figure,) = find_figures("1.140", around="Die Zahl der Beschäftigten ist im Werk der Firma gestiegen.")
    assert figure.value == 1140


def test_takes_no_telephone_number_for_figures() -> None:
    assert find_figures("Call 020 7946 0958, or 01329 444 661.") == []
