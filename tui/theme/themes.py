"""The themes of the application: one accent for focus and what is new; green, amber and red only for states."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from rich.color import Color as RichColor
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import table_of
from ua_tui.core.settings.parsers import OWN_THEMES

_LEVELS = (0, 95, 135, 175, 215, 255)
_GREYS = tuple(8 + 10 * step for step in range(24))


@lru_cache(4096)
def nearest(red: int, green: int, blue: int) -> int:
    """Return the number of the nearest of the 256 colours; never one of the first 16, as they differ by terminal."""
    cube = [min(range(6), key=lambda step: abs(_LEVELS[step] - part)) for part in (red, green, blue)]
    grey = min(range(24), key=lambda step: abs(3 * _GREYS[step] - red - green - blue))
    found = {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]: [_LEVELS[step] for step in cube],
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


TEXT = 4.5
"""The minimum contrast of text, as in WCAG."""
DIM = 3.0
"""The minimum contrast of muted text."""

_STEPS = 24
_INKS = ("accent", "success", "warning", "error", "secondary", "primary")
_CURSOR = (0.3, 0.25, 0.2, 0.15, 0.1)


def contrast(first: Color, second: Color) -> float:
    """Return the contrast of two opaque colours, from 1 to 21, as defined by WCAG."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def legible(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a theme with illegible colours changed; not for themes in terminal colours."""
    background = Color.parse(variables["background"])
    surface = _on(variables["surface"], background)
    panel = _on(variables["panel"], surface)
    plain = (background, surface, panel)
    foreground = _readable(_on(variables["foreground"], background), plain, 7.0)
    cursor = _cursor(background, _on(variables["primary"], background), foreground)
    resting = background.blend(foreground, 0.07)
    hover = background.blend(foreground, 0.04)
    rows = (*plain, cursor, resting, hover)
    muted = background.blend(foreground, 0.62)
    found: dict[str, Color] = {
        "background": background,
        "surface": surface,
        "panel": panel,
        "foreground": foreground,
        "foreground-muted": _readable(muted, rows, TEXT),
        "foreground-machinery": _readable(background.blend(foreground, 0.8), rows, TEXT),
        "foreground-disabled": _readable(background.blend(foreground, 0.45), rows, DIM),
        "block-cursor-background": cursor,
        "block-cursor-foreground": foreground,
        "block-cursor-blurred-background": resting,
        "block-cursor-blurred-foreground": foreground,
        "block-hover-background": hover,
        "input-selection-background": background.blend(_on(variables["primary"], background), 0.4),
        "input-cursor-background": foreground,
        "input-cursor-foreground": background,
        "border-blurred": _readable(background.blend(foreground, 0.2), (background,), 1.3),
    }
    found["input-selection-foreground"] = _readable(foreground, (found["input-selection-background"],), TEXT)
    found["screen-selection-background"] = found["input-selection-background"]
    found["screen-selection-foreground"] = found["input-selection-foreground"]
    for name in _INKS:
        ink = _on(variables[name], background)
        washed = (
            (background.blend(ink, 0.12), background.blend(ink, 0.3)) if name in ("error", "warning") else ()
        )
        found[name] = found[f"text-{name}"] = _readable(ink, (*rows, *washed), TEXT)
    found["border"] = found["accent"]
    found["text-muted"], found["text-disabled"] = found["foreground-muted"], found["foreground-disabled"]
    found["text-on-rows"] = found["text-muted"]
    found["footer-key-foreground"] = found["accent"]
    styles = {
        "block-cursor-text-style": "none",
        "block-cursor-blurred-text-style": "none",
        "button-focus-text-style": "bold",
    }
    return {**variables, **{name: colour.hex6 for name, colour in found.items()}, **styles}


def _on(colour: str, ground: Color) -> Color:
    """Return an opaque colour that looks like this one on another one."""
    if colour.startswith("auto"):
        return ground.get_contrast_text(1.0)
    return ground + Color.parse(colour)


def _readable(ink: Color, grounds: Iterable[Color], least: float) -> Color:
    """Return the ink, blended towards black or white until it is legible on each of the grounds."""
    grounds = tuple(grounds)
    ends = sorted(
        (Color(0, 0, 0), Color(255, 255, 255)), key=lambda end: -min(contrast(end, each) for each in grounds)
    )
    for step in range(_STEPS + 1):
        candidate = ink.blend(ends[0], step / _STEPS)
        if min(contrast(candidate, each) for each in grounds) >= least:
            return candidate
    return ends[0]


def _cursor(background: Color, primary: Color, foreground: Color) -> Color:
    """Return the background of the cursor's row: as strong as possible while text is easy to read."""
    for share in _CURSOR:
        ground = background.blend(primary, share)
        if contrast(foreground, ground) >= 6.0 or share == _CURSOR[-1]:
            break
    return ground


@lru_cache(1024)
def _luminance(colour: Color) -> float:
    parts = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


DEFAULT_THEME = "ua-dark"
MISSING = {
    "code-literal": "ansi_magenta",
    "foreground-disabled": "ansi_bright_black",
    "foreground-machinery": "ansi_default",
    "surface-active": "ansi_default",
}
"""Variables that Textual's own 16-colour themes lack; `code-literal` is only for themes of 16 colours."""
_SCROLLBAR_BACKGROUNDS = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")


def _theme(
    *, accent: str, secondary: str, foreground: str, background: str, variables: dict[str, str], **others: Any
) -> Theme:
    """Make a theme; what has the colour of something else need not be given."""
    derived = {
        "code-literal": MISSING["code-literal"],
        "border": accent,
        "foreground-muted": secondary,
        "text-muted": secondary,
        "text-disabled": variables["foreground-disabled"],
        "block-cursor-blurred-foreground": foreground,
        "input-cursor-background": foreground,
        "input-cursor-foreground": background,
        "screen-selection-background": variables["input-selection-background"],
        "screen-selection-foreground": variables["input-selection-foreground"],
        "scrollbar": variables["border-blurred"],
        "scrollbar-active": accent,
        "footer-key-foreground": accent,
        **dict.fromkeys(_SCROLLBAR_BACKGROUNDS, background),
    }
    return Theme(
        primary=accent,
        accent=accent,
        secondary=secondary,
        foreground=foreground,
        background=background,
        variables=derived | variables,
        **others,
    )


THEMES = tuple(_theme(name=name, **facts) for name, facts in table_of(__file__, "themes.json").items())
"""Our themes: dark, light, and in the 16 colours of the terminal."""

_OF_TERMINALS = ("block-cursor-", "foreground-", "text-", "border-blurred", "input-", "screen-selection-")


ABOUT = {
    "dark": "ua-tui dark (default)",
    "light": "ua-tui light",
    "ansi": "ua-tui in the 16 colours of the terminal",
}
"""Our themes by their names in the settings, with a description."""


def theme_named(wanted: str | None, available: Iterable[str]) -> str:
    """Return the theme that a setting names, one of those `available`; the default for None.

    Raises:
        SettingsError: there is no theme of that name.
    """
    if wanted is None:
        return DEFAULT_THEME
    name = OWN_THEMES.get(wanted, wanted)
    if name not in available:
        close = difflib.get_close_matches(wanted, listed(available), n=1)
        hint = f"; did you mean {close[0]}?" if close else f". Available: {', '.join(listed(available))}."
        raise SettingsError(f"there is no theme {wanted!r}{hint}")
    return name


def setting_of(theme: str) -> str:
    """Return the name of a theme in the settings."""
    return next((name for name, own in OWN_THEMES.items() if own == theme), theme)


def listed(available: Iterable[str]) -> tuple[str, ...]:
    """Return the names of themes in the settings, ours first."""
    return (*OWN_THEMES, *sorted(set(available) - set(OWN_THEMES.values())))


def readable(theme: Theme, variables: dict[str, str]) -> dict[str, str]:
    """Return the variables of a theme; for a theme that is not ours, with illegible colours changed."""
    if theme.name in {own.name for own in THEMES}:
        return variables
    if theme.ansi:
        # The colours of a terminal are unknown: the cursor reverses them, and muted text is grey.
        ours = {name: value for name, value in THEMES[-1].variables.items() if name.startswith(_OF_TERMINALS)}
        return {**variables, **ours}

    return legible(variables)
