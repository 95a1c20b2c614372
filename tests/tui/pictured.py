"""What a screen looks like in the end, as a picture and as text, in the sizes and themes that are kept."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import groupby
from typing import Any

import pytest
from pytest_textual_snapshot import normalize_svg  # type: ignore[import-untyped]
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from tests.waiting import until
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.terminal.clipboard import Clipboard

Size = tuple[int, int]
SMALL, MEDIUM, LARGE = (80, 24), (120, 40), (200, 50)
DARK = (MEDIUM, "ua-dark")
"""The look of most pictures."""
THEMED = [DARK, (MEDIUM, "ua-light"), (MEDIUM, "ua-ansi")]
"""One size of each theme."""
LOOKS = [(SMALL, "ua-dark"), *THEMED, (LARGE, "ua-dark")]
"""Three sizes of one theme, and one size of each other theme."""
Compare = Callable[..., Awaitable[None]]
"""Compares what an application shows with what is kept of it: given its pilot, and a name if there are several."""


def sizes(*chosen: Size) -> pytest.MarkDecorator:
    """Give a test `size` in each of these sizes."""
    return pytest.mark.parametrize("size", chosen, ids=[f"{wide}x{high}" for wide, high in chosen])


def looks(*chosen: tuple[Size, str]) -> pytest.MarkDecorator:
    """Give a test `size` and `theme` of each of these looks."""
    params = [
        # By default every size is drawn in one theme; the others are drawn where everything runs.
        pytest.param(
            size,
            theme,
            id=f"{size[0]}x{size[1]}-{theme}",
            marks=[] if theme == "ua-dark" else [pytest.mark.slow],
        )
        for size, theme in chosen
    ]
    return pytest.mark.parametrize(("size", "theme"), params)


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
    """Stands for an application that was pictured already where the plug-in for pictures wants to run one."""

    def __init__(self, picture: str) -> None:
        super().__init__()
        self._picture = picture

    def run(self, **_: object) -> str:
        """Return the picture."""
        return self._picture


class Stage(BaseApp):
    """Has all the styles, and nothing on its screen."""

    def __init__(self, theme: str | None = None) -> None:
        super().__init__(Settings(theme=theme), Clipboard({"TERM": "xterm-256color"}, platform="linux"))

    def on_mount(self) -> None:
        """Get ready for every dialog."""
        self.read_other_styles()


async def look_until(pilot: Pilot[Any], expected: str | None, look: Callable[[App[Any]], str]) -> str:
    """What `look` makes of the screen once it is as expected.

    What a screen shows last may come late on a busy machine; what never comes fails with what is there at last.
    """
    app = pilot.app
    await pilot.wait_for_scheduled_animations()
    # Where nothing is expected, what is shown in half a second is taken.
    await pilot.pause(None if expected is not None else 0.5)
    drawn: object = None
    seen = ""

    def is_expected() -> bool:
        nonlocal drawn, seen
        if (strips := app.screen._compositor.render_strips()) != drawn:
            drawn, seen = strips, look(app)
        return expected is None or seen == expected

    with suppress(AssertionError):
        await until(is_expected)
    return seen


def picture_of(app: App[Any]) -> str:
    """A picture of the screen, without what changes from one run to the next."""
    return str(normalize_svg(compact(app.export_screenshot(title=app.title, simplify=True))))


def no_blinking(app: App[Any]) -> None:
    """Let the cursors of the lines to write in stand still."""
    for line in app.screen.query(Input).results(Input):
        line.cursor_blink = False
