"""Two texts compared: every line of both is there, and the words that differ are marked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.compare.body import SIDE_BY_SIDE, DifferenceBody
from ua_tui.tui.viewers.compare.difference import Difference, compare_lines, compare_texts

OLD = "# Chips\n\nYields rose to 84 percent in the spring.\n\nA line that goes.\n\nThe end."
NEW = "# Chips\n\nYields rose to 86 percent in the spring.\n\nThe end.\n\nA new line at last."

LINES = st.lists(st.text("ab \n日", max_size=12).map(lambda text: text.replace("\n", "")), max_size=12)


def _compared(old: str = OLD, new: str = NEW) -> Difference:
    left, right = old.split("\n"), new.split("\n")
    return Difference(left, right, compare_lines(left, right))


def _rows(difference: Difference, width: int, *, everything: bool = False) -> list[str]:
    rows = DifferenceBody(difference, everything=everything).lay_out(width, MarkdownTheme())
    return [rows.row(y).plain for y in range(len(rows))]


@given(LINES, LINES)
def test_every_line_is_paired_once_and_in_order(left: list[str], right: list[str]) -> None:
    pairs = compare_lines(left, right)
    assert [pair.left for pair in pairs if pair.left >= 0] == list(range(len(left)))
    assert [pair.right for pair in pairs if pair.right >= 0] == list(range(len(right)))
    assert all(pair.same == (left[pair.left] == right[pair.right]) for pair in pairs if min(pair[:2]) >= 0)
    for pair in pairs:
        for line, marks in (
            ((left[pair.left], pair.left_marks), (right[pair.right], pair.right_marks))
            if min(pair[:2]) >= 0
            else ()
        ):
            assert all(0 <= start < end <= len(line) for start, end in marks)
    for width in (1, 30, SIDE_BY_SIDE):
        assert all(len(row) <= max(width, 4) for row in _rows(Difference(left, right, pairs), width))


def test_words_that_differ_are_marked_and_changes_counted() -> None:
    difference = _compared()
    (changed,) = [pair for pair in difference.pairs if pair.left_marks]
    assert difference.left[changed.left][slice(*changed.left_marks[0])] == "84"
    assert difference.right[changed.right][slice(*changed.right_marks[0])] == "86"
    assert difference.counts == (1, 1, 1)
    assert len(difference.changes) == 2, "blank lines do not divide a change"
    assert compare_texts(OLD, NEW) == difference, "the worker process finds the same"


def test_changes_are_inline_or_side_by_side_with_signs() -> None:
    inline = _rows(_compared(), 80)
    at = next(number for number, row in enumerate(inline) if row.startswith("- Yields"))
    assert inline[at + 1].startswith("+ Yields")
    beside = _rows(_compared(), SIDE_BY_SIDE)
    assert any("- Yields rose to 84" in row and "+ Yields rose to 86" in row for row in beside)
    assert all(len(row) == SIDE_BY_SIDE - SIDE_BY_SIDE % 2 + 1 or len(row) <= SIDE_BY_SIDE for row in beside)


def test_what_is_unchanged_is_folded_away_until_everything_is_shown() -> None:
    same = [f"line {number}" for number in range(100)]
    left, right = [*same, "old", *same], [*same, "new words", *same]
    difference = Difference(left, right, compare_lines(left, right))
    rows = _rows(difference, 80)
    assert rows[0] == rows[-1] == "⋯ 97 unchanged lines"
    assert [row.strip() for row in rows[4:6]] == ["- old", "+ new words"]
    laid_out = DifferenceBody(difference).lay_out(80, MarkdownTheme())
    assert [landmark.row for landmark in laid_out.landmarks] == [4]
    assert len(_rows(difference, 80, everything=True)) == 202


def test_long_texts_are_compared_in_bounded_steps() -> None:
    left = [f"line {number}" for number in range(3_000)]
    right = [line + "!" if number % 500 == 0 else line for number, line in enumerate(left)]
    assert Difference(left, right, compare_lines(left, right)).counts == (6, 0, 0)
    assert compare_lines(["a", "b"] * 2_000, ["c"] * 4_000)[0].left == 0, "nothing alike, and no unique line"
