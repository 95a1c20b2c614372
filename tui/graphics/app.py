"""Pictures by the graphics of the terminal: nothing of that is made before there is one to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App
from textual.screen import Screen

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tui.graphics.store import Shelf

__all__ = ["PicturingApp"]


class PicturingApp(App[str]):
    """An application that shows pictures by the graphics of its terminal, where it has any."""

    picture_setting: str | None = None
    """`auto`, or the means the person chose; None shows none but half blocks."""
    _shelf: Shelf | None = None

    @property
    def pictures(self) -> Shelf | None:
        """What is shown by the graphics of the terminal; None when nothing is to be."""
        if self._shelf is None and self.picture_setting is not None:
            from tui.graphics.store import Shelf

            self._shelf = Shelf(self, self.picture_setting)
        return self._shelf

    def on_mount(self) -> None:
        """Give the terminal away without pictures."""
        self.app_suspend_signal.subscribe(self, self._take_down, immediate=True)
        self.app_resume_signal.subscribe(self, self._hang_again, immediate=True)

    def _take_down(self, _app: object) -> None:
        if self._shelf is not None:
            self._shelf.suspend()

    def _hang_again(self, _app: object) -> None:
        if self._shelf is not None:
            self._shelf.resume()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        shelf = self._shelf
        if shelf is not None and shelf.hung and renderable is not None and not self._batch_count:
            shelf.paint(screen, renderable)

    def exit(
        self, result: str | None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """Leave the terminal without pictures."""
        if self._shelf is not None:
            self._shelf.close()
        super().exit(result, return_code, message)
