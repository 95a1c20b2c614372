"""Tests of passages without the marks of Markdown."""

from __future__ import annotations

from tests.core.cases import cases_of
from ua_tui.core.knowledge.search.passages import plain_passage

CASES = cases_of(__file__)


def test_marks_are_removed() -> None:
    plain = CASES["marks_are_removed.plain"]
    assert {text: plain_passage(text, ())[0] for text in plain} == plain


def test_what_matches_stays_marked() -> None:
    text = "# The [memory market](https://memory.example/) **grows** fast"
    places = [(text.index(word), text.index(word) + len(word)) for word in ("memory", "**grows**", "fast")]
    address = text.index("memory.example")
    plain, marks = plain_passage(text, [*places, (address, address + 6)])
    assert plain == "The memory market grows fast"
    assert [plain[start:end] for start, end in marks] == ["memory", "grows", "fast"]
