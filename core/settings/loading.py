"""Loads the settings of a session: every place is read, each value checked, and the first place that has one wins."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.folder import SENT_TO_SERVER
from ua_tui.core.settings.model import ENVIRONMENT, SPECS, Settings
from ua_tui.core.settings.places import Places
from ua_tui.core.settings.sources import Layer, Place, SourcedValue, key_choices, winner, without_secrets
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES
from ua_tui.core.text import clean_line


def load_settings(
    overrides: Mapping[str, Any] | None = None, places: Places | None = None, *, by_name: bool = False
) -> Settings:
    """Read the settings from every place and check each value that is found.

    Args:
        overrides: settings by name, as the command line gave them; None means not given.
        places: where settings are; those of the process by default.
        by_name: whether a program gave the overrides, so that errors name the setting instead of the option.

    Raises:
        SettingsError: a file cannot be read, or a name or value in one of the places is wrong.
    """
    places = places or Places()
    sources = places.read(overrides, by_name=by_name)
    layers = sources.layers
    found: dict[str, Any] = {name: places.default(name) for name in ("workspace_base", "claude_config_dir")}
    set_in: dict[str, Place] = {}
    rule_places: dict[tuple[str, str], Place] = {}
    for layer in reversed(layers):
        for name, given in layer.items():
            set_in[name] = given.place
            if name == "keys":
                choices = key_choices(given.value, f"keys in {given.path}", given.in_folder)
                found["keys"] = (*found.get("keys", ()), *choices)
            elif name == "mcp_servers":
                found[name] = (given, *found.get(name, ()))
            elif SPECS[name].adds_up:
                texts = places.checked(name, given)
                rule_places |= {(name, text): given.place for text in texts}
                found[name] = tuple(dict.fromkeys((*texts, *found.get(name, ()))))
            else:
                found[name] = places.checked(name, given)
    _refuse_redirected_secrets(layers)
    _refuse_links(found["workspace_base"], winner(layers, "workspace_base"))
    settings = Settings(
        **found,
        folder=sources.trust,
        options=dict(overrides or {}),
        places=set_in,
        rule_places=rule_places,
    )
    if settings.permission_mode == "bypassPermissions" and not settings.dangerously_skip_permissions:
        raise SettingsError(
            "permission_mode is bypassPermissions, which runs every tool without asking: "
            "use default, acceptEdits or plan, or give --dangerously-skip-permissions."
        )
    return settings


def reload_folder(settings: Settings) -> Settings:
    """Read the settings of the current folder again after an answer about it; all other settings stay as they are.

    Raises:
        SettingsError: as for `load_settings`.
    """
    places = Places()
    before = load_settings(settings.options, msgspec.structs.replace(places, trust="ignored"))
    after = load_settings(settings.options, places)
    changed = {name: getattr(after, name) for name in SPECS if getattr(after, name) != getattr(before, name)}
    return replace(settings, **changed, folder=after.folder, places=after.places)


def set_elsewhere(names: Iterable[str], places: Places) -> dict[str, SourcedValue]:
    """Return where settings are set in a place that wins over the user's own file, without the command line.

    Raises:
        SettingsError: a file cannot be read, or a name in one of the places is wrong.
    """
    layers = places.read().layers
    return {name: where for name in names if (where := winner(layers[:-1], name)) is not None}


# Only the user may name servers of tools, as some of their tools run without asking.


def _refuse_links(base: Path, given: SourcedValue | None) -> None:
    """Refuse to store sessions and reports where a link of a folder leads, unless the user named the folder."""
    if given is not None and not given.in_folder:
        return
    for name in (WORKSPACES, SAVED_REPORTS):
        if (base / name).is_symlink():
            folder = clean_line(str(base), 300)
            raise SettingsError(
                f"{name} in {folder} is a link, which the author of the folder may have put there: remove it, or "
                f"confirm the folder with --workspace {shlex.quote(folder)}."
            )


def _refuse_redirected_secrets(layers: Sequence[Layer]) -> None:
    """Refuse a folder's server with a key of the user; a folder may only name a server for its own key."""
    where = winner(layers, "base_url")
    if where is None or not where.in_folder or not where.value:
        return
    for key in SENT_TO_SERVER:
        secret = winner(layers, key)
        if secret is not None and secret.value and not secret.in_folder:
            raise SettingsError(
                f"{where.origin} would send the secret of {secret.origin.removeprefix('The ')} "
                f"to {without_secrets(str(where.value))}. If that is intended, set {ENVIRONMENT['base_url'][0]} "
                "in the environment, or set the key in the same file."
            )
