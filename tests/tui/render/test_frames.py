from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App, ComposeResult
from textual.geometry import Offset, Region
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widgets import Static

from ua_tui.tui.render.frames import forget_rows, improve_frames
from ua_tui.tui.render.strips import improve_strips

# Blocks of four cells: plain text, frames, wide characters, and marks that belong to the character before them.
BLOCK, BLOCKS, ROWS = 4, 5, 2
_TEXTS = st.sampled_from(
    ["    ", "abcd", "abce", "xbcd", " abc", "ab  ", "│ ▌x", "世界", "a世b", "e\u0301bcd", "ebcd", "ab👍"]
)
_STYLES = st.sampled_from([Style(color="red"), Style(bgcolor="blue"), Style(bold=True, bgcolor="blue")])
_BLOCKS = st.builds(Segment, _TEXTS, _STYLES)
_CHANGES = st.tuples(
    st.integers(0, ROWS - 1), st.integers(0, BLOCKS - 1), st.lists(_BLOCKS, min_size=1, max_size=BLOCKS),
    st.sets(st.integers(1, BLOCKS - 1)),
)  # fmt: skip


class Terminal:
    """What a terminal shows after some frames."""

    def __init__(self, columns: int = BLOCK * BLOCKS, rows: int = ROWS) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self.screen)

    def show(self, frame: CompositorUpdate, console: Console) -> int:
        """Send a frame; the number of characters that are sent."""
        sent = frame.render_segments(console)
        self._stream.feed(sent)
        return len(sent)

    def cells(self) -> list[list[tuple[object, ...]]]:
        """Each cell; the color of a text, and whether it is bold, do not show on a space."""
        rows = range(self.screen.lines), range(self.screen.columns)
        return [
            [
                (cell.data, cell.bg, *((cell.fg, cell.bold) if cell.data != " " else ()))
                for cell in map(self.screen.buffer[y].__getitem__, rows[1])
            ]
            for y in rows[0]
        ]


def console() -> Console:
    return Console(color_system="truecolor", force_terminal=True)


def whole(rows: Sequence[Sequence[Segment]]) -> LayoutUpdate:
    return LayoutUpdate([[Strip(row)] for row in rows], Region(0, 0, BLOCK * BLOCKS, len(rows)))


@settings(max_examples=50)
@given(st.lists(_BLOCKS, min_size=BLOCKS, max_size=BLOCKS), st.lists(_CHANGES, max_size=8))
def test_a_terminal_shows_after_each_change_what_it_would_show_if_all_was_painted(
    first: list[Segment], changes: Sequence[tuple[int, int, list[Segment], set[int]]]
) -> None:
    improve_strips()
    improve_frames()
    rows = [list(first) for _ in range(ROWS)]
    terminal, used = Terminal(), console()
    terminal.show(whole(rows), used)
    for y, start, blocks, cuts in changes:
        end = min(start + len(blocks), BLOCKS)
        rows[y][start:end] = blocks[: end - start]
        edges = sorted({0, BLOCKS, start, end, *cuts})
        chops: list[dict[int, Strip | None]] = [
            {a * BLOCK: Strip(rows[y][a:b]) if a < end and b > start else None for a, b in pairwise(edges)}
        ] * ROWS
        ends = [[edge * BLOCK for edge in edges[1:]]] * ROWS
        terminal.show(ChopsUpdate(chops, [(y, start * BLOCK, end * BLOCK)], ends), used)
        painted = Terminal()
        painted.show(whole(rows), console())
        assert terminal.cells() == painted.cells()


def _line(text: str) -> list[dict[int, Strip | None]]:
    return [{0: Strip([Segment("│ "), Segment(text), Segment(" │")])}]


def test_only_what_differs_is_sent_until_the_row_is_forgotten() -> None:
    improve_strips()
    improve_frames()
    used = console()

    def sent(text: str) -> str:
        return ChopsUpdate(_line(text), [(0, 0, 20)], [[20]]).render_segments(used)

    assert sent("one two three four") == "\x1b[1;1H│ one two three four │"
    assert sent("one two three four") == ""
    assert sent("one 222 three four") == "\x1b[1;7H222"
    forget_rows(used, [0])
    assert sent("one 222 three four") == "\x1b[1;1H│ one 222 three four │"


class Dialog(ModalScreen[None]):
    CSS = "Dialog { align: center middle; } Dialog Static { width: 20; height: 3; background: red; }"

    def compose(self) -> ComposeResult:
        yield Static("dialog", id="dialog")


class PaintedApp(App[None]):
    """Keeps a terminal that gets every frame, as a driver would."""

    CSS = "#far { dock: bottom; } #over { layer: over; offset: 4 1; width: 6; } Screen { layers: base over; }"

    def __init__(self) -> None:
        super().__init__()
        self.console = console()
        self.terminal = Terminal(60, 16)

    def compose(self) -> ComposeResult:
        yield Static("near", id="near")
        yield Static("\n".join(f"line {number} of the middle" for number in range(12)), id="middle")
        yield Static("far", id="far")
        yield Static("over", id="over")

    def _display(self, screen: Screen[object], renderable: object) -> None:
        if isinstance(renderable, CompositorUpdate):
            self.terminal.show(renderable, self.console)


async def test_partial_frames_show_what_a_frame_of_the_full_screen_shows() -> None:
    improve_strips()
    improve_frames()
    app = PaintedApp()

    def painted() -> list[list[tuple[object, ...]]]:
        terminal = Terminal(60, 16)
        frame = app.screen._compositor.render_full_update()
        terminal.show(frame, console())
        return terminal.cells()

    def steps() -> Iterator[None]:
        yield
        app.query_one("#near", Static).update("nearer")
        app.query_one("#far", Static).update("farther")
        yield
        app.query_one("#over", Static).offset = (10, 5)
        yield
        app.query_one("#middle", Static).update("\n".join(f"another line {number}" for number in range(12)))
        yield
        app.push_screen(Dialog())
        yield
        below = app.screen_stack[0]
        below.query_one("#near", Static).update("below the dialog")
        below.query_one("#far", Static).update("at its bottom")
        yield
        # All of the screen below was rendered, not only what changed in it.
        assert "another line 6" in app.screen.render_line(7).text
        app.screen.query_one("#dialog", Static).update("more\nlines")
        yield
        app.pop_screen()
        yield
        app.query_one("#over").display = False
        yield

    async with app.run_test(size=(60, 16)) as pilot:
        for number, _ in enumerate(steps()):
            await pilot.pause()
            await pilot.pause()
            assert app.terminal.cells() == painted(), f"after step {number}"


async def test_a_frame_shows_what_is_behind_a_widget_that_is_being_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    improve_strips()
    improve_frames()
    app = PaintedApp()
    async with app.run_test(size=(60, 16)) as pilot:
        over = app.query_one("#over")
        over.styles.width, over.offset = 60, Offset(0, 1)
        await pilot.pause()
        # It stands in the last layout, but has no place of its own any more.
        monkeypatch.setattr(over, "render_lines", lambda crop: [Strip([])] * crop.height)
        terminal = Terminal(60, 16)
        terminal.show(app.screen._compositor.render_full_update(), console())
        assert terminal.screen.display[1].rstrip() == "line 0 of the middle"
