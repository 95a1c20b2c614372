"""The waterfall of the trace: when a call began, how long it ran, and when it waited for the person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

from rich.segment import Segment
from rich.style import Style

from ua_tui.core.events.units import duration
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.render.layout import Line

WATERFALL_FROM_WIDTH = 100
SIZE_CELLS, TIME_CELLS, START_CELLS, TOKEN_CELLS, COST_CELLS = 5, 9, 9, 7, 9
LEAST_BAR, MOST_BAR = 14, 72
WORK, CONTAINS, WAIT = "━", "─", "?"
_SCALES = (5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)


@dataclass(frozen=True, slots=True)
class Columns:
    """The cells of each column at the right of a row; 0 where there is no room for it."""

    size: int = 0
    tokens: int = 0
    cost: int = 0
    start: int = 0
    bar: int = 0
    time: int = 0

    @property
    def head(self) -> str:
        """The names of the columns, each above its own."""
        named = [("result", self.size), ("tokens", self.tokens), ("cost", self.cost), ("start", self.start)]
        text = "".join(f"{name:>{cells}}" for name, cells in named if cells)
        legends = (f"  {WORK} ran  {WAIT} waited for you", f"  {WORK}ran {WAIT}waited", "")
        legend = next(each for each in legends if len(each) <= self.bar)
        return f"{text}{legend:<{self.bar}}{'time':>{self.time}}"


def columns_of(width: int, *, waterfall: bool) -> Columns:
    """Divide the cells at the right of a row of this width."""
    if not waterfall or width < 40:
        return Columns(size=SIZE_CELLS if width >= 52 else 0, time=TIME_CELLS if width >= 20 else 0)
    if width < WATERFALL_FROM_WIDTH:
        wide = width >= 72
        return Columns(
            tokens=TOKEN_CELLS if wide else 0,
            cost=COST_CELLS - 1 if wide else 0,
            start=START_CELLS - 1 if width >= 60 else 0,
            bar=LEAST_BAR,
            time=TIME_CELLS,
        )
    share = width // 3 if width >= 140 else width // 4
    return Columns(
        size=SIZE_CELLS + 2,
        tokens=TOKEN_CELLS,
        cost=COST_CELLS,
        start=START_CELLS,
        bar=min(share, MOST_BAR),
        time=TIME_CELLS,
    )


def scale_of(query: CallNode, now: float) -> float:
    """The seconds that the waterfall of a query spans: while it runs a round number, so that bars seldom move."""
    if query.took is not None:
        return query.took
    elapsed = max(0.0, now - query.at) if query.running else 0.0
    return next((scale for scale in _SCALES if scale >= elapsed), math.ceil(elapsed / 3600) * 3600.0)


def bar_of(node: CallNode, columns: Columns, now: float, muted: Style, marked: Style, waiting: Style) -> Line:
    """Draw when a row ran, relative to its query; `waiting` is the style of the time in which it waited."""
    *_, query = node.lineage
    start = max(0.0, node.at - query.at)
    offset = f"+{duration(start)}" if node is not query else ""
    line: Line = [Segment(f"{offset:>{columns.start}}", muted)] if columns.start else []
    cells = columns.bar - 2
    span = scale_of(query, now)
    took = node.took if node.took is not None else max(0.0, now - node.at) if node.running else 0.0
    if span <= 0 or (node.took is None and not node.running):
        return [*line, Segment(" " * columns.bar)]
    first = min(cells - 1, int(start / span * cells))
    last = max(first + 1, min(cells, math.ceil((start + took) / span * cells)))
    marks = [" "] * first + [CONTAINS if node.children else WORK] * (last - first) + [" "] * (cells - last)
    for begin, end in _waits(node, node.at + took):
        left = int((begin - query.at) / span * cells)
        right = math.ceil((end - query.at) / span * cells)
        for cell in range(max(first, left), min(last, max(left + 1, right))):
            marks[cell] = WAIT
    line.append(Segment("  "))
    style = muted if node.children or (not node.running and not node.error) else marked
    for is_wait, run in groupby(marks, WAIT.__eq__):
        line.append(Segment("".join(run), waiting if is_wait else style))
    return line


def _waits(node: CallNode, now: float) -> list[tuple[float, float]]:
    wait = node.wait
    return [*wait.spans, *([(wait.since, now)] if wait.since is not None and node.running else [])]
