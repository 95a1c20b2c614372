"""The borders between panes, which are dragged with the mouse or moved with keys, and stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import events
from textual.geometry import Offset, Region
from textual.timer import Timer
from textual.widget import Widget

from ua_tui.tui.layout.store import (
    Layout,
    LayoutStore,
    Proportions,
    columns,
    pane_lines,
    with_border,
    with_lines,
)
from ua_tui.tui.panes.spec import column_specs, pane_specs, side_specs
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.tui.layout.frame import Frame

KEEP_SECONDS = 0.5


@dataclass(frozen=True)
class _Border:
    """A border that can be moved: what it changes, and the cells it divides.

    `at` are the cells on its side of `size`, along x or y; they grow with the pointer when `sign` is 1. `grip` is where
    the mouse takes it.
    """

    name: str
    at: int
    size: int
    along_x: bool
    grip: Region
    sign: int = 1


@dataclass
class _Drag:
    border: _Border
    began: Offset
    has_moved: bool = False


class Splitters:
    """Sets the sizes of the panes of `frame` and changes them; `kept` stores what the user changed."""

    def __init__(self, frame: Frame, kept: LayoutStore | None) -> None:
        self._frame = frame
        self._kept = kept
        self._drag: _Drag | None = None
        self._store_timer: Timer | None = None
        self._ignores_click = False
        self._last = kept.read() if kept is not None else Layout()
        self.sizes = self._last.sizes
        self.side = self._last.side

    def apply(self) -> None:
        """Set the sizes of all columns and panes."""
        frame, mode = self._frame, self._frame.mode
        screen = frame.app.size
        widths = columns(mode, screen.width, self.sizes)
        # Below the panes is the status line, above those of a medium screen the tabs.
        lines = screen.height - (2 if mode in ("medium", "single") else 1)
        heights: dict[str, int] = {}
        for stack in self._stacks():
            panes = [name for name in stack if frame.query_one(f"#{name}").display]
            shares = self._shares(panes)
            given = [share for share in shares if share is not None]
            if shares and len(given) == len(shares):
                heights |= zip(panes, pane_lines(given, lines), strict=True)
        for column, specs in column_specs().items():
            _set(frame.query_one(f"#{column}"), "width", widths.get(column))
            if column == "talk":
                continue
            names = [spec.name for spec in specs]
            if mode == "stacked":
                heights[column] = sum(heights.get(name, 0) for name in names)
            for name in (column, *names):
                # As shares, because the notice bar takes lines away.
                height = f"{max(1, heights[name])}fr" if name in heights else None
                _set(frame.query_one(f"#{name}"), "height", height)

    # -- keys -------------------------------------------------------------------------------------

    def resize(self, pane: str, cells: int = 0, lines: int = 0) -> bool:
        """Make a pane wider and higher by so many cells and lines; False when it has no border to move."""
        name, sign = "", 1
        if cells:
            wide = self._frame.mode == "wide"
            column = next(spec.column for spec in pane_specs() if spec.name == pane)
            name = column if wide and column != "talk" else "machinery" if wide else "side"
            sign = -1 if column == "talk" else 1
        else:
            for stack in self._shown_stacks():
                if pane in stack:
                    is_last = pane == stack[-1]
                    name, sign = (stack[-2:][0], -1) if is_last else (pane, 1)
        border = next((each for each in self._borders() if each.name == name), None)
        if border is None:
            return False
        self._move(border, sign * (cells or lines))
        return True

    def reset(self) -> None:
        """Reset all sizes."""
        self._set(Proportions())

    def choose(self, pane: str) -> None:
        """Note which pane was chosen for the side of a medium screen."""
        if pane != self.side and pane in {spec.name for spec in side_specs()}:
            self.side = pane
            self._store_later()

    # -- the mouse --------------------------------------------------------------------------------

    def handle_mouse(self, event: events.MouseEvent) -> bool:
        """Handle a mouse event on a border, or while one is dragged; False if it is for another widget."""
        match event:
            case events.Click():
                ignored, self._ignores_click = self._ignores_click, False
                return ignored
            case events.MouseDown(button=1):
                self._ignores_click = False
                borders = (each for each in self._borders() if each.grip.contains_point(event.screen_offset))
                border = next(borders, None)
                if border is not None:
                    self._drag = _Drag(border, event.screen_offset)
                return border is not None
            case events.MouseMove() if self._drag is not None:
                if not event.button:
                    # The button was released outside the terminal.
                    self._drag = None
                    return False
                self._drag_to(self._drag, event.screen_offset)
                return True
            case events.MouseUp() if self._drag is not None:
                drag, self._drag = self._drag, None
                self._drag_to(drag, event.screen_offset)
                # The click that the terminal reports after a drag is not one on the widget under the pointer.
                self._ignores_click = drag.has_moved
                if not drag.has_moved:
                    self._focus(drag.began)
                return True
            case _:
                return False

    def _drag_to(self, drag: _Drag, pointer: Offset) -> None:
        """Move the border with the pointer; Textual lays out and paints what several events moved only once."""
        way = pointer - drag.began
        if way or drag.has_moved:
            drag.has_moved = True
            self._move(drag.border, drag.border.sign * (way.x if drag.border.along_x else way.y))

    def _focus(self, at: Offset) -> None:
        screen = self._frame.screen
        widget = screen.get_focusable_widget_at(*at)
        if widget is not None and widget.focus_on_click():
            screen.set_focus(widget, scroll_visible=False)

    # -- inside -----------------------------------------------------------------------------------

    def _borders(self) -> list[_Border]:
        """The borders that can be moved now; of two at one place the first is meant."""
        frame, mode = self._frame, self._frame.mode
        if mode == "single" or frame.has_class("-low"):
            return []
        whole, talk = frame.region, self._region("talk")
        left, right = (Region(x - 1, whole.y, 2, whole.height) for x in (talk.x, talk.right))
        if mode == "wide":
            files, machinery = (self._region(name).width for name in ("files", "machinery"))
            found = [
                _Border("files", files, whole.width, True, left),
                _Border("machinery", machinery, whole.width, True, right, -1),
            ]
        else:
            found = [_Border("side", whole.width - talk.width, whole.width, True, right, -1)]
        for upper, lower in chain.from_iterable(map(pairwise, self._shown_stacks())):
            above, below = self._region(upper), self._region(lower)
            grip = Region(above.x, below.y - 1, above.width, 2)
            found.append(_Border(upper, above.height, above.height + below.height, False, grip))
        return found

    def _shown_stacks(self) -> list[list[str]]:
        """The panes that are shown one above the other."""
        return [[name for name in stack if self._frame.shows(name)] for stack in self._stacks()]

    def _stacks(self) -> list[list[str]]:
        """The panes that are one above the other, and have a border between them that can be moved."""
        stacks = [
            [spec.name for spec in specs] for column, specs in column_specs().items() if column != "talk"
        ]
        return [list(chain(*stacks))] if self._frame.mode == "stacked" else stacks

    def _shares(self, stack: Sequence[str]) -> list[float | None]:
        """The shares of the height that these panes have, but the last, which has the rest; None is the standard."""
        if self._frame.mode != "stacked":
            return [self.sizes.of(name) for name in stack[:-1]]
        parts = {spec.name: spec.parts for spec in pane_specs() if spec.name in stack}
        return [self.sizes.stacked.get(name, parts[name] / sum(parts.values())) for name in stack[:-1]]

    def _region(self, name: str) -> Region:
        return self._frame.query_one(f"#{name}").region

    def _move(self, border: _Border, by: int) -> None:
        sizes = self.sizes
        if not border.along_x:
            stack = next(stack for stack in self._shown_stacks() if border.name in stack)
            lines = {name: self._region(name).height for name in stack}
            lower = stack[stack.index(border.name) + 1]
            share = (border.at + by) / max(1, border.size)
            lines[border.name], lines[lower] = pane_lines([share], border.size)
            self._set(with_lines(sizes, lines, self._frame.mode))
            return
        if border.name == "files" and sizes.machinery is None:
            # Its standard is a share of what the files leave: it would move, too.
            width = self._region("machinery").width
            sizes = with_border(sizes, "machinery", width, border.size)
        self._set(with_border(sizes, border.name, border.at + by, border.size))

    def _set(self, sizes: Proportions) -> None:
        if sizes == self.sizes:
            return
        self.sizes = sizes
        self.apply()
        self._store_later()

    def _store_later(self) -> None:
        if self._kept is not None:
            if self._store_timer is not None:
                self._store_timer.stop()
            self._store_timer = self._frame.set_timer(
                KEEP_SECONDS, lambda: start_job(self._frame, self.store, "layout", replacing=False)
            )

    async def store(self) -> None:
        """Store changes that are not stored yet."""
        if self._store_timer is not None:
            self._store_timer.stop()
            self._store_timer = None
        kept, layout = self._kept, replace(self._last, sizes=self.sizes, side=self.side)
        if kept is None or layout == self._last:
            return
        if kept.problem and layout.sizes == self._last.sizes:
            # The message about a file that cannot be used says that only a new size overwrites it.
            return
        problem = await asyncio.to_thread(kept.write, layout)
        self._last = layout
        if problem:
            self._frame.notify(problem, severity="warning")


def _set(widget: Widget, rule: str, value: int | str | None) -> None:
    """Set a size, or leave it to the style sheets; unsetting it again would repaint the whole widget."""
    if value is not None or widget.styles.inline.has_rule(rule):
        setattr(widget.styles, rule, value)
