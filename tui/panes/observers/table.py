"""The table above the feed: what each observer did, in as many columns as there is room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from ua_tui.core.events.units import count, milliseconds
from ua_tui.core.view.records import ObserverRuns
from ua_tui.tui.render.format import middle_cut
from ua_tui.tui.render.layout import Line, cut_line, width_of

COLUMNS = {"runs": 5, "saved": 6, "skip": 5, "fail": 5, "items": 6, "p50": 7, "p95": 7}
"""The columns and their cells, the space before each included."""
DROPPED_FIRST = ("skip", "items", "p50", "saved", "runs", "p95", "fail")
"""The order in which columns are left out where room is short."""
NAME_CELLS = 24
FEWEST_NAME_CELLS = 12


class TableStyles(NamedTuple):
    """The styles of the head line, of names, numbers, zeros and failures."""

    head: Style
    name: Style
    number: Style
    zero: Style
    bad: Style


def render_table(
    metrics: Mapping[str, ObserverRuns],
    width: int,
    height: int,
    styles: TableStyles,
) -> list[Line]:
    """Render a head line, a line per observer and a rule, in at most `height` lines of `width` cells.

    Where there is no room for all observers, those that failed come first, then those that ran most. Nothing
    is rendered when there is room for none.
    """
    room = height - 2
    if not metrics or room < 1:
        return []
    shown = list(metrics.items())
    left_out = len(shown) - room
    if left_out > 0:
        left_out += room > 1
        shown = sorted(shown, key=lambda each: (-each[1].failed, -each[1].runs))[: max(1, room - 1)]
    columns = dict(COLUMNS)
    for name in DROPPED_FIRST:
        if FEWEST_NAME_CELLS + sum(columns.values()) > width:
            columns.pop(name, None)
    widest = max(FEWEST_NAME_CELLS, *(width_of(name) for name, _ in shown))
    name_cells = max(1, min(widest, NAME_CELLS, width - sum(columns.values())))
    lines: list[Line] = [
        [
            Segment(_filled(middle_cut("observer", name_cells), name_cells), styles.head),
            *(Segment(f"{column:>{cells}}", styles.head) for column, cells in columns.items()),
        ]
    ]
    for name, each in shown:
        line: Line = [Segment(_filled(middle_cut(name, name_cells), name_cells), styles.name)]
        for column, cells in columns.items():
            line.append(_cell(each, column, cells, styles))
        lines.append(line)
    if left_out > 0 and room > 1:
        lines.append([Segment(f"+{left_out} more", styles.head)])
    lines.append([Segment("─" * min(width, name_cells + sum(columns.values())), styles.head)])
    return [cut_line(line, width) for line in lines]


def _cell(metrics: ObserverRuns, column: str, cells: int, styles: TableStyles) -> Segment:
    match column:
        case "p50":
            return _time(metrics.p50_ms, cells, styles)
        case "p95":
            return _time(metrics.p95_ms, cells, styles)
        case "skip":
            number = metrics.skipped
        case "fail":
            number = metrics.failed
        case _:
            number = getattr(metrics, column)
    style = styles.zero if not number else styles.bad if column == "fail" else styles.number
    return Segment(f"{count(number):>{cells}}", style)


def _time(value: float, cells: int, styles: TableStyles) -> Segment:
    return Segment(f"{milliseconds(value) if value else '–':>{cells}}", styles.number)


def _filled(text: str, cells: int) -> str:
    return text + " " * (cells - width_of(text))
