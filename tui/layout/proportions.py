"""The sizes of the panes: the standard, the user's changes, and the limits of both."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["LEAST_LINES", "Proportions", "columns", "upper_lines", "with_border"]

LEAST_TALK = 40
LEAST_FILES = 24
LEAST_MACHINERY = 36
LEAST_SIDE = 32
LEAST_LINES = 5
"""Lines of a pane, border included, below which nothing can be read in it."""
_STANDARD_FILES = (22, 28, 44)
_STANDARD_MACHINERY = (40, 44, 76)
_STANDARD_SIDE = 42
"""In per cent of the width, for the right column of what the left one leaves; on a wide screen also the least and the
most cells."""
_SHARES: Final = ("files", "machinery", "side", "trace", "workspace")


class Proportions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sizes that the user set, as shares of the screen, so that they fit every size.

    None is the standard. `files` and `machinery` are columns of a wide screen, `side` the right one of a medium
    screen, in shares of its width; `trace` and `workspace` stand above another pane, in shares of the height of
    their column.
    """

    files: float | None = None
    machinery: float | None = None
    side: float | None = None
    trace: float | None = None
    workspace: float | None = None

    def __post_init__(self) -> None:
        for name in _SHARES:
            share = getattr(self, name)
            if share is not None and not 0.0 < share < 1.0:
                raise ValueError(f"{name} is {share}, and no share between 0 and 1")


def columns(mode: str, width: int, wanted: Proportions) -> dict[str, int]:
    """Return the cells of each column but the conversation's, which has the rest; empty when there is one pane."""
    match mode:
        case "wide":
            files = _cells(width, wanted.files, _STANDARD_FILES)
            files = _within(files, LEAST_FILES, width - LEAST_MACHINERY - LEAST_TALK)
            machinery = _cells(width, wanted.machinery, _STANDARD_MACHINERY, width - files)
            return {
                "files": files,
                "machinery": _within(machinery, LEAST_MACHINERY, width - files - LEAST_TALK),
            }
        case "medium":
            share = wanted.side
            side = width * _STANDARD_SIDE // 100 if share is None else round(width * share)
            side = _within(side, LEAST_SIDE, width - LEAST_TALK)
            return {"machinery": side, "files": side}
        case _:
            return {}


def upper_lines(share: float, height: int) -> int:
    """Return the lines of a column's `height` that its upper pane gets, with both of them legible."""
    if height < 2 * LEAST_LINES:
        return height // 2
    return _within(round(height * share), LEAST_LINES, height - LEAST_LINES)


def with_border(wanted: Proportions, border: str, at: int, size: int) -> Proportions:
    """Return the proportions with a border `at` cells from the beginning of `size` cells.

    Of `machinery` and `side` the beginning is the right edge of the screen. The border goes as far as the bounds
    let it.
    """
    share = at / size if size > 0 else 0.5
    if border in ("trace", "workspace"):
        share = upper_lines(share, size) / size if size > 0 else share
    else:
        trial = msgspec.structs.replace(wanted, **{border: _inside(share)})
        mode, column = ("medium", "files") if border == "side" else ("wide", border)
        share = columns(mode, size, trial)[column] / size if size > 0 else share
    return msgspec.structs.replace(wanted, **{border: _inside(share)})


def _inside(share: float) -> float:
    return min(max(share, 0.001), 0.999)


def _cells(width: int, share: float | None, standard: tuple[int, int, int], room: int | None = None) -> int:
    if share is not None:
        return round(width * share)
    per_cent, least, most = standard
    return _within((width if room is None else room) * per_cent // 100, least, most)


def _within(cells: int, least: int, most: int) -> int:
    return max(least, min(cells, most))
