"""Tests of finding a passage in the rows of a document."""

from __future__ import annotations

import pytest
from textual.content import Content

from ua_tui.tui.viewers.document import ListRows
from ua_tui.tui.viewers.passage import Passage, find_passage

_TEXT = (
    "Three bicycles", "", "The Velomax has", "the strongest motor", "of all. The motor",
    "of another is weak.",
)  # fmt: skip
ROWS = ListRows([Content(row) for row in _TEXT])


@pytest.mark.parametrize(("text", "word", "row"), [
    ("the **strongest** motor of all", "strongest", 3),
    ("The motor of another", "motor", 4),
    ("The VELOMAX has the strongest motor", "motor", 3),
    ("weak", "weak", 5),
    ("words that are nowhere else, and weak.", "weak", 5),
])  # fmt: skip
def test_a_passage_is_found_at_its_word_whatever_its_markup_and_lines(text: str, word: str, row: int) -> None:
    assert find_passage(ROWS, Passage(text, at=text.index(word), word=word)) == row


@pytest.mark.parametrize("text", ["", "…", "nothing here"])
def test_a_passage_that_is_not_there_is_not_found(text: str) -> None:
    assert find_passage(ROWS, Passage(text)) is None
