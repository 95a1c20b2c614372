"""The pictures that the terminal holds: sent in small pieces that never stop the event loop, and deleted in time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from itertools import count
from os import environ
from typing import Protocol

from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker

from tui.graphics.capabilities import Canvas, Means, cell_size, means_of
from tui.graphics.image import Hung, KittyPicture, Picture, SixelPicture
from tui.graphics.kitty import KEYS, deletion, transmission

__all__ = ["Shelf", "Wall"]

_COLOURS = {"truecolor": 1 << 24, "256": 256}
_FULL = 8
_PAUSE_SECONDS = 0.005
_AT_ONCE = 8
_LATER_SECONDS = 0.1
_ROWS_AT_ONCE = 8


class Wall(Protocol):
    """What one picture hangs on: a place in a widget, the surface."""

    @property
    def surface(self) -> Widget:
        """The widget."""
        ...

    def picture_changed(self) -> None:
        """Draw the rows of the picture anew."""
        ...

    @property
    def picture_place(self) -> tuple[Region, Region] | None:
        """Where on the screen the whole picture would be, and the region it is seen through; None when hidden."""
        ...


class Shelf:
    """Knows what is shown by the graphics of the terminal, one picture for each wall.

    Args:
        app: through whose driver everything is written, on the loop's thread.
        setting: `auto`, or the means the person chose.
        environment: by which the terminal is known; the process's own by default.
    """

    def __init__(self, app: App[str], setting: str, environment: Mapping[str, str] = environ) -> None:
        self._app = app
        self._setting = setting
        self._environment = environment
        self._means: Means | None = None
        self._hung: dict[Wall, Hung] = {}
        self._outbox: deque[Hung] = deque()
        self._keys = count()
        self._sender: Worker[None] | None = None
        self._sending = False
        self._closed = False

    @property
    def means(self) -> Means:
        """How pictures are shown here."""
        if self._means is None:
            auto_elsewhere = self._app.is_headless and self._setting == "auto"
            colours = _COLOURS.get(self._app.console.color_system or "", 16)
            self._means = (
                "blocks" if auto_elsewhere else means_of(self._setting, self._environment, colours=colours)
            )
        return self._means

    @property
    def canvas(self) -> Canvas | None:
        """What to draw for; None where half blocks are all there is."""
        return None if self.means == "blocks" or self._closed else Canvas(self.means, cell_size())

    @property
    def hung(self) -> Mapping[Wall, Hung]:
        """What is shown, and where."""
        return self._hung

    def hang(self, wall: Wall, picture: Picture) -> Hung:
        """Show a picture in place of the one that hung there before; the wall is told when it is ready."""
        self.take_down(wall)
        hung = self._hung[wall] = Hung(self._free_key(), picture)
        if isinstance(picture, KittyPicture):
            self._send(hung)
        else:
            hung.ready = True
        return hung

    def take_down(self, wall: Wall) -> None:
        """Forget the picture that hangs there, if there is one, and make the terminal forget it."""
        hung = self._hung.pop(wall, None)
        if hung is not None:
            hung.down = True
            if isinstance(hung.picture, KittyPicture):
                self._send(hung)

    def close(self) -> None:
        """Make the terminal forget all of them, and show none any more."""
        self._forget()
        self._closed = True

    def suspend(self) -> None:
        """Make the terminal forget all of them while it belongs to another program."""
        self._forget()
        for wall in self._hung:
            wall.picture_changed()

    def resume(self) -> None:
        """Send what is shown again."""
        for hung in self._hung.values():
            if isinstance(hung.picture, KittyPicture):
                self._send(hung)

    def _forget(self) -> None:
        known = [*self._hung.values(), *self._outbox]
        self._outbox.clear()
        for hung in dict.fromkeys(known):
            if hung.begun:
                self._write(deletion(hung.key))
            hung.begun = False
            hung.attempt += 1
            if isinstance(hung.picture, KittyPicture):
                hung.ready = False

    def _free_key(self) -> int:
        taken = {hung.key for hung in (*self._hung.values(), *self._outbox)}
        return next(key for key in (KEYS[n % len(KEYS)] for n in self._keys) if key not in taken)

    # -- sending ----------------------------------------------------------------------------------

    def _send(self, hung: Hung) -> None:
        """Bring what the terminal knows of a picture up to date, after whatever is being sent."""
        if self._closed:
            return
        if hung not in self._outbox:
            self._outbox.append(hung)
        if not self._sending:
            self._sending = True
            self._sender = self._app.run_worker(
                self._send_all, name="pictures", group="pictures", exit_on_error=False
            )

    async def _send_all(self) -> None:
        # A deletion in the middle of a transmission would end it: one picture is dealt with after the other.
        try:
            while self._outbox:
                hung = self._outbox.popleft()
                if not hung.down:
                    await self._transmit(hung)
                if hung.down and hung.begun:
                    hung.begun = False
                    self._write(deletion(hung.key))
        finally:
            self._sending = False

    async def _transmit(self, hung: Hung) -> None:
        picture, attempt = hung.picture, hung.attempt
        assert isinstance(picture, KittyPicture)
        for number, piece in enumerate(transmission(hung.key, picture.png, picture.columns, picture.rows)):
            await self._wait_for_room()
            if number % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            if hung.down or hung.attempt != attempt:
                return
            hung.begun = True
            self._write(piece)
        hung.ready = True
        for wall, each in self._hung.items():
            if each is hung:
                wall.picture_changed()

    async def _wait_for_room(self) -> None:
        while True:
            if self._has_room():
                return
            await asyncio.sleep(_PAUSE_SECONDS)

    def _has_room(self) -> bool:
        """Whether nobody waits for what is written: the driver's queue is short, and who fills it stands still."""
        queue = getattr(getattr(self._app._driver, "_writer_thread", None), "_queue", None)
        return queue is None or queue.qsize() < _FULL

    def _write(self, text: str) -> None:
        driver = self._app._driver
        if driver is not None and not self._closed:
            driver.write(text)

    # -- painting ---------------------------------------------------------------------------------

    def paint(self, screen: Screen[object], update: object) -> None:
        """Paint what a frame wrote over of the pictures that are no cells."""
        for wall, hung in self._hung.items():
            picture = hung.picture
            if not isinstance(picture, SixelPicture) or wall.surface.screen is not screen:
                continue
            place = wall.picture_place
            if place is None or screen is not self._app.screen:
                continue
            from tui.graphics.overlay import is_free, painted_rows, written_over

            def wanted(row: Region, wall: Wall = wall) -> bool:
                return written_over(update, row) and is_free(screen, row, wall.surface)

            rows = list(painted_rows(picture, *place, screen.size.height - 1, wanted))
            if rows and not self._has_room():
                # The terminal is slow: the next frame has it all.
                self._app.set_timer(_LATER_SECONDS, wall.picture_changed)
                return
            for first in range(0, len(rows), _ROWS_AT_ONCE):
                self._write(f"\x1b7{''.join(rows[first : first + _ROWS_AT_ONCE])}\x1b8")
