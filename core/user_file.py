"""The user's own settings file, changed setting by setting: whatever else stands in it stays as it is.

There is no writer for TOML here that keeps comments. A setting is a key at the top of the file, and where it stands
and ends is found by taking lines out until what is left reads as the same file without it; so nothing else can be
taken with it, however it is written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import SettingsError, WorkspaceError
from core.files import Root
from core.settings import USER_FILE, user_config_dir

__all__ = ["UserFile", "changed"]

_LARGEST = 1 << 20


class UserFile:
    """The `config.toml` of the user, in `folder` or where settings are looked for by default."""

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder or user_config_dir()) / USER_FILE

    def names(self) -> frozenset[str]:
        """The settings the file has; none when it cannot be read."""
        try:
            return frozenset(tomllib.loads(self._read()))
        except (SettingsError, tomllib.TOMLDecodeError, RecursionError):
            return frozenset()

    def store(self, changes: Mapping[str, str | None]) -> Path:
        """Set settings, or take them out where the value is None; returns the file that was written.

        The file is written whole or not at all, for its owner alone (0600). One that would stay as it is is not
        written; where it is a link, the file it leads to is.

        Raises:
            SettingsError: it cannot be read, is no valid TOML, or cannot be written; it is as it was then.
        """
        before = self._read()
        after = changed(before, changes, self.path)
        try:
            # Files of settings are often links into a folder that is kept elsewhere.
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
                f"{self.path} is larger than {_LARGEST >> 20} MiB: it is no file of settings."
            )
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SettingsError(f"{self.path} is not UTF-8 text: save it as UTF-8.") from error


def changed(text: str, changes: Mapping[str, str | None], path: Path) -> str:
    """Return TOML with keys at its top set, or taken out where the value is None; `path` is named in errors.

    A key that is set keeps its place and a comment behind it; one that is new comes last.

    Raises:
        SettingsError: the text is no valid TOML, or a key stands in it where it cannot be told apart.
    """
    for name, value in changes.items():
        table = _loaded(text, path)
        if table.get(name) == value:
            continue
        end = "\r\n" if "\r\n" in text else "\n"
        if text and not text.endswith("\n"):
            text += end
        lines = text.split("\n")
        line = None if value is None else f"{name} = {_quoted(value)}"
        if name in table:
            first, last = _place(lines, name, table, path)
            comment = _comment(lines[first].rstrip("\r"), name, table) if first == last else ""
            new = [] if line is None else [line + comment + ("\r" if lines[last].endswith("\r") else "")]
            lines[first : last + 1] = new
            text = "\n".join(lines)
        elif line is not None:
            text = f"{text}{line}{end}"
        wanted = {key: each for key, each in table.items() if key != name} | (
            {} if value is None else {name: value}
        )
        if _loaded(text, path) != wanted:
            raise SettingsError(f"{path} cannot be changed by itself: set {name} in it with an editor.")
    return text


def _loaded(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}. Correct it, or move it away.") from error


def _place(lines: list[str], name: str, table: dict[str, Any], path: Path) -> tuple[int, int]:
    """The first and the last line of a key."""
    begins = re.compile(rf"""\s*(?:{re.escape(name)}|"{re.escape(name)}"|'{re.escape(name)}')\s*=""")
    without = {key: value for key, value in table.items() if key != name}
    for first in (at for at, line in enumerate(lines) if begins.match(line)):
        for last in range(first, len(lines)):
            try:
                if tomllib.loads("\n".join([*lines[:first], *lines[last + 1 :]])) == without:
                    return first, last
            except tomllib.TOMLDecodeError:
                continue
    raise SettingsError(f"{path} cannot be changed by itself: set {name} in it with an editor.")


def _comment(line: str, name: str, table: dict[str, Any]) -> str:
    """The comment behind a key, with the blanks before it."""
    for mark in (at for at, character in enumerate(line) if character == "#"):
        try:
            if tomllib.loads(line[:mark]) == {name: table[name]}:
                return line[len(line[:mark].rstrip()) :]
        except tomllib.TOMLDecodeError:
            continue
    return ""


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
