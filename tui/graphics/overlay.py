"""Painting Sixel over the screen: after each frame, the rows that the frame overwrote are painted again.

A Sixel picture is not text: writing to a cell erases that part of it. A row is painted completely or not at all, so
nothing that lies on top of the picture is painted over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from ua_tui.tui.graphics.image import SixelPicture

_PROBE_STEP = 3


def repainted_rows(
    picture: SixelPicture,
    place: Region,
    seen: Region,
    bottom: int,
    wanted: Callable[[Region], bool],
) -> Iterator[str]:
    """Yield the commands that paint the rows of a picture that are `wanted`.

    Args:
        picture: the picture.
        place: the region of the screen that the full picture would fill.
        seen: the region through which it is visible.
        bottom: the last line of the screen; painting there would make the terminal scroll.
        wanted: decides for the region of a row whether to paint it.
    """
    if place.x < seen.x or place.right > seen.right:
        return
    for number, band in enumerate(picture.bands):
        row = Region(place.x, place.y + number, place.width, 1)
        if seen.y <= row.y < min(seen.bottom, bottom) and wanted(row):
            yield f"\x1b[{row.y + 1};{row.x + 1}H{band}"


def is_overwritten(update: object, row: Region) -> bool:
    """Whether a frame wrote to a row; True for an unknown kind of frame."""
    match update:
        case ChopsUpdate():
            return any(y == row.y and start < row.right and end > row.x for y, start, end in update.spans)
        case LayoutUpdate():
            return update.region.overlaps(row)
        case _:
            return True


def is_free(screen: Screen[object], row: Region, widget: Widget) -> bool:
    """Whether nothing covers a widget in a row; probes in steps, as notifications are wider than these."""
    for x in (*range(row.x, row.right, _PROBE_STEP), row.right - 1):
        try:
            found, _ = screen.get_widget_at(x, row.y)
        except Exception:
            # Textual raises its own exceptions outside of the screen and before the first layout.
            return False
        if found is not widget:
            return False
    return True
