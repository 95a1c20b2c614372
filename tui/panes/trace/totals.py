"""What each tool and each sub-agent of the trace did in all: calls, failures, time, results, tokens, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from ua_tui.core.events.types import TokensSpent
from ua_tui.core.events.units import count, duration, money, size
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.render.format import Mark, middle_cut
from ua_tui.tui.render.layout import Line, cut_line, width_of

COLUMNS = {"calls": 7, "failed": 7, "time": 9, "results": 8, "tokens": 8, "cost": 9}
"""The columns and their cells, the space before each included."""
DROPPED_FIRST = ("failed", "results", "time", "calls", "cost", "tokens")
"""The order in which columns are left out where room is short."""
FEWEST_NAME_CELLS, MOST_NAME_CELLS = 12, 40
MAIN, ALL = "main agent", "total"


@dataclass(slots=True)
class Total:
    """What one tool or sub-agent did; `seconds` include waits, `bytes` are those of its results."""

    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    bytes: int = 0
    tokens: int = 0
    cost: float | None = None

    def add_call(self, node: CallNode) -> None:
        """Add a call that has ended."""
        self.calls += 1
        self.failed += node.mark is Mark.ERROR
        self.seconds += node.took or 0.0
        self.bytes += node.size or 0

    def add_tokens(self, event: TokensSpent) -> None:
        """Add the tokens of a message, and what they may have cost."""
        self.tokens += event.usage.total
        self.add_cost(event.cost_usd)

    def add_cost(self, dollars: float | None) -> None:
        """Add a cost, if it is known."""
        if dollars is not None:
            self.cost = (self.cost or 0.0) + dollars


@dataclass(slots=True)
class Totals:
    """The totals of a trace, by the name of a tool or sub-agent; `all` is of everything."""

    by_name: dict[str, Total] = field(default_factory=dict)
    all: Total = field(default_factory=Total)

    def add_call(self, node: CallNode) -> None:
        """Add a call that has ended."""
        self.of(node.label).add_call(node)
        self.all.add_call(node)
        if node.parent is not None and node.parent.kind != "query":
            # The time of its sub-agent has it already.
            self.all.seconds -= node.took or 0.0

    def add_tokens(self, event: TokensSpent, agent: CallNode | None) -> None:
        """Add the tokens of a message of a sub-agent, or of the main agent."""
        self.of(agent.label if agent is not None else MAIN).add_tokens(event)
        self.all.add_tokens(event)

    def correct(self, estimated: float | None, cost: float) -> None:
        """Replace the estimated cost of a query by what it really cost."""
        self.all.add_cost(cost - (estimated or 0.0))

    def of(self, name: str) -> Total:
        """The totals of a tool or a sub-agent."""
        return self.by_name.setdefault(name, Total())


class TotalsStyles(NamedTuple):
    """The styles of the head line, of names, numbers and failures."""

    head: Style
    name: Style
    number: Style
    bad: Style


def render_totals(totals: Totals, width: int, height: int, styles: TotalsStyles) -> list[Line]:
    """Render a head line, a line per tool and sub-agent (the longest first), their sum and a rule."""
    room = height - 3
    if room < 1:
        return []
    shown = sorted(totals.by_name.items(), key=lambda each: (-each[1].tokens, -each[1].seconds))
    left_out = len(shown) - room
    if left_out > 0:
        shown = shown[: room - 1]
        left_out += 1
    columns = dict(COLUMNS)
    for name in DROPPED_FIRST:
        if FEWEST_NAME_CELLS + sum(columns.values()) > width:
            columns.pop(name)
    most = max((width_of(name) for name, _ in shown), default=0)
    cells = max(1, min(max(FEWEST_NAME_CELLS, most), MOST_NAME_CELLS, width - sum(columns.values())))
    head = "".join(f"{column:>{wide}}" for column, wide in columns.items())
    lines: list[Line] = [[Segment(" " * cells + head, styles.head)]]
    lines += [_line(name, each, cells, columns, styles) for name, each in shown]
    if left_out > 0:
        lines.append([Segment(f"+{left_out} more", styles.head)])
    lines.append(_line(ALL, totals.all, cells, columns, styles))
    lines.append([Segment("─" * min(width, cells + sum(columns.values())), styles.head)])
    return [cut_line(line, width) for line in lines]


def _line(name: str, total: Total, cells: int, columns: Mapping[str, int], styles: TotalsStyles) -> Line:
    cut = middle_cut(name, cells)
    line: Line = [Segment(cut + " " * (cells - width_of(cut)), styles.name)]
    texts = {
        "calls": count(total.calls) if total.calls else "",
        "failed": count(total.failed) if total.failed else "",
        "time": duration(total.seconds) if total.calls and total.seconds else "",
        "results": size(total.bytes) if total.bytes else "",
        "tokens": count(total.tokens) if total.tokens else "",
        "cost": money(total.cost) or ("?" if total.tokens else ""),
    }
    for column, wide in columns.items():
        style = styles.bad if column == "failed" and total.failed else styles.number
        line.append(Segment(f"{texts[column]:>{wide}}", style))
    return line
