"""Texts of others as cells of a table that a spreadsheet opens."""

from __future__ import annotations

import pytest

from ua_tui.core.storage.csv_text import spreadsheet_cell


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("＝1+1", "'＝1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3", "'-2+3"),
        ("\t=1", "'\t'=1"),
        ("a;=1+1;-2+3", "a;'=1+1;'-2+3"),
        ("a\t=1", "a\t'=1"),
        ("a\n=1", "a\n'=1"),
        ("-5", "-5"),
        ("+1.5e3", "+1.5e3"),
        ("a = 1; b-c\n- d", "a = 1; b-c\n- d"),
    ],
)
def test_no_part_of_a_cell_is_taken_for_a_formula(text: str, cell: str) -> None:
    assert spreadsheet_cell(text) == cell
