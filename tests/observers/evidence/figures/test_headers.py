from __future__ import annotations

from ua_tui.observers.evidence.figures.find import find_figures
from ua_tui.observers.evidence.figures.headers import header_unit

CELLS = [
    ("Revenue ($m)", "1,234", 1_234_000_000, "USD"), ("Revenue, $ million", "12", 12_000_000, "USD"),
    ("Revenue ($ in millions)", "12", 12_000_000, "USD"),
    ("Revenue (in thousands of dollars)", "12", 12_000, "USD"), ("USD bn", "3", 3_000_000_000, "USD"),
    ("Share (%)", "12.5", 12.5, "%"), ("Growth (yoy, %)", "-3", -3, "%"), ("% of total", "12", 12, "%"),
    ("Percent", "12", 12, "%"), ("in TB/s", "2.1", 2.1e12, "B/s"), ("Bandwidth [GB/s]", "900", 9e11, "B/s"),
    ("Power, W", "700", 700, "W"), ("Population (millions)", "8.3", 8_300_000, ""),
    ("Employees ('000)", "5", 5_000, ""), ("Umsatz (Mio. €)", "1.234,5", 1_234_500_000, "EUR"),
    ("Umsatz in Mio. €", "12", 12_000_000, "EUR"), ("Anteil in Prozent", "12,5", 12.5, "%"),
    ("Chiffre d'affaires (M€)", "12", 12_000_000, "EUR"),
    ("Ingresos (millones de euros)", "12", 12_000_000, "EUR"), ("Output MW", "640", 640_000_000, "W"),
    ("Weight kg", "12", 12_000, "g"), ("Revenue EUR", "12", 12, "EUR"),
    ("Revenue (€bn)", "2024", 2_024_000_000_000, "EUR"),
]  # fmt: skip


def test_cells_have_the_unit_of_their_header() -> None:
    for header, cell, value, unit in CELLS:
        for given in (header, header_unit(header)):
            (figure,) = find_figures(cell, unit=given)
            assert (header, float(figure.value), figure.unit) == (header, value, unit)


def test_other_headers_have_no_unit() -> None:
    headers = [
        "", "Name", "Year", "Rank (of 5)", "Revenue (2024)", "Min", "Notes", "Team B", "Snack bar",
        "(" * 5_000,
    ]  # fmt: skip
    assert [header for header in headers if header_unit(header)] == []


def test_a_unit_of_the_cell_is_kept() -> None:
    (figure,) = find_figures("12%", unit="$m")
    assert figure.unit == "%"


def test_years_below_a_header_of_years_are_dates() -> None:
    (figure,) = find_figures("2024", unit="Year")
    assert figure.date == (2024, 0, 0)
