"""The themes of the application: one accent for focus and news; green, amber and red only for states."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from textual.theme import Theme

from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.parsers import OWN_THEMES

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


THEMES = tuple(
    _theme(name=name, **facts)
    for name, facts in json.loads(Path(__file__).with_suffix(".json").read_bytes()).items()
)
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
        raise SettingsError(f"There is no theme {wanted!r}{hint}")
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
    from ua_tui.tui.theme.contrast import legible

    return legible(variables)
