"""Colours for terminals with 256 colours: the nearest one to each colour of a theme."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_STEPS = (0, 95, 135, 175, 215, 255)
_GREYS = tuple(8 + 10 * step for step in range(24))


@lru_cache(4096)
def nearest(red: int, green: int, blue: int) -> int:
    """Return the number of the nearest of the 256 colours; never one of the first 16, as they differ by terminal."""
    cube = [min(range(6), key=lambda step: abs(_STEPS[step] - part)) for part in (red, green, blue)]
    grey = min(range(24), key=lambda step: abs(3 * _GREYS[step] - red - green - blue))
    found = {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]: [_STEPS[step] for step in cube],
        232 + grey: [_GREYS[grey]] * 3,
    }
    wanted = (red, green, blue)
    return min(
        found, key=lambda number: sum((a - b) ** 2 for a, b in zip(found[number], wanted, strict=True))
    )


class PaletteFilter(LineFilter):
    """Replaces every colour by the nearest of 256 colours.

    Rich rounds each component of a colour separately, which turns the dark blue behind the cursor into a strong green.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments in colours of the palette."""
        return [
            segment
            if segment.style is None or segment.control
            else Segment(segment.text, _mapped(segment.style))
            for segment in segments
        ]


@lru_cache(4096)
def _mapped(style: Style) -> Style:
    ink, ground = _in_palette(style.color), _in_palette(style.bgcolor)
    return style if ink is None and ground is None else style + Style(color=ink, bgcolor=ground)


def _in_palette(colour: RichColor | None) -> RichColor | None:
    if colour is None or colour.type is not ColorType.TRUECOLOR or colour.triplet is None:
        return None
    return RichColor.from_ansi(nearest(*colour.triplet))
