"""The names of the themes, available without the screen, so that every command can check the setting."""

from __future__ import annotations

OWN_THEMES = {"dark": "ua-dark", "light": "ua-light", "ansi": "ua-ansi"}
"""Our own themes, by the names of the setting, with their names in Textual."""

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
"""The themes of Textual."""
