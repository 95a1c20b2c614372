"""What the program has to hold under load: each goal once, with the row of the table that says whether it is met."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from tests.bench.table import Row


class Goal(Enum):
    """A figure and the most it may be, in the order of the table."""

    AT_REST = ("key to echo at rest, above the bare app's median", "ms", 5.0)
    TYPICAL_KEY = ("key to echo at 150 chunks/s, median", "ms", 25.0)
    SLOW_KEY = ("key to echo at 150 chunks/s, p90", "ms", 60.0)
    LONGEST_KEY = ("key to echo at 150 chunks/s, longest", "ms", 120.0)
    PROCESSOR = ("CPU of the screen process while streaming", "% of a core", 20.0)
    SENT = ("bytes to the terminal while streaming", "kB/s", 60.0)
    LAG = ("answer complete after the server's last byte", "s", 0.15)
    FIRST_FRAME = ("first frame, relative to the bare app", "×", 1.2)
    IDLE = ("idle and connected for 60 s, our own processes", "% of a core", 0.3)
    MEMORY = ("memory of the screen process after the demo's research session", "MB", 140.0)
    AFTER_CALLS = ("key, focus, theme, resize after 60 turns with tools", "ms", 100.0)
    AFTER_CHUNKS = ("key, focus, theme, resize after 3,000 chunks", "ms", 100.0)

    def __init__(self, measure: str, unit: str, bound: float) -> None:
        self.measure = measure
        self.unit = unit
        self.bound = bound

    def row(self, value: float | None, compared: str = "") -> Row:
        """The row of this goal with what was measured."""
        return Row(self.measure, value, self.unit, self.bound, compared)


def split(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The rows of the goals in their order, and all other rows."""
    order = {goal.measure: number for number, goal in enumerate(Goal)}
    all_rows = list(rows)
    goals = sorted((row for row in all_rows if row.measure in order), key=lambda row: order[row.measure])
    return goals, [row for row in all_rows if row.measure not in order]
