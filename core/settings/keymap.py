"""Reads the table `[keys]` of a settings file; the screen decides what the keys mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ua_tui.core.settings.sources import flat


class KeyChoice(NamedTuple):
    """The keys that a file sets for an action; `in_folder` is whether it is a file of the current folder.

    `keys` is the value in the file, of any type, as no error in this table may keep the program from starting.
    """

    action: str
    keys: Any
    origin: str
    in_folder: bool = False


def key_choices(table: Any, origin: str, in_folder: bool) -> tuple[KeyChoice, ...]:
    """Return the keys that a file sets; a value other than a table becomes a choice without an action."""
    if not isinstance(table, Mapping):
        return (KeyChoice("", table, origin, in_folder),)
    return tuple(KeyChoice(action, keys, origin, in_folder) for action, keys in flat(table))
