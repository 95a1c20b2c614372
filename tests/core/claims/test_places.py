from __future__ import annotations

import pytest

from ua_tui.core.claims.places import find_quotes
from ua_tui.core.claims.records import TextQuote


def shown(quote: TextQuote, *lines: str) -> list[str]:
    """The parts of lines that show a quote."""
    (places,) = find_quotes(lines, [quote])
    return [lines[place.row][place.start : place.end] for place in places]


@pytest.mark.parametrize(
    ("exact", "lines", "parts"),
    [
        ("84 percent", ["The yield is 84 percent."], ["84 percent"]),
        ("84 percent", ["The yield is 84", "percent."], ["84", "percent"]),
        ("$4.2 billion", ["It cost ($4.2 billion)."], ["$4.2 billion"]),
        ("−9 %", ["Sales: −9 % in May"], ["−9 %"]),
        ("pays the bills", ["“It pays", "", "  the bills”, she said"], ["pays", "the bills"]),
        ("Yield", ["the YIELD rose"], ["YIELD"]),
        ("84", ["The yield is 840."], []),
        ("…", ["nothing has words … here"], []),
    ],
)
def test_a_quote_is_found_over_line_breaks_with_the_signs_at_its_ends(
    exact: str, lines: list[str], parts: list[str]
) -> None:
    assert shown(TextQuote(exact), *lines) == parts


def test_the_words_around_a_quote_tell_equal_ones_apart() -> None:
    rows = ("In 2024 it was 12 percent.", "Later 12 percent of parts failed.", "And 12 percent more.")
    quotes = [TextQuote("12", "And "), TextQuote("12", "it was "), TextQuote("12", "", " percent of parts")]
    assert [place.row for (place,) in find_quotes(rows, quotes)] == [2, 0, 1]


def test_equal_quotes_without_context_are_taken_in_their_order() -> None:
    rows = ("a 5 b", "c 6 d", "e 5 f")
    found = find_quotes(rows, [TextQuote("6"), TextQuote("5")])
    assert [place.row for (place,) in found] == [1, 2]
