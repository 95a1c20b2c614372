"""Fits tables to a width: columns share the room; rows become records if there is too little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.segment import Segment
from rich.style import Style

from ua_tui.tui.render.layout import PLAIN, Line, Piece, line_width, merge, width_of, wrap

MAX_ROWS = 200
GAP = 2
MIN_COLUMN = 6
MAX_CELL_LINES = 6

Align = Literal["left", "center", "right"]
Cell = Sequence[Piece]


@dataclass(frozen=True, slots=True)
class TableTheme:
    """The styles of a table, apart from those of its cells."""

    rule: Style = PLAIN
    muted: Style = PLAIN


def table_lines(
    header: Sequence[Cell],
    rows: Sequence[Sequence[Cell]],
    aligns: Sequence[Align],
    width: int,
    theme: TableTheme,
) -> list[Line]:
    """Lay out a table in lines of at most `width` cells: a header, a rule, and at most 200 rows.

    If a column would get less than six cells, each row becomes a record with one `header: value` on each line.
    """
    shown = rows[:MAX_ROWS]
    columns = len(header)
    lines: list[Line]
    widths = _widths(header, shown, width)
    if widths is None:
        lines = _records(header, shown, width, theme)
    else:
        lines = _row(header, aligns, widths, theme)
        lines.append([Segment("─" * min(width, sum(widths) + GAP * (columns - 1)), theme.rule)])
        drawn = [_row(row, aligns, widths, theme) for row in shown]
        # Where one row wraps, a blank line is between any two: the distance of the rows is the same everywhere.
        is_apart = columns > 1 and any(len(each) > 1 for each in drawn)
        for number, each in enumerate(drawn):
            lines += [[], *each] if is_apart and number else each
    if len(rows) > len(shown):
        lines.append([Segment(f"… {len(rows) - len(shown)} more rows", theme.muted)])
    return lines


def _natural(cell: Cell) -> int:
    return max(width_of(line) for line in "".join(text for text, _ in cell).split("\n"))


def _widths(header: Sequence[Cell], rows: Sequence[Sequence[Cell]], width: int) -> list[int] | None:
    natural = [_natural(cell) for cell in header]
    for row in rows:
        for column, cell in enumerate(row[: len(natural)]):
            natural[column] = max(natural[column], _natural(cell))
    natural = [max(1, each) for each in natural]
    room = width - GAP * (len(natural) - 1)
    if sum(natural) <= room:
        return natural
    if room < sum(min(each, MIN_COLUMN) for each in natural):
        return None
    # Narrow columns get what they need; wide columns share the rest in proportion to their widths.
    fitted = [0] * len(natural)
    open_ = set(range(len(natural)))
    while open_:
        share = room / len(open_)
        small = [column for column in open_ if natural[column] <= share]
        if not small:
            total = sum(natural[column] for column in open_)
            spare = room - MIN_COLUMN * len(open_)
            for column in open_:
                fitted[column] = MIN_COLUMN + spare * natural[column] // total
            break
        for column in small:
            fitted[column] = natural[column]
            room -= natural[column]
            open_.discard(column)
    return fitted


def _row(
    cells: Sequence[Cell], aligns: Sequence[Align], widths: Sequence[int], theme: TableTheme
) -> list[Line]:
    columns: list[list[Line]] = []
    for column, width in enumerate(widths):
        wrapped = wrap(cells[column], width) if column < len(cells) else []
        if len(wrapped) > MAX_CELL_LINES:
            wrapped = [*wrapped[: MAX_CELL_LINES - 1], [Segment("…", theme.muted)]]
        columns.append(wrapped)
    lines: list[Line] = []
    for number in range(max((len(column) for column in columns), default=0)):
        line: Line = []
        for column, width in enumerate(widths):
            part = columns[column][number] if number < len(columns[column]) else []
            missing = max(0, width - line_width(part))
            align = aligns[column] if column < len(aligns) else "left"
            before = missing if align == "right" else missing // 2 if align == "center" else 0
            after = missing - before + (GAP if column < len(widths) - 1 else 0)
            line += [Segment(" " * before), *part, Segment(" " * after)]
        lines.append(merge(line))
    return lines or [[]]


def _records(
    header: Sequence[Cell], rows: Sequence[Sequence[Cell]], width: int, theme: TableTheme
) -> list[Line]:
    lines: list[Line] = []
    for number, row in enumerate(rows):
        if number:
            lines.append([Segment("─" * min(width, 12), theme.rule)])
        for name, cell in zip(header, row, strict=False):
            if any(text.strip() for text, _ in cell):
                lines.extend(wrap([*name, (": ", theme.muted), *cell], width))
    return lines
