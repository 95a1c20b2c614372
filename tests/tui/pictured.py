"""Pictures of many states of one application, which is started only once for all of them."""

from __future__ import annotations

import asyncio
import fcntl
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pytest_textual_snapshot import normalize_svg  # type: ignore[import-untyped]
from textual._doc import take_svg_screenshot
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from tui.app.base_app import BaseApp
from tui.terminal.clipboard import Clipboard

__all__ = [
    "LOOKS",
    "SIZES",
    "Drawn",
    "Stage",
    "cases",
    "compact",
    "draw",
    "draw_once",
    "draw_until",
    "every_look",
    "every_size",
    "looks",
    "no_blinking",
]

SIZES = [(80, 24), (120, 40), (200, 50)]
# Three sizes of one theme, and one size of each other theme.
LOOKS = [*((size, "ua-dark") for size in SIZES), (SIZES[1], "ua-light"), (SIZES[1], "ua-ansi")]

every_size = pytest.mark.parametrize("size", SIZES, ids=[f"{wide}x{high}" for wide, high in SIZES])


def looks(chosen: Sequence[tuple[tuple[int, int], str]]) -> pytest.MarkDecorator:
    """Give a test `size` and `theme` of each of these looks."""
    params = [
        pytest.param(size, theme, id=f"{size[0]}x{size[1]}-{theme}", marks=_marks(theme))
        for size, theme in chosen
    ]
    return pytest.mark.parametrize(("size", "theme"), params)


def _marks(theme: str) -> list[pytest.MarkDecorator]:
    # By default every size is drawn in one theme; the others are drawn where everything runs.
    return [] if theme == "ua-dark" else [pytest.mark.slow]


every_look = looks(LOOKS)

LINE_CLIPS = re.compile(r'\s*<clipPath id="[\w-]+-line-\d+">.*?</clipPath>', re.DOTALL)
FONT_FACES = re.compile(r"\s*@font-face \{.*?\n    \}", re.DOTALL)
LINE_ENDS = re.compile(r"<text [^>]*>\s*</text>")
CELLS = re.compile(
    r'<rect fill="([^"]+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="24.65" shape-rendering="crispEdges"/>'
)


def compact(picture: str) -> str:
    """The same SVG without what each picture repeats: a third of its size, with a line for each row of the screen."""
    picture = LINE_CLIPS.sub("", picture)
    picture = FONT_FACES.sub("", picture)
    picture = re.sub(r' clip-path="url\(#[\w-]+-line-\d+\)"', "", picture)
    picture = LINE_ENDS.sub("\n", picture)
    picture = re.sub(r'(class="|\.)terminal(?:-\d+)?-(r\d+)\b', r"\1\2", picture)
    picture = re.sub(f"(?:{CELLS.pattern})+", lambda cells: _joined(cells[0]), picture)
    return re.sub(r"\n\s*\n+", "\n", picture.replace("&#160;", "\N{NO-BREAK SPACE}"))


def _joined(cells: str) -> str:
    """Rectangles of the background, with neighbours of the same colour as one."""
    spans: list[tuple[str, str, float, float]] = []
    for fill, x, y, width in CELLS.findall(cells):
        left, right = float(x), float(x) + float(width)
        if spans and spans[-1][:2] == (y, fill) and abs(spans[-1][3] - left) < 0.1:
            left = spans.pop()[2]
        spans.append((y, fill, left, right))
    rows = (
        "".join(
            f'<rect fill="{fill}" x="{left:.5g}" y="{y}" width="{right - left:.5g}" height="24.65"/>'
            for _, fill, left, right in row
        )
        for y, row in groupby(spans, lambda span: span[0])
    )
    return "\n    ".join(rows)


class Drawn(App[str]):
    """Stands for an application that was pictured already where `snap_compare` wants to run one."""

    def __init__(self, picture: str) -> None:
        super().__init__()
        self._picture = picture

    def run(self, **_: object) -> str:
        """Return the picture."""
        return self._picture


class Stage(BaseApp):
    """Has all the styles, and nothing on its screen."""

    def __init__(self, theme: str | None = None) -> None:
        super().__init__(Clipboard({"TERM": "xterm-256color"}, platform="linux"), theme)

    def on_mount(self) -> None:
        """Get ready for every dialog."""
        self.read_other_styles()


def cases(names: Sequence[str]) -> list[Any]:
    """Every name in each look; those of one look follow each other."""
    return [
        pytest.param(name, size, theme, id=f"{name}-{size[0]}x{size[1]}-{theme}", marks=_marks(theme))
        for size, theme in LOOKS
        for name in names
    ]


def draw(
    app: App[Any], size: tuple[int, int], states: Callable[[Pilot[Any]], AsyncIterator[str]]
) -> dict[str, str]:
    """Run an application, and take a picture each time `states` names one."""
    pictures: dict[str, str] = {}

    async def before(pilot: Pilot[Any]) -> None:
        async for name in states(pilot):
            await pilot.pause()
            await pilot.wait_for_scheduled_animations()
            await pilot.pause()
            pictures[name] = _picture(app)

    take_svg_screenshot(app=app, terminal_size=size, run_before=before)
    return pictures


def draw_once(
    folder: Path, name: str, states: Callable[[Pilot[Any]], AsyncIterator[str]]
) -> Callable[[tuple[int, int], str], dict[str, str]]:
    """Take the pictures of a look, of a size and a theme, in the first of the processes that share a folder."""

    @cache
    def drawn(size: tuple[int, int], theme: str) -> dict[str, str]:
        path = folder / f"{name}-{size[0]}x{size[1]}-{theme}.json"
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                path.write_text(json.dumps(draw(Stage(theme), size, states)), encoding="utf-8")
        pictures: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        return pictures

    return drawn


def draw_until(
    app: App[Any],
    size: tuple[int, int],
    expected: str | None,
    before: Callable[[Pilot[Any]], Awaitable[None] | None] | None = None,
    *,
    press: Sequence[str] = (),
    seconds: float = 60.0,
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
            picture = _picture(app)
            if normalize_svg(picture) == expected or time.monotonic() >= deadline:
                return
            await asyncio.sleep(0.05)

    take_svg_screenshot(app=app, terminal_size=size, run_before=wait)
    return Drawn(picture)


def _picture(app: App[Any]) -> str:
    return compact(app.export_screenshot(title=app.title, simplify=True))


def no_blinking(app: App[Any]) -> None:
    """Let the cursors of the lines to write in stand still."""
    for line in app.screen.query(Input).results(Input):
        line.cursor_blink = False
