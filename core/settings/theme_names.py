"""The names of the themes, known without the screen, so that every command can say that a setting is wrong."""

from __future__ import annotations

__all__ = ["OF_TEXTUAL", "OWN_THEMES"]

OWN_THEMES = {"dark": "ua-dark", "light": "ua-light", "ansi": "ua-ansi"}
"""Our own, by the names a person gives them, and what each is called on the screen."""

OF_TEXTUAL = (
    "ansi-dark",
    "ansi-light",
    "atom-one-dark",
    "atom-one-light",
    "catppuccin-frappe",
    "catppuccin-latte",
    "catppuccin-macchiato",
    "catppuccin-mocha",
    "dracula",
    "flexoki",
    "gruvbox",
    "monokai",
    "nord",
    "rose-pine",
    "rose-pine-dawn",
    "rose-pine-moon",
    "solarized-dark",
    "solarized-light",
    "textual-dark",
    "textual-light",
    "tokyo-night",
)
"""Those that Textual brings."""
