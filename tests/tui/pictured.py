"""Pictures of many states of one application, which is started only once for all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from textual._doc import take_svg_screenshot
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from tui.clipboard import Clipboard
from tui.styled import StyledApp

__all__ = ["SIZES", "THEMES", "Drawn", "Stage", "cases", "draw", "no_blinking"]

SIZES = [(80, 24), (120, 40), (200, 50)]
THEMES = ["ua-dark", "ua-light", "ua-ansi"]


class Drawn(App[str]):
    """Stands for an application that was pictured already where `snap_compare` wants to run one."""

    def __init__(self, picture: str) -> None:
        super().__init__()
        self._picture = picture

    def run(self, **_: object) -> str:
        """Return the picture."""
        return self._picture


class Stage(StyledApp):
    """Has all the styles, and nothing on its screen."""

    def __init__(self, theme: str | None = None) -> None:
        super().__init__(Clipboard({"TERM": "xterm-256color"}, platform="linux"), theme)

    def on_mount(self) -> None:
        """Get ready for every dialog."""
        self.read_other_styles()


def cases(names: Sequence[str]) -> list[Any]:
    """Every name in each size and theme; those of one size and theme follow each other."""
    return [
        pytest.param(name, size, theme, id=f"{name}-{size[0]}x{size[1]}-{theme}")
        for theme in THEMES
        for size in SIZES
        for name in names
    ]


def draw(
    app: App[Any], size: tuple[int, int], states: Callable[[Pilot[Any]], AsyncIterator[str]]
) -> dict[str, Drawn]:
    """Run an application, and take a picture each time `states` names one."""
    pictures: dict[str, Drawn] = {}

    async def before(pilot: Pilot[Any]) -> None:
        async for name in states(pilot):
            await pilot.pause()
            await pilot.wait_for_scheduled_animations()
            await pilot.pause()
            pictures[name] = Drawn(app.export_screenshot(title=app.title, simplify=True))

    take_svg_screenshot(app=app, terminal_size=size, run_before=before)
    return pictures


def no_blinking(app: App[Any]) -> None:
    """Let the cursors of the lines to write in stand still."""
    for line in app.screen.query(Input).results(Input):
        line.cursor_blink = False
