"""Stores the theme that a person chose in their settings file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ua_tui.core.errors import SettingsError


def store_theme(
    name: str,
    folder: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Store a choice as `theme` in the user's `config.toml`, whose other lines stay as they are.

    Returns a message for the person, empty if there is none. A failure is returned in the same way, as the theme is
    shown already.

    Args:
        name: the name of the theme.
        folder: the folder of that file; by default that of the user's settings.
        environ: variables that may win over that file; by default those of the process.
        cwd: the folder whose settings may win over it.
    """
    # Imported here because the first frame does not need it.
    from ua_tui.core.settings.loading import set_elsewhere
    from ua_tui.core.settings.places import Places, user_file
    from ua_tui.core.settings.saving import store_settings

    try:
        path = store_settings(user_file(folder), {"theme": name})
        where = set_elsewhere(["theme"], Places.of(environ=environ, cwd=cwd)).get("theme")
    except SettingsError as error:
        return f"The theme applies only to this session: {error}"
    if where is None:
        return ""
    return f"Saved in {path}, but {where.origin} wins at the next start."
