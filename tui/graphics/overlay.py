"""Painting Sixel over the screen: after each frame the rows that it wrote over, where nothing lies on them.

A picture in Sixel is no text: it is gone from every cell that is written. So its rows are painted again after the
frame that wrote over them, each whole or not at all: what lies on a row is never painted over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from tui.graphics.image import SixelPicture

__all__ = ["is_free", "painted_rows", "written_over"]

_PROBED = 3


def painted_rows(
    picture: SixelPicture,
    place: Region,
    seen: Region,
    bottom: int,
    wanted: Callable[[Region], bool],
) -> Iterator[str]:
    """What paints those rows of a picture that are `wanted`.

    Args:
        picture: the picture.
        place: where on the screen the whole of it would be.
        seen: the region it is seen through.
        bottom: the last line of the screen, where painting would make the terminal scroll.
        wanted: judges a row by its region.
    """
    if place.x < seen.x or place.right > seen.right:
        return
    for number, band in enumerate(picture.bands):
        row = Region(place.x, place.y + number, place.width, 1)
        if seen.y <= row.y < min(seen.bottom, bottom) and wanted(row):
            yield f"\x1b[{row.y + 1};{row.x + 1}H{band}"


def written_over(update: object, row: Region) -> bool:
    """Whether a frame wrote anything in a row; of a kind of frame that is not known here everything."""
    match update:
        case ChopsUpdate():
            return any(y == row.y and start < row.right and end > row.x for y, start, end in update.spans)
        case LayoutUpdate():
            return update.region.overlaps(row)
        case _:
            return True


def is_free(screen: Screen[object], row: Region, widget: Widget) -> bool:
    """Whether nothing lies on a widget in a row, such as a notification: those are wider than the steps taken."""
    for x in (*range(row.x, row.right, _PROBED), row.right - 1):
        try:
            found, _ = screen.get_widget_at(x, row.y)
        except Exception:
            # Textual raises its own exceptions outside of the screen and before there is a layout.
            return False
        if found is not widget:
            return False
    return True
