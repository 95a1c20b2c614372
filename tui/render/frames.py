"""Frames that render only what changed, and send only what the terminal does not show yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from weakref import WeakKeyDictionary

from rich.console import Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from ua_tui.tui.render.strips import Pen

_render_partial_update = Compositor.render_partial_update
_changed: WeakKeyDictionary[Compositor, list[Region]] = WeakKeyDictionary()
"""The regions of the partial frame that a compositor is rendering; one below a dialog renders all of its screen."""

_Row = dict[int, Strip | None]
"""What a row of the terminal shows from each column at which a piece of it begins; None where that is not known."""
_shown: WeakKeyDictionary[Console, dict[int, _Row]] = WeakKeyDictionary()

_SINGLE_CELLS = re.compile(
    r"[ -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0377\u0391-\u03ff\u2010-\u2027\u2030-\u203b\u2190-\u2199"
    r"\u2500-\u259f\u2800-\u28ff]*"
)
"""Text in which each character fills one cell and changes no neighbour, so that any part can be sent by itself."""


def improve_frames() -> None:
    """Change two methods of Textual's compositor and two of its frames; a second call changes nothing.

    If two far regions change, the compositor asks every widget between them for all of its lines, and those behind
    others, too. And a frame sends every piece of a line that was rendered, however little of it differs from what the
    terminal shows. A frame of the full screen is sent as it is: it follows whatever could have changed the terminal.
    """
    Compositor.render_partial_update = _partial_update  # type: ignore[method-assign, assignment]
    Compositor._get_renders = _renders  # type: ignore[method-assign, assignment]
    LayoutUpdate.render_segments = _full_frame  # type: ignore[method-assign, assignment]
    ChopsUpdate.render_segments = _partial_frame  # type: ignore[method-assign, assignment]


def forget_rows(console: Console, rows: Iterable[int]) -> None:
    """Send these rows of the terminal as a whole the next time, because something else was painted there."""
    shown = _shown.get(console, {})
    for y in rows:
        shown.pop(y, None)


def _partial_update(compositor: Compositor) -> ChopsUpdate | None:
    _changed[compositor] = list(compositor._dirty_regions)
    try:
        return _render_partial_update(compositor)
    finally:
        del _changed[compositor]


def _renders(
    compositor: Compositor, crop: Region | None = None
) -> Iterator[tuple[Region, Region, list[Strip]]]:
    """Give what is rendered of each widget, from front to back: the lines with cells that nothing in front covers."""
    missing = [0] * compositor.size.height
    """The cells of each row that no widget has filled yet, as the bits of a number."""
    for x, y, width, height in _changed.get(compositor) or [crop or compositor.size.region]:
        for row in range(max(0, y), min(y + height, len(missing))):
            missing[row] |= _cells(x, width)
    for widget, (region, clip) in compositor.visible_widgets.items():
        seen = region.intersection(clip)
        cells = _cells(seen.x, seen.width)
        rows = [y for y in range(seen.y, min(seen.bottom, len(missing))) if missing[y] & cells]
        if rows:
            seen = Region(seen.x, rows[0], seen.width, rows[-1] + 1 - rows[0])
            lines = widget.render_lines(seen.translate(-region.offset))
            if any(line.cell_length < seen.width for line in lines):
                # It is being removed, or does not know its size yet: the next frame comes with its new layout.
                continue
            for y in rows:
                missing[y] &= ~cells
            yield region, seen, lines


def _cells(x: int, width: int) -> int:
    return ((1 << max(0, x + width)) - 1) & ~((1 << max(0, x)) - 1)


def _full_frame(frame: LayoutUpdate, console: Console) -> str:
    shown = _shown[console] = {}
    pen = Pen(console)
    for y, pieces in enumerate(frame.strips, frame.region.y):
        x = frame.region.x
        pen.move_to(x, y)
        row = shown[y] = {}
        for strip in pieces:
            pen.draw(strip._segments)
            row[x] = strip
            x += strip.cell_length
    return pen.finish()


def _partial_frame(frame: ChopsUpdate, console: Console) -> str:
    shown = _shown.setdefault(console, {})
    pen = Pen(console)
    for y, start, end in frame.spans:
        pieces = frame.chops[y]
        row = shown.get(y)
        if row is None or row.keys() != pieces.keys():
            row = shown[y] = dict.fromkeys(pieces)
        for (x, strip), right in zip(pieces.items(), frame.chop_ends[y], strict=False):
            if strip is None or x >= end or right <= start:
                continue
            before, row[x] = row[x], strip
            if before is None:
                pen.move_to(x, y)
                pen.draw(strip._segments)
            elif before is not strip and before._segments != strip._segments:
                changed_from, changed = _difference(before, strip)
                pen.move_to(x + changed_from, y)
                pen.draw(changed)
    return pen.finish()


def _difference(before: Strip, strip: Strip) -> tuple[int, Sequence[Segment]]:
    """Return the part of a line that differs from the one before it, and the cell at which it begins."""
    text = strip.text
    if not (_SINGLE_CELLS.fullmatch(text) and _SINGLE_CELLS.fullmatch(before.text)):
        return 0, strip._segments
    end = len(text)
    if len(before.text) != end:
        return 0, strip._segments
    start = _equal_cells(before._segments, strip._segments, last=False)
    end -= _equal_cells(before._segments[::-1], strip._segments[::-1], last=True)
    return start, _part(strip._segments, start, end)


def _part(segments: Sequence[Segment], start: int, end: int) -> list[Segment]:
    """Return the characters of a line from `start` to `end`; a line of Textual costs more than the text in it."""
    found: list[Segment] = []
    first = 0
    for text, style, _ in segments:
        last = first + len(text)
        if start < end and first < end and last > start:
            found.append(Segment(text[max(0, start - first) : end - first], style))
        first = last
    return found


def _equal_cells(old: Sequence[Segment], new: Sequence[Segment], *, last: bool) -> int:
    """Count the cells that two lines have in common at the beginning, or at the end if both are in reverse order."""
    cells = 0
    for was, now in zip(old, new, strict=False):
        if was == now:
            cells += len(now.text)
            continue
        if was.style == now.style:
            texts = (was.text[::-1], now.text[::-1]) if last else (was.text, now.text)
            pairs = enumerate(zip(*texts, strict=False))
            cells += next((at for at, (a, b) in pairs if a != b), min(map(len, texts)))
        break
    return cells
