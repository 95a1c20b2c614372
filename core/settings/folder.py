"""The settings in the files of the current folder: which take effect, and which are held back and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.layers import from_dotenv, from_toml
from ua_tui.core.settings.model import SPECS
from ua_tui.core.settings.sources import Layer, SourcedValue
from ua_tui.core.trust import FolderTrust

DOTENV = ".env"
PROJECT_FILE = "ua-tui.toml"

SENT_TO_SERVER = ("api_key", "auth_token", "custom_headers")
"""The settings that are sent to the server of the model."""
_WITHOUT_DATA = "you trusted this folder, except for what decides where your data goes"


class HeldBack(msgspec.Struct, frozen=True):
    """A setting in a file of the folder that has no effect, and why, as a clause."""

    name: str
    given: SourcedValue
    reason: str


class FolderSettings(msgspec.Struct, frozen=True):
    """What the files of a folder set, as it is written.

    Attributes:
        layers: the settings of each file that can be read; the first file wins.
        problems: what is wrong with the other files.
        fingerprints: of what each file sets, apart from the look and from servers, which are trusted one by one.
    """

    layers: Mapping[str, Layer]
    problems: Mapping[str, SettingsError]
    fingerprints: Mapping[str, str]


def read_folder_settings(folder: Path) -> FolderSettings:
    """Read the `.env` and the `ua-tui.toml` of a folder, each once."""
    layers: dict[str, Layer] = {}
    problems: dict[str, SettingsError] = {}
    fingerprints: dict[str, str] = {}
    readers: Mapping[str, Callable[[Path], Layer]] = {
        DOTENV: from_dotenv,
        PROJECT_FILE: partial(from_toml, in_folder=True),
    }
    for file, read in readers.items():
        try:
            layers[file] = read(folder / file)
        except SettingsError as error:
            problems[file] = error
            fingerprints[file] = f"unreadable: {error}"
            continue
        if content := [
            [name, each.name, each.value]
            for name, each in sorted(layers[file].items())
            if SPECS[name].affects != "look" and name != "mcp_servers"
        ]:
            # Not needed in a folder without settings.
            import json

            from ua_tui.core.trust import fingerprint

            fingerprints[file] = fingerprint(json.dumps(content, default=str).encode(errors="surrogatepass"))
    return FolderSettings(layers, problems, fingerprints)


def apply_trust(
    written: FolderSettings,
    trust: FolderTrust,
    user: Layer,
    value_of: Callable[[str, SourcedValue | None], Any],
) -> tuple[list[Layer], list[HeldBack]]:
    """Return the settings of a folder that count, one layer for each file, and those that are held back.

    Of a folder that is not trusted only the look does. The `user`'s own file wins about data and tools, and a limit or
    a permission mode counts only if it is stricter. `value_of` reads a value, or returns the default of a setting.

    Raises:
        SettingsError: the folder is trusted, and a file cannot be read or has a wrong value.
    """
    if trust.is_trusted and written.problems:
        raise next(iter(written.problems.values()))
    layers: list[Layer] = []
    held_back: list[HeldBack] = []
    for layer in written.layers.values():
        counts: Layer = {}
        for name, given in layer.items():
            reason = _reason(name, given, trust, user, value_of)
            if reason:
                held_back.append(HeldBack(name, given, reason))
            else:
                counts[name] = given
        layers.append(counts)
    if any(each.name in SENT_TO_SERVER for each in held_back):
        # The folder's server of the model is not meant to get another key than the folder's.
        for layer in layers:
            if (address := layer.pop("base_url", None)) is not None:
                reason = "the folder's key for it is held back"
                held_back.append(HeldBack("base_url", address, reason))
    return layers, held_back


def _reason(
    name: str,
    given: SourcedValue,
    trust: FolderTrust,
    user: Layer,
    value_of: Callable[[str, SourcedValue | None], Any],
) -> str:
    """Why a setting of the folder is held back; empty if it counts."""
    spec = SPECS[name]
    if name == "mcp_servers":
        # Each server is trusted by itself.
        return ""
    if not trust.is_trusted:
        if spec.affects != "look":
            return trust.why_not
        try:
            _ = None if name == "keys" else value_of(name, given)
        except SettingsError as error:
            return f"it is invalid: {error}"
        return ""
    if trust.state == "partly" and spec.affects == "data":
        return _WITHOUT_DATA
    if spec.stricter is not None:
        value, own = value_of(name, given), value_of(name, user.get(name))
        if value != own and spec.stricter(value, own) != value:
            whose = "yours" if name in user else "the default"
            return f"a folder may only set a stricter value than {whose}"
        return ""
    if name in user and spec.affects in ("data", "tools") and not spec.user_only:
        return f"your own {user[name].file} sets it"
    return ""
