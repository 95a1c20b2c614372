from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.core.cases import cases_of
from ua_tui.core.events import units

CASES = cases_of(__file__)


@pytest.mark.parametrize("name", [name for name in CASES if name != "spent_of"])
def test_amounts_change_unit_without_gaps(name: str) -> None:
    assert [getattr(units, name)(amount) for amount, _ in CASES[name]] == [text for _, text in CASES[name]]


@given(st.floats(0, 10_000_000), st.integers(0, 10**14))
def test_durations_and_sizes_fit_their_columns(seconds: float, number: int) -> None:
    assert cell_len(units.duration(seconds)) <= 8
    assert len(units.size(number)) <= 5


def test_what_is_spent_never_looks_like_a_limit_it_is_not() -> None:
    for spent, limit, *texts in CASES["spent_of"]:
        assert [*units.spent_of(spent, limit)] == texts
