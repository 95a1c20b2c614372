"""The terminal graphics of an application; nothing is set up before the first picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.screen import Screen

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ua_tui.tui.graphics.store import PictureStore


class AppGraphics:
    """The pictures that an application shows in the graphics of its terminal, if it has any.

    The application calls it when it starts, after it has drawn a screen, and when it exits.

    Args:
        app: its driver writes the pictures.
        setting: `auto`, or the graphics that the user chose.
    """

    def __init__(self, app: App[str], setting: str) -> None:
        self._app = app
        self._setting = setting
        self._store: PictureStore | None = None

    @property
    def pictures(self) -> PictureStore:
        """The pictures shown in terminal graphics."""
        if self._store is None:
            from ua_tui.tui.graphics.store import PictureStore

            self._store = PictureStore(self._app, self._setting)
        return self._store

    def start(self) -> None:
        """Remove the pictures while another program has the terminal."""
        self._app.app_suspend_signal.subscribe(self._app, self._suspend, immediate=True)
        self._app.app_resume_signal.subscribe(self._app, self._resume, immediate=True)

    def paint(self, screen: Screen[object], renderable: RenderableType | None) -> Sequence[int]:
        """Send the pictures of what was drawn; return the rows of the screen that were painted over."""
        store = self._store
        if store is None or not store.placed or renderable is None:
            return ()
        return store.paint(screen, renderable)

    def close(self) -> None:
        """Remove the pictures from the terminal."""
        if self._store is not None:
            self._store.close()

    def _suspend(self, _app: object) -> None:
        if self._store is not None:
            self._store.suspend()

    def _resume(self, _app: object) -> None:
        if self._store is not None:
            self._store.resume()


def pictures_of(app: App[Any]) -> PictureStore | None:
    """Return the pictures that an application shows; None if it shows none."""
    graphics = getattr(app, "graphics", None)
    return graphics.pictures if isinstance(graphics, AppGraphics) else None
