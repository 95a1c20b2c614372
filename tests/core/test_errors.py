"""The text of advice."""

from __future__ import annotations

from ua_tui.core.errors import Advice


def test_format_fills_both_clauses_and_leaves_braces_of_values_alone() -> None:
    advice = Advice("it answers with {0}", "see {place}").format("{1} of {2}", place="{log}")
    assert advice == Advice("it answers with {1} of {2}", "see {log}")
