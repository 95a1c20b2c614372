"""The terminal graphics of an application; nothing is set up before the first picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.screen import Screen

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ua_tui.tui.graphics.store import PictureStore


class AppGraphics:
    """The pictures that an application shows in the graphics of its terminal, if it has any.

    The application calls it after it has drawn a screen, and when it exits.

    Args:
        app: its driver writes the pictures.
        setting: `auto`, or the graphics that the user chose.
    """

    def __init__(self, app: App[str], setting: str) -> None:
        self._app = app
        self._setting = setting

    @cached_property
    def pictures(self) -> PictureStore:
        """The pictures shown in terminal graphics."""
        from ua_tui.tui.graphics.store import PictureStore

        return PictureStore(self._app, self._setting)

    @property
    def _store(self) -> PictureStore | None:
        return self.pictures if "pictures" in vars(self) else None

    def paint(self, screen: Screen[object], renderable: RenderableType | None) -> Sequence[int]:
        """Send the pictures of what was drawn; return the rows of the screen that were painted over."""
        store = self._store
        return () if store is None or renderable is None else store.paint(screen, renderable)

    def close(self) -> None:
        """Remove the pictures from the terminal."""
        if self._store is not None:
            self._store.close()


def pictures_of(app: App[Any]) -> PictureStore | None:
    """Return the pictures that an application shows; None if it shows none."""
    graphics = getattr(app, "graphics", None)
    return graphics.pictures if isinstance(graphics, AppGraphics) else None
