"""Pictures of many states of one application, which is started only once for all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from pytest_textual_snapshot import normalize_svg  # type: ignore[import-untyped]
from textual._doc import take_svg_screenshot
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from tui.app.base_app import StyledApp
from tui.terminal.clipboard import Clipboard

__all__ = ["SIZES", "THEMES", "Drawn", "Stage", "cases", "draw", "draw_until", "no_blinking"]

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


def draw_until(
    app: App[Any],
    size: tuple[int, int],
    expected: str | None,
    before: Callable[[Pilot[Any]], Awaitable[None] | None] | None = None,
    *,
    press: Sequence[str] = (),
    seconds: float = 15.0,
) -> Drawn:
    """Run an application until it looks as expected, and return the last picture of it.

    What a screen shows last may come late on a busy machine; what never comes fails as before, with the last picture.
    """
    picture = ""

    async def wait(pilot: Pilot[Any]) -> None:
        nonlocal picture
        if before is not None and (steps := before(pilot)) is not None:
            await steps
        await pilot.pause()
        await pilot.press(*press)
        deadline = time.monotonic() + (seconds if expected is not None else 0.0)
        while True:
            await pilot.wait_for_scheduled_animations()
            await pilot.pause()
            picture = app.export_screenshot(title=app.title, simplify=True)
            if normalize_svg(picture) == expected or time.monotonic() >= deadline:
                return
            await asyncio.sleep(0.05)

    take_svg_screenshot(app=app, terminal_size=size, run_before=wait)
    return Drawn(picture)


def no_blinking(app: App[Any]) -> None:
    """Let the cursors of the lines to write in stand still."""
    for line in app.screen.query(Input).results(Input):
        line.cursor_blink = False
