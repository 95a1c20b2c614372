"""Reads Markdown files with YAML front matter: of limited size, and regular files only."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ua_tui.core.errors import SettingsError
from ua_tui.core.storage.regular_file import NotRegular, open_regular
from ua_tui.core.text import clean_line

LARGEST = 128 << 10
"""The maximum size of such a file, in bytes."""

_LARGEST_HEAD = 32 << 10
_LINE = "\n---\n"


def read_markdown(
    path: Path, *, inside: Path | None = None, check: Callable[[Path, bytes], None] | None = None
) -> str:
    """Read a file.

    With `inside`, a link that leads out of that folder is refused. `check` is called with what was read, and may refuse
    it by raising SettingsError.

    Raises:
        SettingsError: it is not a regular file, is too large, is not text, or cannot be read; the message names it.
    """
    origin = clean_line(str(path), 500)
    try:
        if inside is not None and not is_below(path, inside):
            raise SettingsError(f"{origin} is a link that leads out of its folder: put the file itself there")
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            data = file.read(LARGEST + 1)
    except NotRegular as error:
        if stat.S_ISDIR(error.mode):
            raise SettingsError(
                f"{origin} is a folder, but a file is expected: rename it or move it away"
            ) from error
        raise SettingsError(f"{origin} is not a regular file: replace it with one") from error
    except OSError as error:
        raise SettingsError(f"{origin} cannot be read: {error.strerror}. Check its permissions") from error
    if len(data) > LARGEST:
        raise SettingsError(f"{origin} is larger than {LARGEST >> 10} KiB: shorten it")
    if check is not None:
        check(path, data)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{origin} is not UTF-8 text: store it as UTF-8") from error


def is_below(path: Path, folder: Path) -> bool:
    """Whether a path, with its links followed, lies in a folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


def split_front_matter(text: str, *, origin: str, what: str) -> tuple[dict[str, Any], str]:
    """Split a file into the fields of its front matter and its body; `what` is what the file should hold.

    Raises:
        SettingsError: there is no front matter, or it is not a mapping in YAML; the message names `origin`.
    """
    head, separator, body = (text + "\n").removeprefix("---\n").partition(_LINE)
    if not text.startswith("---\n") or not separator:
        raise SettingsError(f"{origin}: {what} starts with front matter between two lines of ---")
    if len(head) > _LARGEST_HEAD:
        raise SettingsError(
            f"{origin}: the front matter is larger than {_LARGEST_HEAD >> 10} KiB: shorten it"
        )
    import yaml

    try:
        # A few lines of nested aliases expand to more than the memory holds.
        if "*" in head and any(
            isinstance(event, yaml.AliasEvent) for event in yaml.parse(head, yaml.SafeLoader)
        ):
            raise SettingsError(
                f"{origin}: the front matter has a * before a name, which stands for another text in YAML: "
                "write that text out, or put quotes around it"
            )
        fields = yaml.safe_load(head)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # The first line of the file is the one before the front matter.
        where = f" in line {mark.line + 2}" if mark is not None else ""
        why = clean_line(error.problem or error.context or "it cannot be read", 200)
        raise SettingsError(
            f"{origin}: the front matter is not YAML{where}: {why}; a text with a colon needs quotes around it"
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError(
            f"{origin}: the front matter is not YAML: {clean_line(str(error), 200)}"
        ) from error
    if not isinstance(fields, dict):
        raise SettingsError(f"{origin}: the front matter has no fields: write name: and description: into it")
    return fields, body


def required_text(fields: Mapping[Any, Any], name: str, longest: int, *, origin: str) -> str:
    """Return a required text, in one line.

    Raises:
        SettingsError: it is missing, empty or too long; the message names `origin`, and what may have been meant.
    """
    value = fields.get(name)
    if value is None:
        close = difflib.get_close_matches(name, _others(fields), n=1)
        hint = f": did you mean it by {close[0]}?" if close else f": write {name}: and a text"
        raise SettingsError(f"{origin}: the front matter has no {name}{hint}")
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{origin}: {name} is not a text: put quotes around it")
    if len(value) > longest:
        raise SettingsError(f"{origin}: {name} has more than {longest:,} characters: shorten it")
    return clean_line(value, longest)


def _others(fields: Iterable[Any]) -> list[str]:
    return [clean_line(each, 60) for each in fields if isinstance(each, str)]
