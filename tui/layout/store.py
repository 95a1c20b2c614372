"""The layout that the user made, stored between sessions in a small file of the state folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.storage.folders import state_folder
from ua_tui.core.storage.json_store import Damaged, JsonStore
from ua_tui.tui.panes.spec import side_specs

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
                raise ValueError(f"{name} is {share}, but must be between 0 and 1")

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


LAYOUT_FILE = "layout.json"
_FORMAT = 1


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The user's layout: the sizes of the panes, and which of them is at the side."""

    format: int = _FORMAT
    sizes: Proportions = Proportions()
    side: str = "trace"
    linked: bool = False
    """Of earlier versions."""


class LayoutStore:
    """Reads and writes the layout of the panes.

    A file that is broken, or of another program or version, is left as it is until a size is changed; `problem`
    describes it.

    Args:
        state: the folder for the file; the user's state folder by default.
    """

    def __init__(self, state: Path | None = None) -> None:
        self.problem = ""
        self._store = JsonStore((state or state_folder()) / LAYOUT_FILE, Layout)

    def read(self) -> Layout:
        """Return the stored layout; the standard one if there is none, or none that can be read."""
        self.problem = ""
        try:
            stored = self._store.read()
            if stored.format != _FORMAT:
                raise WorkspaceError(
                    f"it has format {stored.format}, and this program reads format {_FORMAT}"
                )
            if stored.side not in {spec.name for spec in side_specs()}:
                raise WorkspaceError(f"it does not name the pane {stored.side!r}")
        except WorkspaceError as error:
            self.problem = (
                f"The sizes of the panes in {self._store.path} cannot be used: "
                f"{error.why if isinstance(error, Damaged) else error}. "
                "The standard sizes are shown, and changing a size rewrites the file."
            )
            return Layout()
        return stored

    def write(self, layout: Layout) -> str:
        """Store `layout`; returns an error message, or an empty text. Blocks until it is on the disk."""
        try:
            self._store.replace(layout)
        except WorkspaceError as error:
            log.warning("the sizes of the panes cannot be saved: %s", error)
            return f"The sizes of the panes cannot be saved: {error}."
        return ""
