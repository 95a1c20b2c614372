"""The themes of the application: one accent for focus and news; green, amber and red only for states."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from textual.theme import Theme

from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.theme_names import OWN_THEMES

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


DARK = _theme(
    name="ua-dark",
    secondary="#8b93a7",
    accent="#7aa7f7",
    success="#7fbf8a",
    warning="#e0b15e",
    error="#ee7b7b",
    foreground="#d8dce4",
    background="#111318",
    surface="#171a21",
    panel="#1e222b",
    dark=True,
    variables={
        "border-blurred": "#353b49",
        "foreground-disabled": "#626a7d",
        "text-on-rows": "#a3abbd",
        "foreground-machinery": "#b4bac7",
        "block-cursor-foreground": "#f2f4f8",
        "block-cursor-background": "#2b3a57",
        "block-cursor-text-style": "none",
        "button-focus-text-style": "bold",
        "block-cursor-blurred-background": "#20242e",
        "block-hover-background": "#1b1f28",
        "input-selection-background": "#33476b",
        "input-selection-foreground": "#f2f4f8",
        "scrollbar-hover": "#4a5266",
        "scrollbar-corner-color": "#111318",
    },
)

LIGHT = _theme(
    name="ua-light",
    secondary="#5c6475",
    accent="#2a5fc4",
    success="#1d753a",
    warning="#8f5b00",
    error="#c02b33",
    foreground="#23272f",
    background="#fbfbfa",
    surface="#f4f4f2",
    panel="#ebebe8",
    dark=False,
    variables={
        "border-blurred": "#cfd1d4",
        "foreground-disabled": "#7d8493",
        "text-on-rows": "#5c6475",
        "foreground-machinery": "#454c59",
        "block-cursor-foreground": "#11141a",
        "block-cursor-background": "#dbe6fa",
        "block-cursor-text-style": "none",
        "button-focus-text-style": "bold",
        "block-cursor-blurred-background": "#ececea",
        "block-hover-background": "#f0f0ee",
        "input-selection-background": "#c4d6f6",
        "input-selection-foreground": "#11141a",
        "scrollbar-hover": "#b3b7be",
        "scrollbar-corner-color": "#fbfbfa",
    },
)

ANSI = _theme(
    name="ua-ansi",
    ansi=True,
    secondary="ansi_bright_black",
    accent="ansi_bright_blue",
    success="ansi_green",
    warning="ansi_yellow",
    error="ansi_red",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        "border-blurred": "ansi_bright_black",
        "foreground-disabled": "ansi_bright_black",
        "text-on-rows": "ansi_bright_black",
        "foreground-machinery": "ansi_default",
        "block-cursor-foreground": "ansi_default",
        "block-cursor-background": "ansi_default",
        "block-cursor-text-style": "bold reverse",
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "block-cursor-blurred-background": "ansi_default",
        "block-cursor-blurred-text-style": "bold",
        "input-cursor-text-style": "reverse",
        "input-selection-background": "ansi_blue",
        "input-selection-foreground": "ansi_bright_white",
        "scrollbar-hover": "ansi_bright_black",
    },
)

THEMES = (DARK, LIGHT, ANSI)

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
        ours = {name: value for name, value in ANSI.variables.items() if name.startswith(_OF_TERMINALS)}
        return {**variables, **ours}
    from ua_tui.tui.theme.contrast import legible

    return legible(variables)
