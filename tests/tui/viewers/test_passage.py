"""Tests of finding a passage in the rows of a document."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from textual.content import Content

from tests.tui.files_host import hosted, screen_text
from tests.waiting import until
from ua_tui.tui.viewers.document import Body, ListRows, Row, Rows
from ua_tui.tui.viewers.passage import Passage, find_passage
from ua_tui.tui.viewers.view.document_view import DocumentView

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


@dataclass(frozen=True)
class _Lines(Body):
    """A body of one row for each line; its first row does `when_read` before it is read."""

    lines: tuple[str, ...]
    when_read: Callable[[], None] = lambda: None

    def lay_out(self, width: int, theme: object) -> Rows:
        return _ReadRows([Content(line) for line in self.lines], when_read=self.when_read)


@dataclass(frozen=True)
class _ReadRows(ListRows):
    when_read: Callable[[], None] = lambda: None

    def row(self, y: int) -> Row:
        if threading.current_thread() is not threading.main_thread():
            self.when_read()
        return super().row(y)


async def test_a_passage_is_found_in_rows_that_are_laid_out_again_during_the_search() -> None:
    view = DocumentView()
    async with hosted(view) as (app, _):

        async def lay_out_again() -> None:
            view.extend(_Lines(("checked", *_TEXT)))
            await until(lambda: view.is_laid_out)

        def extend() -> None:
            asyncio.run_coroutine_threadsafe(lay_out_again(), loop).result()

        loop = asyncio.get_running_loop()
        view.show(_Lines(("weak",), extend))
        await until(lambda: view.is_laid_out)
        assert await view.show_passage(Passage("the strongest motor of all", word="strongest"))
        assert view.matches == (1, 1)
        assert view.row_count == 1 + len(_TEXT)
        assert "Three bicycles" in screen_text(app)
