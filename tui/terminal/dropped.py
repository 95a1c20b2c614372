"""Files and folders that were dropped on the terminal: it pastes their paths, quoted in one of several ways."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

_BEGINNINGS = ("/", "~/", "'/", '"/', "'~/", '"~/', "file://", "'file://", '"file://')


def may_be_dropped(text: str) -> bool:
    """Whether a paste begins as the path of a file; quick."""
    return len(text) <= 8_000 and text.lstrip().startswith(_BEGINNINGS)


def dropped_files(text: str) -> list[Path]:
    """The files and folders whose paths are all of a paste, one per line or separated by spaces; else none.

    A path is absolute, plain, quoted or escaped as in a shell, or a `file:` address. Call it in a thread.
    """
    files: list[Path] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        # Some terminals do not quote a path with spaces.
        whole = _file(line)
        found = [whole] if whole is not None else [_file(each) for each in _words(line)]
        files += [each for each in found if each is not None]
        if not found or None in found or len(files) > 20:
            return []
    return list(dict.fromkeys(files))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


def _file(text: str) -> Path | None:
    try:
        if text.startswith("file://"):
            address = urlsplit(text)
            if address.netloc not in ("", "localhost"):
                return None
            text = unquote(address.path)
        path = os.path.expanduser(text) if text.startswith("~/") else text
        # The root directory is the beginning of a command.
        is_there = os.path.isfile(path) or (os.path.isdir(path) and path.strip("/"))
        return Path(path) if os.path.isabs(path) and is_there else None
    except (OSError, ValueError):
        return None
