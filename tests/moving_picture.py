"""Draws the moving picture of the README: `python -m tests.moving_picture docs` replays the recorded demo session.

It is an SVG without a script: each frame is shown for its part of the time, and rows that frames share are in it once.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import tempfile
import time
from html import escape
from itertools import pairwise
from pathlib import Path

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from tests.waiting import is_settled, until
from ua_tui.core.demo.launch import unpack_recording
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.replay.replay_source import ReplaySource

NAME = "replay.svg"
SIZE = (120, 34)
FRAMES = 12
CONTROLS = 3
"""The lines at the bottom that are as wide as the screen."""
SECONDS = 20.0
"""As long as the recorded session takes at speed 8."""
CELL, LINE = 8.4, 18.0
LARGEST = 350_000
"""Bytes."""


async def frames(base: Path) -> tuple[list[list[Strip]], list[int]]:
    """The rows of the screen at moments that are equally far from each other, and the edges of panes."""
    source = ReplaySource(unpack_recording(base), speed=8.0, longest_wait=3.0, label="Recorded demo session")
    app = UaTuiApp(Settings(workspace_base=base), source)
    drawn: list[list[Strip]] = []
    async with app.run_test(size=SIZE) as pilot:
        await source.opened.wait()
        player = source.player
        assert player is not None
        player.play(playing=False)
        for number in range(FRAMES):
            player.seek_offset(player.recording.seconds * number / (FRAMES - 1))
            await until(lambda: is_settled(player))
            # The workspace lists its folder, and cards read their files.
            await pilot.pause(1.5)
            drawn.append(rows_of(app))
        edges = sorted({pane.region.x for pane in app.frame.children if pane.display} | {0, SIZE[0]})
    return drawn, edges


def rows_of(app: App[str]) -> list[Strip]:
    """The rows of the screen as they are now."""
    return [strip.simplify() for strip in app.screen._compositor.render_strips()]


class Drawing:
    """The parts of rows that were drawn, each once, and the colours in them."""

    def __init__(self) -> None:
        self.parts: dict[str, int] = {}
        self.colours: dict[str, int] = {}

    def use(self, strip: Strip, cell: int, line: int) -> str:
        """Draw a part of a row, and return what shows it at a place; nothing if there is nothing to see."""
        part = self._draw(strip)
        if not part:
            return ""
        name = self.parts.setdefault(part, len(self.parts))
        return f'<use href="#r{name}" x="{cell * CELL:g}" y="{line * LINE:g}"/>'

    def _draw(self, strip: Strip) -> str:
        below: list[str] = []
        spans: list[str] = []
        cell = 0
        for text, style, _ in strip:
            front, back = colours(style or Style())
            width = cell_len(text)
            if back not in (GROUND, ""):
                x, length = cell * CELL, width * CELL
                below.append(f'<rect x="{x:.1f}" width="{length:.1f}" height="{LINE:g}" fill="{back}"/>')
            name = self.colours.setdefault(front, len(self.colours))
            bold = " b" if style is not None and style.bold and text.strip() else ""
            spans.append(f'<tspan class="c{name}{bold}">{escape(text)}</tspan>' if text.strip() else text)
            cell += width
        if not below and not any(span.strip() for span in spans):
            return ""
        return f'{"".join(below)}<text y="13.5" textLength="{cell * CELL:.1f}">{"".join(spans)}</text>'


def moving(drawn: list[list[Strip]], edges: list[int]) -> str:
    """Make one SVG of frames, whose rows are cut at the edges of panes: most panes look as in the frame before."""
    width, height = SIZE[0] * CELL, SIZE[1] * LINE
    drawing = Drawing()
    shown: list[str] = []
    for number, rows in enumerate(drawn):
        places = [
            drawing.use(strip.crop(start, end), start, line)
            for line, strip in enumerate(rows)
            for start, end in pairwise(edges if line < SIZE[1] - CONTROLS else (0, SIZE[0]))
        ]
        delay = SECONDS * number / len(drawn)
        shown.append(f'<g class="f" style="animation-delay:{delay:.2f}s">{"".join(places)}</g>')
    parts = "".join(f'<g id="r{name}">{part}</g>' for part, name in drawing.parts.items())
    share = 100 / len(drawn)
    style = (
        f".f{{visibility:hidden;animation:f {SECONDS:g}s step-end infinite}}"
        f"@keyframes f{{0%{{visibility:visible}}{share:.3f}%{{visibility:hidden}}}}"
        "text{font:14px Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}.b{font-weight:bold}"
    )
    style += "".join(f".c{name}{{fill:{colour}}}" for colour, name in drawing.colours.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" xml:space="preserve">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="{GROUND}"/>'
        f"<defs>{parts}</defs>{''.join(shown)}</svg>\n"
    )


GROUND = "#101216"


def colours(style: Style) -> tuple[str, str]:
    """The colours of a text and of what is below it."""
    front, back = hex_of(style.color, "#d8dce2"), hex_of(style.bgcolor, "")
    return (back or GROUND, front) if style.reverse else (front, back)


def hex_of(color: Color | None, otherwise: str) -> str:
    if color is None or color.is_default:
        return otherwise
    return color.get_truecolor().hex


def main() -> None:
    """Write the picture into the folder given on the command line."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tests.moving_picture FOLDER")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
        os.environ.update(
            HOME=base, XDG_STATE_HOME=base, XDG_CACHE_HOME=base, TZ="UTC", COLORTERM="truecolor"
        )
        os.environ.pop("NO_COLOR", None)
        time.tzset()
        picture = moving(*asyncio.run(frames(Path(base))))
    if base in picture or len(picture.encode()) > LARGEST:
        raise SystemExit(
            f"{NAME} names a folder of this machine, or is too large: {math.ceil(len(picture) / 1000)} KB"
        )
    (Path(sys.argv[1]) / NAME).write_text(picture, encoding="utf-8")
    sys.stdout.write(f"{NAME}  {len(picture.encode()) / 1000:.0f} KB\n")


if __name__ == "__main__":
    main()
