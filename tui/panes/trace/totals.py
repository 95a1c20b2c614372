"""What each tool and each sub-agent of the trace did in all: calls, failures, time, results, tokens, cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from ua_tui.core.events.units import count, duration, money, size
from ua_tui.core.view.records import Call, Query
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

    def add(self, node: CallNode) -> None:
        """Add a call that has ended."""
        self.calls += 1
        self.failed += node.mark is Mark.ERROR
        self.seconds += node.took or 0.0
        self.bytes += node.size or 0

    def spend(self, tokens: int, cost: float | None) -> None:
        """Add tokens, and what they may have cost."""
        self.tokens += tokens
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost


def totals_of(roots: Sequence[CallNode]) -> tuple[dict[str, Total], Total]:
    """Return the totals by the name of a tool or a sub-agent, and those of everything."""
    by_name: dict[str, Total] = {}
    everything = Total()
    for query in roots:
        everything.spend(query.tokens, query.cost)
        for node in (query, *query.walk()):
            is_agent = node.kind == "agent"
            if is_agent or node is query:
                # What works for a sub-agent counts by itself.
                below = list(_agents_below(node))
                cost = node.record.estimate if isinstance(node.record, Query) else node.cost
                known = [each.cost for each in below if each.cost is not None]
                own = cost - sum(known) if cost is not None else None
                tokens = max(0, node.tokens - sum(each.tokens for each in below))
                if tokens or own:
                    by_name.setdefault(node.label if is_agent else MAIN, Total()).spend(tokens, own)
            if isinstance(node.record, Call) and node.record.status is not None:
                by_name.setdefault(node.label, Total()).add(node)
                everything.add(node)
                if node.parent is not query:
                    # The time of its sub-agent has it already.
                    everything.seconds -= node.took or 0.0
    return by_name, everything


def _agents_below(node: CallNode) -> Iterator[CallNode]:
    """The nearest sub-agents under a row."""
    for child in node.children:
        if child.kind == "agent":
            yield child
        else:
            yield from _agents_below(child)


class TotalsStyles(NamedTuple):
    """The styles of the head line, of names, numbers and failures."""

    head: Style
    name: Style
    number: Style
    bad: Style


def render_totals(roots: Sequence[CallNode], width: int, height: int, styles: TotalsStyles) -> list[Line]:
    """Render a head line, a line per tool and sub-agent (the longest first), their sum and a rule."""
    room = height - 3
    if room < 1:
        return []
    by_name, everything = totals_of(roots)
    shown = sorted(by_name.items(), key=lambda each: (-each[1].tokens, -each[1].seconds))
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
    lines.append(_line(ALL, everything, cells, columns, styles))
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
