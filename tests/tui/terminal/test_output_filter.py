from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter
from textual.widgets import Static

from ua_tui.tui.terminal.output_filter import ControlFilter, strip_controls

BLACK = Color(0, 0, 0)
HOSTILE = [
    "\x1b]52;c;aGk=\x07", "\x1b[2J", "\x1bP1$q\x1b\\", "\x9b31m", "\x9d0;title\x9c",
    "\x07\x08\x0b\x0c\r\x7f\x00", "\u202egnp.exe\u2066x\u2069\u200b", "a\u2028b\u2029c",
    "\U000e0041\U000e007f",
]  # fmt: skip


def test_nothing_that_steers_a_terminal_is_left() -> None:
    for text in HOSTILE:
        (segment,) = ControlFilter().apply([Segment(text)], BLACK)
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in segment.text)
        assert not set(segment.text) & set("\u202e\u2066\u2069\u2028\u2029\u200b")


def test_everything_else_is_untouched() -> None:
    texts = ["plain", "naïve 漢字 é", "non\u00a0breaking", "👩\u200d💻", "│ box ▾ ⠹"]
    segments = [Segment(text, Style(bold=True)) for text in texts]
    segments.append(Segment("here", Style(link="https://news.example/a?b=c")))
    segments.append(Segment("\x1b[1A", None, [(1, 1)]))  # type: ignore[list-item]  # any control code will do
    assert ControlFilter().apply(segments, BLACK) == segments
    strip_controls("a\ud800b").encode("utf-8")


@pytest.mark.parametrize("link", ["https://x.example/\x1b]52;c;aGk=\x07", "https://\u202eelpmaxe.x"])
def test_a_link_that_hides_controls_is_dropped(link: str) -> None:
    (segment,) = ControlFilter().apply([Segment("here", Style(bold=True, link=link))], BLACK)
    assert segment.text == "here"
    assert segment.style is not None
    assert segment.style.link is None
    assert segment.style.bold


async def test_the_filter_works_inside_an_application() -> None:
    class Guarded(App[None]):
        def compose(self) -> ComposeResult:
            yield Static(Content("A\x1b]0;owned\x07B\u202eC"))

        def get_line_filters(self) -> list[LineFilter]:
            return [*super().get_line_filters(), ControlFilter()]

    app = Guarded()
    async with app.run_test():
        drawn = "".join(segment.text for strip in app.screen._compositor.render_strips() for segment in strip)
    assert "A]0;ownedBC" in drawn
