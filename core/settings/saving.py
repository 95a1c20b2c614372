"""Changes single settings in settings files; everything else in them, comments too, stays unchanged."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ua_tui.core.errors import SettingsError, WorkspaceError
from ua_tui.core.json_values import value_in
from ua_tui.core.settings.sources import flat, load_toml, read_toml_text
from ua_tui.core.storage.files import Root


def stored_names(path: Path) -> frozenset[str]:
    """The settings in a TOML file, as they are written there; none if it cannot be read."""
    try:
        return frozenset(name for name, _ in flat(load_toml(read_toml_text(path) or "", path)))
    except SettingsError:
        return frozenset()


def store_settings(path: Path, changes: Mapping[str, Any]) -> Path:
    """Set settings in a TOML file, or remove those whose value is None; returns the file that was written.

    `composio.mode` is the key of a table. The file is written completely or not at all, readable by its owner only
    (0600), and only if it changes; it is removed when nothing is left in it. If it is a link, its target is written.

    Raises:
        SettingsError: it cannot be read, is not valid TOML, or cannot be written; it is unchanged then.
    """
    before = read_toml_text(path) or ""
    after = changed(before, changes, path)
    try:
        # Settings files are often links into another folder.
        written = path.resolve()
        if before.strip() and not after.strip() and not path.is_symlink():
            # Without a setting or a comment a file says nothing.
            Root(written.parent).remove(written.name)
        elif after != before:
            Root(written.parent, create=True).write(written.name, after.encode())
    except (WorkspaceError, OSError, RuntimeError) as error:
        raise SettingsError(f"nothing was stored in {path}: {error}") from error
    return written


def changed(text: str, changes: Mapping[str, Any], path: Path) -> str:
    """Return TOML with keys set, or removed if the value is None; errors name `path`.

    A name with a dot is a key of a table. A key that is set keeps its place and the comment after it.

    Raises:
        SettingsError: the text is not valid TOML, or a key cannot be set without changing anything else.
    """
    wanted = load_toml(text, path)
    changes = {name: value for name, value in changes.items() if value_in(wanted, *name.split(".")) != value}
    if not changes:
        return text
    windows = "\r\n" in text
    # Slow to import, and only needed to change a file.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        for name, value in changes.items():
            if "." not in name and value is not None and name not in wanted:
                text = _with_line(text, f"{name} = {tomlkit.item(value).as_string()}")
        document = tomlkit.parse(text)
        for name, value in changes.items():
            _put(document, name, value, tomlkit.table)
            _put(wanted, name, value, dict)
        after = tomlkit.dumps(document)
    except (TOMLKitError, RecursionError) as error:
        raise SettingsError(_by_hand(path, changes)) from error
    if windows:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    if load_toml(after, path) != wanted:
        raise SettingsError(_by_hand(path, changes))
    return after


def _put(table: Any, name: str, value: Any, new_table: Any) -> None:
    first, dot, rest = name.partition(".")
    if dot:
        if first not in table:
            if value is None:
                return
            table[first] = new_table()
        _put(table[first], rest, value, new_table)
    elif value is None:
        table.pop(first, None)
    else:
        table[first] = value


def _with_line(text: str, line: str) -> str:
    """Insert a line after the top-level keys, before the first table and the comments above it."""
    lines = text.splitlines()
    headers = (at for at, each in enumerate(lines) if each.lstrip().startswith("["))
    at = next((at for at in headers if _is_toml("\n".join(lines[:at]))), len(lines))
    if at < len(lines):
        while at and lines[at - 1].lstrip().startswith("#"):
            at -= 1
        while at and not lines[at - 1].strip():
            at -= 1
    return "\n".join([*lines[:at], line, *lines[at:], ""])


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _by_hand(path: Path, changes: Mapping[str, Any]) -> str:
    return f"{path} cannot be changed automatically: set {', '.join(changes)} in it with an editor."
