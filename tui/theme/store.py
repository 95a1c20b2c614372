"""Keeps the theme that a person chose, in the settings file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.errors import SettingsError

__all__ = ["ThemeStore"]


class ThemeStore:
    """Stores a choice as `theme` in the user's `config.toml`, whose other lines stay as they are.

    Args:
        folder: of that file; the one where settings are looked for by default.
        environ, cwd: say where a setting would win over that file, as for `load_settings`.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._cwd = cwd

    def keep(self, name: str) -> str:
        """Store the name of a theme; returns what a person has to know about it, empty when there is nothing.

        What went wrong is told the same way: the theme is on the screen already.
        """
        # Only for somebody who chooses: the first frame does without it.
        from core.settings.files import UserFile
        from core.settings.model import set_elsewhere

        try:
            path = UserFile(self._folder).store({"theme": name})
            where = set_elsewhere(["theme"], environ=self._environ, cwd=self._cwd).get("theme")
        except SettingsError as error:
            return f"The theme holds until you leave: {error}"
        if where is None:
            return ""
        return f"Stored in {path}, but the next start takes the theme of another place: {where.origin} wins."
