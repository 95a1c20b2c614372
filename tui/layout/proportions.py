"""The sizes of the panes: the standard, the user's changes, and the limits of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

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


class Proportions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The sizes that the user set, as shares of the screen, so that they fit every size.

    None is the standard. `files` and `machinery` are columns of a wide screen, `side` the right one of a narrower
    screen, in shares of its width; `trace`, `workspace` and the panes of `panes` are above another pane, in shares of
    the height of their column. `stacked` are the panes above another one where all columns but the conversation's
    are one.
    """

    files: float | None = None
    machinery: float | None = None
    side: float | None = None
    trace: float | None = None
    workspace: float | None = None
    panes: dict[str, float] = {}
    stacked: dict[str, float] = {}

    def __post_init__(self) -> None:
        for name, share in (
            *((name, self.of(name)) for name in (*_SHARES, *self.panes)),
            *self.stacked.items(),
        ):
            if share is not None and not 0.0 < share < 1.0:
                raise ValueError(f"{name} is {share}, which is not a share between 0 and 1")

    def of(self, name: str) -> float | None:
        """Return the share of a column or of a pane."""
        share: float | None = getattr(self, name) if name in _SHARES else self.panes.get(name)
        return share


def columns(mode: str, width: int, wanted: Proportions) -> dict[str, int]:
    """Return the cells of each column but those that have the rest; empty when there is one pane."""
    match mode:
        case "wide":
            files = _cells(width, wanted.files, _STANDARD_FILES)
            files = _within(files, LEAST_FILES, width - LEAST_MACHINERY - LEAST_TALK)
            machinery = _cells(width, wanted.machinery, _STANDARD_MACHINERY, width - files)
            return {
                "files": files,
                "machinery": _within(machinery, LEAST_MACHINERY, width - files - LEAST_TALK),
            }
        case "medium" | "stacked":
            share = wanted.side
            side = width * _STANDARD_SIDE // 100 if share is None else round(width * share)
            side = _within(side, LEAST_SIDE, width - LEAST_TALK)
            # Those one above the other have what the conversation leaves.
            return {"talk": width - side} if mode == "stacked" else {"machinery": side, "files": side}
        case _:
            return {}


def pane_lines(shares: Sequence[float], height: int) -> list[int]:
    """Return the lines of each pane of a column: by these shares, and the rest for the last one; all are legible."""
    count = len(shares) + 1
    if height < count * LEAST_LINES:
        return [height // count] * len(shares) + [height - len(shares) * (height // count)]
    lines: list[int] = []
    for place, share in enumerate(shares, 1):
        most = height - sum(lines) - (count - place) * LEAST_LINES
        lines.append(_within(round(height * share), LEAST_LINES, most))
    return [*lines, height - sum(lines)]


def with_lines(wanted: Proportions, lines: dict[str, int], mode: str) -> Proportions:
    """Return the proportions with these heights of the panes of a column, from the top."""
    shares = {name: _inside(count / sum(lines.values())) for name, count in list(lines.items())[:-1]}
    if mode == "stacked":
        return msgspec.structs.replace(wanted, stacked=shares)
    own = {name: share for name, share in shares.items() if name in _SHARES}
    panes = {**wanted.panes, **{name: share for name, share in shares.items() if name not in own}}
    return msgspec.structs.replace(wanted, **own, panes=panes)


def with_border(wanted: Proportions, border: str, at: int, size: int) -> Proportions:
    """Return the proportions with the border of a column `at` cells from the beginning of `size` cells.

    Of `machinery` and `side` the beginning is the right edge of the screen. The border goes as far as the bounds
    let it.
    """
    share = at / size if size > 0 else 0.5
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
