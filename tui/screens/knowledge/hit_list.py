"""The hits of a search: each with its kind, title and date, and the passage with the words that match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment

from ua_tui.core.knowledge.records import Hit
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.render.layout import Line, cut_line, width_of, wrap
from ua_tui.tui.screens.knowledge.hit_text import (
    DAY_CELLS,
    day_of,
    kind_name,
    notes_of,
    pieces_of,
    title_of,
)
from ua_tui.tui.widgets.column_list import KeyedList, Listed

_KIND_CELLS = 7
_PASSAGE_LINES = 2


class HitList(KeyedList[Hit]):
    """Lists hits; the cursor is always on one if there is one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--found", "hits--kind", "hits--title", "hits--passage"}
    ALLOW_SELECT = True
    GUTTER = 2
    _message = ""

    def name_of(self, row: Hit) -> str:
        """The number of the document."""
        return str(row.id)

    def show_hits(self, hits: Sequence[Hit], message: str, *, keep: bool) -> None:
        """Show hits from the first one, or with `keep` at the hit under the cursor; without hits a clean message."""
        self._message = message
        self.show(hits, self.name_of(hits[0]) if hits and not keep else None)

    def estimate(self, entry: Listed[Hit], width: int) -> int:
        """Guess that the passage fills its lines."""
        return 2 + _PASSAGE_LINES

    def lead(self, entry: Listed[Hit]) -> int:
        """Leave out the blank line above a hit."""
        return 1

    def render_entry(self, entry: Listed[Hit], width: int) -> Sequence[Line]:
        """Draw a hit in two columns: the kind at the left, the title and the passage at the right."""
        hit, muted = entry.row, self.palette["lines--muted"]
        indent = " " * (_KIND_CELLS + 2)
        room = max(1, width - len(indent))
        below = self._passage(hit, room)
        if notes := " · ".join(notes_of(hit)):
            below += wrap([(notes, muted)], room)
        below = [cut_line([Segment(indent, muted), *line], width) for line in below]
        return [[], self._title_line(hit, width), *below]

    def render_below(self, width: int) -> Sequence[Line]:
        """Say why there are no hits, and what to do."""
        if self.entries:
            return []
        return [[], *wrap([(self._message, self.palette["lines--muted"])], max(1, width - 2))]

    def _title_line(self, hit: Hit, width: int) -> Line:
        muted = self.palette["lines--muted"]
        date = f"  {tail_cut(day_of(hit), DAY_CELLS):>{DAY_CELLS}}"
        room = max(1, width - _KIND_CELLS - 2 - len(date))
        title = tail_cut(title_of(hit), room)
        # The site gets what the title leaves.
        left = room - width_of(title) - 2
        site = middle_cut(clean_line(hit.site), left) if left >= 12 else ""
        gap = " " * (room - width_of(title) - width_of(site))
        line = [
            Segment(f"{kind_name(hit.kind):<{_KIND_CELLS}}  ", self.palette["hits--kind"]),
            Segment(title, self.palette["hits--title"]),
            Segment(f"{gap}{site}{date}", muted),
        ]
        return cut_line(line, width)

    def _passage(self, hit: Hit, room: int) -> list[Line]:
        plain, found = self.palette["hits--passage"], self.palette["lines--found"]
        lines = wrap([(text, found if is_match else plain) for text, is_match in pieces_of(hit)], room)
        if len(lines) > _PASSAGE_LINES:
            last = Segment.adjust_line_length(lines[_PASSAGE_LINES - 1], room - 1, pad=False)
            lines = [*lines[: _PASSAGE_LINES - 1], [*last, Segment("…", plain)]]
        return lines if any(part.text.strip() for line in lines for part in line) else []
