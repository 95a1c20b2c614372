"""The layout of the status line: which parts have room, in which form, and where each of them is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textual.content import Content
from textual.style import Style

from ua_tui.tui.terminal.output_filter import strip_controls

KEPT = 97
"""Forms of this rank or above are never left out."""
GAP = "  "
MUTED = "$text-muted"
_WORDS = re.compile(r"\S+(?: \S+)*")


def short_time(seconds: float) -> str:
    """Write a duration in at most six cells: `41s`, `12m04s`, `3h07m`."""
    total = max(0, int(seconds))
    if total < 60:
        return f"{total}s"
    if total < 3600:
        return f"{total // 60}m{total % 60:02}s"
    return f"{total // 3600}h{total % 3600 // 60:02}m"


def short_count(number: int) -> str:
    """Write a number in at most four cells: `950`, `1.2k`, `38k`, `1.4M`."""
    if number < 1000:
        return str(number)
    for size, unit in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        value = number / size
        if value < 9.95:
            return f"{value:.1f}{unit}"
        if value < 999.5:
            return f"{value:.0f}{unit}"
    return "lots"


def short_model(name: str) -> str:
    """Shorten a model's name to what tells it apart: no vendor prefix, no date, at most 20 cells."""
    parts = strip_controls(name).removeprefix("claude-").split("-")
    if len(parts) > 1 and len(parts[-1]) == 8 and parts[-1].isdigit():
        parts.pop()
    short = "-".join(parts)
    return short if len(short) <= 20 else f"{short[:11]}…{short[-8:]}"


@dataclass(frozen=True)
class Cell:
    """A part of the line, which may have narrower forms.

    Each form has a rank: where room is short, the form of the lowest rank is replaced by the next one of its cell,
    or the cell is left out. A form of the rank `KEPT` or above is never replaced. `name` says what the cell shows.
    """

    content: Content
    rank: int
    name: str = ""
    narrower: tuple[tuple[Content, int], ...] = ()

    @property
    def forms(self) -> tuple[tuple[Content, int], ...]:
        """Every form and its rank, the widest first."""
        return ((self.content, self.rank), *self.narrower)


def cell(content: Content | str, rank: int, name: str = "", *narrower: tuple[Content, int]) -> Cell:
    """Make a cell; a plain text is drawn muted."""
    shown = Content.styled(content, MUTED) if isinstance(content, str) else content
    return Cell(shown, rank, name, narrower)


def lay_out(
    cells: Sequence[Cell],
    hints: Sequence[Sequence[str]],
    width: int,
    more: Sequence[tuple[str, int]] = (),
) -> Content:
    """Lay out what fits into `width`, with the keys of the first of `hints` that has room at the right.

    Before those there are as many of the keys `more` as fit, from the first on; each has a rank, as cells have.
    The last of `hints`, the shortest one, is for a line without any of them. `part_at` finds what is where.
    """
    forms = [0] * len(cells)
    left = list(range(len(cells)))
    added = len(more)
    while True:
        shown = [cells[at].forms[forms[at]][0] for at in left]
        needed = sum(part.cell_length for part in shown) + len(GAP) * max(0, len(shown) - 1)
        for hint in hints[:-1] if added and len(hints) > 1 else hints:
            keys = [*(key for key, _ in more[:added]), *hint]
            room = width - needed - Content(GAP.join(keys)).cell_length
            if room >= len(GAP):
                return _line([cells[at].name for at in left], shown, room, keys)
        weakest = min(left, key=lambda at: cells[at].forms[forms[at]][1], default=None)
        rank = KEPT if weakest is None else cells[weakest].forms[forms[weakest]][1]
        if added and more[added - 1][1] <= rank:
            added -= 1
            continue
        if weakest is None or rank >= KEPT:
            return _line([cells[at].name for at in left], shown, 0, ())
        if forms[weakest] + 1 < len(cells[weakest].forms):
            forms[weakest] += 1
        else:
            left.remove(weakest)


def _line(names: Sequence[str], shown: Sequence[Content], room: int, keys: Sequence[str]) -> Content:
    parts = [part.stylize(Style.from_meta({"part": name})) for name, part in zip(names, shown, strict=True)]
    line = Content(GAP).join(parts)
    return Content.assemble(line, " " * room, (GAP.join(keys), MUTED)) if keys else line


def part_at(line: Content, x: int, meta: Mapping[str, Any]) -> str:
    """The name of the cell, or the label of the key, at a column of the line; `meta` is that of the style there."""
    # Wide characters are only in cells, which keys are to the right of.
    at = len(line.plain) - line.cell_length + x
    keys = (found[0] for found in _WORDS.finditer(line.plain) if found.start() <= at < found.end())
    return str(meta.get("part") or next(keys, ""))
