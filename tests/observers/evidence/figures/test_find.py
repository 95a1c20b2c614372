from __future__ import annotations

from decimal import Decimal

import pytest

from observers.evidence.figures.find import find_figures


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("2.1 TB/s", Decimal("2.1e12"), "B/s"),
        ("1,234.5 people", Decimal("1234.5"), ""),
        ("nine percent", Decimal(9), "%"),
        ("$1.2bn", Decimal("1.2e9"), "USD"),
    ],
)
def test_reads_a_figure(text: str, value: Decimal, unit: str) -> None:
    (figure,) = find_figures(text)
    assert (figure.value, figure.unit) == (value, unit)
