"""The table `[keys]` of a settings file, as it was written: what the keys mean is for the screen to say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["KeyChoice", "key_choices"]


class KeyChoice(NamedTuple):
    """Keys that a file gives to an action; `in_folder` when it is a file of the current folder.

    `keys` is what the file says, of whatever type, as nothing in this table may keep the program from starting.
    """

    action: str
    keys: Any
    origin: str
    in_folder: bool = False


def key_choices(table: Any, origin: str, in_folder: bool) -> tuple[KeyChoice, ...]:
    """Return what a file says of keys; something else than a table is kept as a choice without an action."""
    if not isinstance(table, Mapping):
        return (KeyChoice("", table, origin, in_folder),)
    return tuple(KeyChoice(action, keys, origin, in_folder) for action, keys in _flat(table))


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Walk the table; `pane.maximise` without quotes is a table in a table."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from ((f"{name}.{each}", keys) for each, keys in value.items())
        else:
            yield name, value
