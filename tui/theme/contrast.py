"""Makes any theme legible: every text colour has enough contrast to every background it is used on.

Themes are designed for Textual's widgets. Here a row has names, numbers and states in several colours, and the cursor
moves over it, so its background must be subtle and every text colour legible on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from textual.color import Color

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
    return dict(_legible(tuple(sorted(variables.items()))))


@lru_cache(64)
def _legible(items: tuple[tuple[str, str], ...]) -> dict[str, str]:
    variables = dict(items)
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
