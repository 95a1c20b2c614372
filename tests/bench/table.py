from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured figure; `bound` is the most it may be, None for what is told as information."""

    measure: str
    value: float | None
    unit: str
    bound: float | None = None
    compared: str = ""

    @property
    def verdict(self) -> str:
        if self.bound is None or self.value is None:
            return ""
        return "ok" if self.value <= self.bound else "MISSED"


@dataclass(frozen=True)
class Section:
    """What one measurement gives: rows for the table, and lines for those who want to know more."""

    rows: Sequence[Row]
    details: Sequence[str] = ()


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def quantile(values: Iterable[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0


def spread(values: Sequence[float], scale: float = 1_000, unit: str = "ms") -> str:
    """The median of `values` and, in brackets, the smallest and the largest."""
    low, mid, high = min(values) * scale, median(values) * scale, max(values) * scale
    return f"{mid:.0f} {unit} ({low:.0f} to {high:.0f})"


def table(rows: Sequence[Row]) -> str:
    cells = [("measure", "value", "unit", "bound", "", "compared with")]
    cells += [
        (row.measure, _number(row.value), row.unit, _number(row.bound), row.verdict, row.compared)
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(6)]
    lines = []
    for line in cells:
        shown = [
            text.rjust(width) if column in (1, 3) else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(shown).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"
