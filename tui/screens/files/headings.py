"""The outline of a document: its headings as a list, in a column beside the text or in a dialog of choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList

from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.viewers.document import Landmark
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import Box, Dialog, Foot, Words

Answer = TypeVar("Answer")


class ChoiceScreen(Dialog[Answer | None]):
    """Shows a list; closes with what stands for the chosen row, or with None.

    Args:
        title: what the rows are.
        rows: the list, whose cursor is on the first row to choose.
        answers: what stands for each row.
        enter: what the choice does, in a word or two.
        leave: what no choice does.
        below: what is between the list and the keys.
    """

    def __init__(
        self,
        title: str,
        rows: LetterKeyList,
        answers: Sequence[Answer],
        enter: str,
        *below: Widget,
        leave: str = "close",
    ) -> None:
        self._foot = Foot()
        super().__init__(Box(title, "", rows, *below, self._foot), requested=True)
        self._rows = rows
        self._answers = answers
        self._hint = f"Enter {enter}   {{}} {leave}"

    def on_mount(self) -> None:
        """Focus the list, and show the keys as the person configured them."""
        hint = self._hint.format(self.keys.shown("screen.back"))
        self._foot.query_one(Words).update(hint)
        self._rows.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the answer of the chosen row."""
        self.dismiss(self._answers[event.option_index])


_TEXT = 200


class OutlineList(LetterKeyList):
    """Lists headings, indented by their level; the first 500 of a document that has more."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.headings: Sequence[Landmark] = ()
        self._drawn: tuple[Sequence[Landmark], int] = ((), 0)

    def show(self, headings: Sequence[Landmark]) -> None:
        """List these headings."""
        self.headings = headings[:500]
        self._draw()

    def on_resize(self) -> None:
        """Fit the headings to the width."""
        self._draw()

    def mark_current(self, row: int) -> None:
        """Move the cursor to the heading that a row of the document is below."""
        current = [number for number, heading in enumerate(self.headings) if heading.row <= row]
        if self.headings:
            self.highlighted = current[-1] if current else 0

    def _draw(self) -> None:
        width = self.scrollable_content_region.width or _TEXT
        if (self.headings, width) == self._drawn:
            return
        self._drawn = (self.headings, width)
        least = min((heading.level for heading in self.headings), default=1)
        self.show_rows(_row(heading, heading.level - least, width) for heading in self.headings)


def _row(heading: Landmark, depth: int, width: int) -> Content:
    indent = " " * min(depth * 2, width // 3)
    text = tail_cut(clean_line(heading.text, _TEXT) or "(no text)", max(1, width - cell_len(indent)))
    return Content.assemble(indent, (text, "" if depth else "bold"))
