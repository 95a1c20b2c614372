"""Stores the theme that a person chose in their settings file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.errors import SettingsError

__all__ = ["ThemeStore"]


class ThemeStore:
    """Stores a choice as `theme` in the user's `config.toml`, whose other lines stay as they are.

    Args:
        folder: the folder of that file; by default that of the user's settings.
        environ, cwd: where another setting may win over that file, as for `load_settings`.
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

    def save(self, name: str) -> str:
        """Store the name of a theme; returns a message for the person, empty if there is none.

        A failure is returned in the same way, as the theme is shown already.
        """
        # Imported here because the first frame does not need it.
        from core.settings.files import UserFile
        from core.settings.model import set_elsewhere

        try:
            path = UserFile(self._folder).store({"theme": name})
            where = set_elsewhere(["theme"], environ=self._environ, cwd=self._cwd).get("theme")
        except SettingsError as error:
            return f"The theme applies only to this session: {error}"
        if where is None:
            return ""
        return f"Saved in {path}, but {where.origin} wins at the next start."
