"""The part of an application that shows pictures in terminal graphics; nothing is set up before the first picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App
from textual.screen import Screen

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tui.graphics.store import PictureStore

__all__ = ["GraphicsApp"]


class GraphicsApp(App[str]):
    """An application that shows pictures in the graphics of its terminal, if it has any."""

    picture_setting: str | None = None
    """`auto`, or the graphics that the user chose; None shows half blocks only."""
    _store: PictureStore | None = None

    @property
    def pictures(self) -> PictureStore | None:
        """The pictures shown in terminal graphics; None if terminal graphics are not used."""
        if self._store is None and self.picture_setting is not None:
            from tui.graphics.store import PictureStore

            self._store = PictureStore(self, self.picture_setting)
        return self._store

    def on_mount(self) -> None:
        """Remove the pictures while another program has the terminal."""
        self.app_suspend_signal.subscribe(self, self._suspend_pictures, immediate=True)
        self.app_resume_signal.subscribe(self, self._resume_pictures, immediate=True)

    def _suspend_pictures(self, _app: object) -> None:
        if self._store is not None:
            self._store.suspend()

    def _resume_pictures(self, _app: object) -> None:
        if self._store is not None:
            self._store.resume()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        store = self._store
        if store is not None and store.placed and renderable is not None and not self._batch_count:
            store.paint(screen, renderable)

    def exit(
        self, result: str | None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """Remove the pictures from the terminal and exit."""
        if self._store is not None:
            self._store.close()
        super().exit(result, return_code, message)
