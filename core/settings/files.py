"""Changes single settings in settings files; everything else in them, comments too, stays unchanged."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ua_tui.core.errors import SettingsError, WorkspaceError
from ua_tui.core.settings.places import USER_FILE, user_config_dir
from ua_tui.core.storage.files import Root

_LARGEST = 1 << 20


class SettingsFile:
    """A TOML file of settings at `path`, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> frozenset[str]:
        """The settings in the file, also each key of a table with the table's name; none if it cannot be read."""
        try:
            found = tomllib.loads(self._read())
        except (SettingsError, tomllib.TOMLDecodeError, RecursionError):
            return frozenset()
        tables = ((name, value) for name, value in found.items() if isinstance(value, dict))
        return frozenset(found).union(f"{name}.{key}" for name, table in tables for key in table)

    def store(self, changes: Mapping[str, Any]) -> Path:
        """Set settings, or remove those whose value is None; returns the file that was written.

        `composio.mode` is the key of a table. The file is written completely or not at all, readable by its owner only
        (0600), and only if it changes. If it is a link, its target is written.

        Raises:
            SettingsError: it cannot be read, is not valid TOML, or cannot be written; it is unchanged then.
        """
        before = self._read()
        after = changed(before, changes, self.path)
        try:
            # Settings files are often links into another folder.
            path = self.path.resolve()
            if after != before:
                Root(path.parent, create=True).write(path.name, after.encode())
        except (WorkspaceError, OSError, RuntimeError) as error:
            raise SettingsError(f"Nothing was stored in {self.path}: {error}") from error
        return path

    def _read(self) -> str:
        try:
            with self.path.open("rb") as file:
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise SettingsError(
                f"{self.path} cannot be read: {error.strerror}. Check its permissions."
            ) from error
        if len(data) > _LARGEST:
            raise SettingsError(
                f"{self.path} is larger than {_LARGEST >> 20} MiB: it is not a settings file."
            )
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SettingsError(f"{self.path} is not UTF-8 text: save it as UTF-8.") from error


class UserFile(SettingsFile):
    """The `config.toml` of the user, in `folder` or in the default folder."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__((folder or user_config_dir()) / USER_FILE)


def changed(text: str, changes: Mapping[str, Any], path: Path) -> str:
    """Return TOML with keys set, or removed if the value is None; errors name `path`.

    A name with a dot is a key of a table. A key that is set keeps its place and the comment after it.

    Raises:
        SettingsError: the text is not valid TOML, or a key cannot be set without changing anything else.
    """
    wanted = _loaded(text, path)
    changes = {name: value for name, value in changes.items() if _get(wanted, name) != value}
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
    if _loaded(after, path) != wanted:
        raise SettingsError(_by_hand(path, changes))
    return after


def _loaded(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}. Correct it, or move it away.") from error


def _get(table: Mapping[str, Any], name: str) -> Any:
    first, dot, rest = name.partition(".")
    inner = table.get(first)
    return (_get(inner, rest) if isinstance(inner, Mapping) else None) if dot else inner


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
