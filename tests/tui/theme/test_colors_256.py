from __future__ import annotations

import pytest
from rich.color import Color as RichColor
from rich.segment import ControlType, Segment
from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from ua_tui.tui.theme.themes import THEMES, PaletteFilter, nearest

BLACK = Color(0, 0, 0)


def shown(style: Style) -> Style:
    (segment,) = PaletteFilter().apply([Segment("x", style)], BLACK)
    assert segment.style is not None
    return segment.style


def test_a_colour_of_the_palette_is_its_own_nearest() -> None:
    for colour in (
        (0, 0, 0, 16),
        (255, 255, 255, 231),
        (255, 0, 0, 196),
        (58, 58, 58, 237),
        (135, 175, 255, 111),
    ):
        assert nearest(*colour[:3]) == colour[3]


@pytest.mark.parametrize("theme", THEMES[:2], ids=lambda theme: theme.name)
def test_what_lies_behind_the_cursor_stays_near_to_what_is_meant(theme: Theme) -> None:
    for name in ("block-cursor-background", "block-cursor-blurred-background"):
        wanted = Color.parse(theme.variables[name])
        found = shown(Style(bgcolor=wanted.rich_color)).bgcolor
        assert found is not None
        red, green, blue = found.get_truecolor()
        assert max(abs(red - wanted.r), abs(green - wanted.g), abs(blue - wanted.b)) <= 30


def test_only_full_colours_are_changed_and_nothing_else_of_a_style() -> None:
    style = Style(color="#123456", bold=True, link="https://a.example", meta={"a": 1})
    found = shown(style)
    assert found.bold
    assert (found.link, found.meta) == (style.link, style.meta)
    assert found.color == RichColor.from_ansi(nearest(0x12, 0x34, 0x56))
    assert found.bgcolor is None
    kept = Style(color=RichColor.from_ansi(3), bgcolor=RichColor.default())
    assert shown(kept) == kept


def test_what_steers_the_terminal_passes() -> None:
    segments = [Segment("\x07", Style(color="#123456"), [(ControlType.BELL,)]), Segment("plain")]
    assert PaletteFilter().apply(segments, BLACK) == segments
