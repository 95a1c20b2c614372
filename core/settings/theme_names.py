"""The names of the themes, available without the screen, so that every command can check the setting."""

from __future__ import annotations

from pathlib import Path

import msgspec

OWN_THEMES = {"dark": "ua-dark", "light": "ua-light", "ansi": "ua-ansi"}
"""Our own themes, by the names of the setting, with their names in Textual."""

OF_TEXTUAL: tuple[str, ...] = tuple(msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes()))
"""The themes of Textual."""
