"""What each tool and each sub-agent of the trace did in all: calls, failures, time, results, tokens, cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.style import Style

from ua_tui.core.events.units import count, duration, money, size
from ua_tui.core.view.records import Call, Query
from ua_tui.tui.panes.columns import TableStyles, render_columns
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.render.format import Mark
from ua_tui.tui.render.layout import Line

COLUMNS = {"calls": 7, "failed": 7, "time": 9, "results": 8, "tokens": 8, "cost": 9}
"""The columns and their cells, the space before each included."""
DROPPED_FIRST = ("failed", "results", "time", "calls", "cost", "tokens")
"""The order in which columns are left out where room is short."""
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

    def figures(self, styles: TableStyles) -> dict[str, tuple[str, Style]]:
        """Return what the table shows of it, by column."""
        texts = {
            "calls": count(self.calls) if self.calls else "",
            "failed": count(self.failed) if self.failed else "",
            "time": duration(self.seconds) if self.calls and self.seconds else "",
            "results": size(self.bytes) if self.bytes else "",
            "tokens": count(self.tokens) if self.tokens else "",
            "cost": money(self.cost) or ("?" if self.tokens else ""),
        }
        return {
            column: (text, styles.bad if column == "failed" else styles.number)
            for column, text in texts.items()
        }


def totals_of(roots: Sequence[CallNode]) -> tuple[dict[str, Total], Total]:
    """Return the totals by the name of a tool or a sub-agent, and those of everything."""
    by_name: dict[str, Total] = {}
    everything = Total()
    for query in roots:
        everything.spend(query.tokens, query.cost)
        for node in (query, *query.walk()):
            if node.kind == "agent" or node is query:
                # What works for a sub-agent counts by itself.
                below = list(_agents_below(node))
                cost = node.record.estimate if isinstance(node.record, Query) else node.cost
                known = [each.cost for each in below if each.cost is not None]
                own = cost - sum(known) if cost is not None else None
                tokens = max(0, node.tokens - sum(each.tokens for each in below))
                if tokens or own:
                    name = node.record.label if isinstance(node.record, Call) else MAIN
                    by_name.setdefault(name, Total()).spend(tokens, own)
            if isinstance(node.record, Call) and node.record.status is not None:
                by_name.setdefault(node.record.label, Total()).add(node)
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


def render_totals(roots: Sequence[CallNode], width: int, height: int, styles: TableStyles) -> list[Line]:
    """Render a line per tool and sub-agent, those that used most first, and their sum."""
    by_name, everything = totals_of(roots)
    shown = sorted(by_name.items(), key=lambda each: (-each[1].tokens, -each[1].seconds))
    return render_columns(
        [(name, each.figures(styles)) for name, each in shown],
        COLUMNS,
        width,
        height,
        styles,
        head="",
        dropped_first=DROPPED_FIRST,
        most_name_cells=40,
        total=(ALL, everything.figures(styles)),
    )
