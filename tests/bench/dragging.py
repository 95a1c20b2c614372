from __future__ import annotations

from pathlib import Path

from tests.bench.driven import Driven
from tests.bench.processes import running_seconds
from tests.bench.stall_child import QUERY
from tests.bench.table import Row, Section, median, quantile
from tests.e2e.running import environment, program
from tui.layout.frame import BREAKPOINTS
from tui.layout.proportions import Proportions, columns

STEP_BOUND = 50.0
SECONDS = 180.0
STEPS = 24
ANSWERED = "Everything here is invented"
AT_LINE = 12
SIZES = ((200, 50), (120, 40))
PRESS, MOVE, LET_GO = "\x1b[<0;{0};{1}M", "\x1b[<32;{0};{1}M", "\x1b[<0;{0};{1}m"


def dragging(base: Path, _runs: int) -> Section:
    """The border of a column dragged by hand through a screen of text: what each new size costs to paint."""
    command = [program(), "--demo", "--demo-pace", "0", QUERY]
    with Driven(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as driven:
        driven.until("Conversation", SECONDS)
        driven.resize(*SIZES[0])
        driven.until(ANSWERED, SECONDS)
        driven.rest(SECONDS)
        rows = []
        for size in SIZES:
            driven.resize(*size)
            driven.rest(SECONDS)
            rows.append(_drag(driven, size))
    return Section(rows)


def _drag(driven: Driven, size: tuple[int, int]) -> Row:
    """Pull the right column wider, cell by cell, each time until all is painted; CPU time of the whole process."""
    width, height = size
    border = _border(width)
    took: list[float] = []
    driven.send(PRESS.format(border, AT_LINE))
    for step in range(1, STEPS + 1):
        driven.forget()
        worked = running_seconds(driven.pid)
        driven.send(MOVE.format(border - step, AT_LINE))
        driven.painted(SECONDS)
        driven.rest(SECONDS)
        took.append((running_seconds(driven.pid) - worked) * 1_000)
    driven.send(LET_GO.format(border - STEPS, AT_LINE))
    driven.rest(SECONDS)
    how = (
        f"{STEPS} cells, all painted after each; p95 {quantile(took, 0.95):.0f} ms, least {min(took):.0f} ms"
    )
    return Row(f"drag a column border, {width} by {height}", median(took), "ms CPU", STEP_BOUND, how)


def _border(width: int) -> int:
    """Where the right column begins, counted from 1 as terminals do."""
    mode = "wide" if width >= BREAKPOINTS[-1][0] else "medium"
    return width - columns(mode, width, Proportions())["machinery"] + 1
