"""A table above the rows of a pane: names and figures, in as many lines and columns as there is room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style

from ua_tui.tui.render.format import Mark, middle_cut
from ua_tui.tui.render.layout import PLAIN, Line, cut_line, width_of

FEWEST_NAME_CELLS = 12

Row = tuple[str, Mapping[str, tuple[str, Style]]]
"""A name, and the figure of each column."""


@dataclass(frozen=True, slots=True)
class StateTheme:
    """The styles of numbers and of states."""

    number: Style = PLAIN
    running: Style = PLAIN
    good: Style = PLAIN
    warning: Style = PLAIN
    bad: Style = PLAIN

    def of(self, mark: Mark) -> Style:
        """Return the style of a mark."""
        styles = {Mark.SUCCESS: self.good, Mark.ERROR: self.bad, Mark.RUNNING: self.running}
        return styles.get(mark, self.warning)


class TableStyles(NamedTuple):
    """The styles of the head line, of names, numbers, zeros and failures."""

    head: Style
    name: Style
    number: Style
    zero: Style
    bad: Style


def render_columns(
    rows: Sequence[Row],
    columns: Mapping[str, int],
    width: int,
    height: int,
    styles: TableStyles,
    *,
    head: str,
    dropped_first: Sequence[str],
    most_name_cells: int,
    total: Row | None = None,
) -> list[Line]:
    """Render a head line, a line per row, the total and a rule, in at most `height` lines of `width` cells.

    Args:
        rows: the most important first; those without room are only counted.
        columns: the cells of each column, the space before it included.
        width: the cells of a line.
        height: the room for the table; nothing is rendered when there is none for a row.
        styles: how it is drawn.
        head: what the names are.
        dropped_first: the order in which columns are left out where room is short.
        most_name_cells: the cells of the longest name.
        total: a last row.
    """
    room = height - 2 - (total is not None)
    if room < 1:
        return []
    left_out = len(rows) - room
    if left_out > 0:
        left_out += room > 1
        rows = rows[: max(1, room - 1)]
    kept = dict(columns)
    for name in dropped_first:
        if FEWEST_NAME_CELLS + sum(kept.values()) > width:
            kept.pop(name)
    widest = max([FEWEST_NAME_CELLS, *(width_of(name) for name, _ in rows)])
    cells = max(1, min(widest, most_name_cells, width - sum(kept.values())))

    def named(name: str, style: Style) -> Segment:
        return Segment(set_cell_size(middle_cut(name, cells), cells), style)

    def line(row: Row) -> Line:
        name, figures = row
        shown = (figures[column] for column in kept)
        parts = zip(shown, kept.values(), strict=True)
        return [
            named(name, styles.name),
            *(Segment(f"{text:>{cell}}", style) for (text, style), cell in parts),
        ]

    titles = (Segment(f"{column:>{cell}}", styles.head) for column, cell in kept.items())
    lines: list[Line] = [[named(head, styles.head), *titles], *map(line, rows)]
    if left_out > 0 and room > 1:
        lines.append([Segment(f"+{left_out} more", styles.head)])
    if total is not None:
        lines.append(line(total))
    lines.append([Segment("─" * min(width, cells + sum(kept.values())), styles.head)])
    return [cut_line(each, width) for each in lines]
