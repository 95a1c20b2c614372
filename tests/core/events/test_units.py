from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from core.events.units import count, duration, milliseconds, money, size, spent_of, spoken_duration, tokens


def test_durations_change_unit_without_gaps() -> None:
    texts = {
        -1: "0.0s", 0.04: "0.0s", 0.4: "0.4s", 1.84: "1.8s", 33: "33.0s", 59.94: "59.9s", 59.96: "1m 00s",
        124: "2m 04s", 3599.7: "1h 00m", 3725: "1h 02m", 90_000: "1d 01h",
    }  # fmt: skip
    assert {seconds: duration(seconds) for seconds in texts} == texts
    short = {0.1: "<1 ms", 3: "3 ms", 999.4: "999 ms", 1800: "1.8s"}
    assert {value: milliseconds(value) for value in short} == short
    # Written to be read out.
    words = {
        0.2: "0 ms",
        140: "140 ms",
        1800: "1.8 s",
        59_900: "59.9 s",
        124_000: "2 min 4 s",
        3.7e6: "1 h 1 min",
    }
    assert {value: spoken_duration(value) for value in words} == words


@given(st.floats(0, 10_000_000), st.integers(0, 10**14))
def test_durations_and_sizes_fit_their_columns(seconds: float, number: int) -> None:
    assert cell_len(duration(seconds)) <= 8
    assert len(size(number)) <= 5


def test_sizes_counts_tokens_and_money() -> None:
    texts = {
        0: "0B",
        812: "812B",
        1000: "1K",
        1400: "1.4K",
        12_300: "12K",
        999_600: "1M",
        3_100_000: "3.1M",
        2 * 10**9: "2G",
    }
    assert {number: size(number) for number in texts} == texts
    assert (count(950), tokens(38_200), tokens(812)) == ("950", "38k tok", "812 tok")
    amounts = {0.214: "$0.21", 0.004: "<$0.01", 0: "$0.00", None: "", 1234: "$1,234"}
    assert {amount: money(amount) for amount in amounts} == amounts


def test_what_is_spent_never_looks_like_a_limit_it_is_not() -> None:
    texts = {
        (0.85, 1.0): ("$0.85", "$1.00"),
        (0.0, 1.0): ("$0.00", "$1.00"),
        (0.0163, 0.02): ("$0.0163", "$0.0200"),
        (0.0527, 0.05): ("$0.0527", "$0.0500"),
        (0.198, 0.2): ("$0.1980", "$0.2000"),
        (0.2, 0.2): ("$0.20", "$0.20"),
        (1999.996, 2000.0): ("$2,000", "$2,000"),
    }
    assert {amounts: spent_of(*amounts) for amounts in texts} == texts
