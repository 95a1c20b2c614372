"""Painted lines without reference cycles, so that each is freed when another one takes its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.style import Style
from textual.strip import Strip

__all__ = ["avoid_cycles"]

_divide, _crop_extend = Strip.divide, Strip.crop_extend


def avoid_cycles() -> None:
    """Keep a line of Textual from storing itself in its own cache, as it does when it is painted at its full width.

    Only a full collection frees it then, which is rare, as it blocks every thread: a session would keep some hundred
    lines of each query, a third of a megabyte.
    """
    Strip.divide = _divide_line  # type: ignore[method-assign, assignment]
    Strip.crop_extend = _crop_extend_line  # type: ignore[method-assign, assignment]


def _divide_line(line: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    width = line.cell_length
    inside = [cut for cut in cuts if cut <= width]
    return [line] if inside == [width] else _divide(line, inside)


def _crop_extend_line(line: Strip, start: int, end: int, style: Style | None) -> Strip:
    return line if start == 0 and end == line.cell_length else _crop_extend(line, start, end, style)
