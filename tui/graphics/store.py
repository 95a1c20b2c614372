"""The pictures in the terminal: sent in small pieces that do not block the event loop, and deleted when removed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from os import environ
from typing import Any, Protocol

from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from ua_tui.tui.graphics.capabilities import Canvas, Graphics, cell_size, detect_graphics
from ua_tui.tui.graphics.image import KittyPicture, Picture, PlacedPicture, SixelPicture
from ua_tui.tui.graphics.kitty import PICTURE_KEYS, deletion, transmission
from ua_tui.tui.workers import start_job


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
    for x in (*range(row.x, row.right, 3), row.right - 1):
        try:
            found, _ = screen.get_widget_at(x, row.y)
        except Exception:
            # Textual raises its own exceptions outside of the screen and before the first layout.
            return False
        if found is not widget:
            return False
    return True


_COLOURS = {"truecolor": 1 << 24, "256": 256}
_PIECES_AT_ONCE = 8
_RETRY_SECONDS = 0.1
_ROWS_AT_ONCE = 8


class PictureAnchor(Protocol):
    """The place of one picture in a widget, the surface."""

    @property
    def surface(self) -> Widget:
        """The widget."""

    def redraw_picture(self) -> object:
        """Draw the rows of the picture again."""

    @property
    def picture_region(self) -> tuple[Region, Region] | None:
        """The region of the screen that the full picture would fill, and the visible region; None while hidden."""


class PictureStore:
    """Holds the pictures that an application shows in terminal graphics, one for each anchor.

    The application calls `paint` after it has drawn a screen, and `close` when it exits.

    Args:
        app: everything is written through its driver, in the thread of the event loop.
        setting: `auto`, or the graphics that the user chose.

    Attributes:
        placed: the pictures by their anchors.
    """

    def __init__(self, app: App[str], setting: str) -> None:
        self._app = app
        self._setting = setting
        self._graphics: Graphics | None = None
        self.placed: dict[PictureAnchor, PlacedPicture] = {}
        self._outbox: deque[PlacedPicture] = deque()
        self._keys = count()
        self._sending = False
        self._closed = False
        app.app_suspend_signal.subscribe(app, self.suspend, immediate=True)
        app.app_resume_signal.subscribe(app, self.resume, immediate=True)

    @property
    def graphics(self) -> Graphics:
        """The graphics in which pictures are shown."""
        if self._graphics is None:
            if self._app.is_headless and self._setting == "auto":
                self._graphics = "blocks"
            else:
                colours = _COLOURS.get(self._app.console.color_system or "", 16)
                self._graphics = detect_graphics(self._setting, environ, colours=colours)
        return self._graphics

    @property
    def canvas(self) -> Canvas | None:
        """What to encode pictures for; None if only half blocks are available."""
        return None if self.graphics == "blocks" or self._closed else Canvas(self.graphics, cell_size())

    def place(self, anchor: PictureAnchor, picture: Picture) -> PlacedPicture:
        """Show a picture instead of the previous one; the anchor redraws it when it is ready."""
        self.remove(anchor)
        taken = {placed.key for placed in (*self.placed.values(), *self._outbox)}
        keys = (PICTURE_KEYS[number % len(PICTURE_KEYS)] for number in self._keys)
        key = next(key for key in keys if key not in taken)
        placed = self.placed[anchor] = PlacedPicture(key, picture)
        if isinstance(picture, KittyPicture):
            self._send(placed)
        else:
            placed.ready = True
        return placed

    def remove(self, anchor: PictureAnchor) -> None:
        """Remove the picture of an anchor, if it has one, and delete it from the terminal."""
        placed = self.placed.pop(anchor, None)
        if placed is not None:
            placed.removed = True
            if isinstance(placed.picture, KittyPicture):
                self._send(placed)

    def close(self) -> None:
        """Delete all pictures from the terminal, and show none from now on."""
        self._delete_all()
        self._closed = True

    def suspend(self, _app: object) -> None:
        """Delete all pictures from the terminal while another program has it."""
        self._delete_all()
        for anchor in self.placed:
            anchor.redraw_picture()

    def resume(self, _app: object) -> None:
        """Send all pictures again."""
        for placed in self.placed.values():
            if isinstance(placed.picture, KittyPicture):
                self._send(placed)

    def _delete_all(self) -> None:
        known = [*self.placed.values(), *self._outbox]
        self._outbox.clear()
        for placed in dict.fromkeys(known):
            if placed.begun:
                self._write(deletion(placed.key))
            placed.begun = False
            placed.attempt += 1
            if isinstance(placed.picture, KittyPicture):
                placed.ready = False

    # -- sending ----------------------------------------------------------------------------------

    def _send(self, placed: PlacedPicture) -> None:
        """Send or delete a picture after the pictures that are being sent."""
        if self._closed:
            return
        if placed not in self._outbox:
            self._outbox.append(placed)
        if not self._sending:
            self._sending = True
            start_job(self._app, self._send_all, "pictures", replacing=False)

    async def _send_all(self) -> None:
        # A deletion would abort a transmission in progress, so pictures are processed one after the other.
        try:
            while self._outbox:
                placed = self._outbox.popleft()
                if not placed.removed:
                    await self._transmit(placed)
                if placed.removed and placed.begun:
                    placed.begun = False
                    self._write(deletion(placed.key))
        finally:
            self._sending = False

    async def _transmit(self, placed: PlacedPicture) -> None:
        picture, attempt = placed.picture, placed.attempt
        assert isinstance(picture, KittyPicture)
        for number, piece in enumerate(transmission(placed.key, picture.png, picture.columns, picture.rows)):
            while not self._has_room():  # noqa: ASYNC110  # the queue is another thread's
                await asyncio.sleep(0.005)
            if number % _PIECES_AT_ONCE == _PIECES_AT_ONCE - 1:
                await asyncio.sleep(0)
            if placed.removed or placed.attempt != attempt:
                return
            placed.begun = True
            self._write(piece)
        placed.ready = True
        for anchor, each in self.placed.items():
            if each is placed:
                anchor.redraw_picture()

    def _has_room(self) -> bool:
        """Whether the driver's queue is short, so that writing does not block."""
        queue = getattr(getattr(self._app._driver, "_writer_thread", None), "_queue", None)
        return queue is None or queue.qsize() < 8

    def _write(self, text: str) -> None:
        driver = self._app._driver
        if driver is not None and not self._closed:
            driver.write(text)

    # -- painting ---------------------------------------------------------------------------------

    def paint(self, screen: Screen[object], update: object) -> Sequence[int]:
        """Paint the Sixel rows that a frame overwrote; return the rows of the screen that they are in."""
        painted: list[int] = []
        for anchor, placed in self.placed.items():
            picture = placed.picture
            if not isinstance(picture, SixelPicture) or anchor.surface.screen is not screen:
                continue
            place = anchor.picture_region
            if place is None or update is None or screen is not self._app.screen:
                continue

            def wanted(row: Region, anchor: PictureAnchor = anchor) -> bool:
                painting = is_overwritten(update, row) and is_free(screen, row, anchor.surface)
                if painting:
                    painted.append(row.y)
                return painting

            rows = list(repainted_rows(picture, *place, screen.size.height - 1, wanted))
            if rows and not self._has_room():
                # The terminal is slow: they are painted with a later frame.
                self._app.set_timer(_RETRY_SECONDS, anchor.redraw_picture)
                return painted
            for first in range(0, len(rows), _ROWS_AT_ONCE):
                self._write(f"\x1b7{''.join(rows[first : first + _ROWS_AT_ONCE])}\x1b8")
        return painted


def pictures_of(app: App[Any]) -> PictureStore | None:
    """Return the pictures that an application shows; None if it shows none."""
    graphics = getattr(app, "graphics", None)
    return graphics if isinstance(graphics, PictureStore) else None
