"""Stores a person's choice of theme in their settings file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ua_tui.core.errors import SettingsError

if TYPE_CHECKING:
    from ua_tui.core.settings.places import Places


def store_theme(name: str, places: Places | None = None) -> str:
    """Store a choice as `theme` in the user's `config.toml`, whose other lines stay as they are.

    Returns a message for the person, empty if there is none. A failure is returned in the same way, as the theme is
    shown already. `places` has that file, and what may win over it; by default those of the process count.
    """
    # Imported here because the first frame does not need it.
    from ua_tui.core.settings.loading import set_elsewhere
    from ua_tui.core.settings.places import Places
    from ua_tui.core.settings.saving import store_settings

    places = places or Places()
    try:
        path = store_settings(places.user_file, {"theme": name})
        where = set_elsewhere(["theme"], places).get("theme")
    except SettingsError as error:
        return f"The theme applies only to this session: {error}"
    if where is None:
        return ""
    return f"Saved in {path}, but {where.origin} overrides it at the next start."
