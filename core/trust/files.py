"""Reads the files of a folder that a session would use besides its settings: sub-agents, commands and skills."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.trust.state import fingerprint

AGENTS = ".claude/agents"
COMMANDS = ".claude/commands"
SKILLS = ".claude/skills"

_MOST_BYTES = 64 << 20


def definition_fingerprints(folder: Path, *, skills: bool) -> dict[str, str]:
    """The fingerprint of each file of the folder's sub-agents and commands and, with `skills`, of its skills.

    Links to folders are not entered. Of files beyond the limits there is no fingerprint, so they are never used.
    """
    found: dict[str, str] = {}
    size = 0
    for path in _files(folder, skills=skills):
        data = read_regular(path, _MOST_BYTES - size)
        if data is None or len(found) >= 2_000:
            continue
        size += len(data)
        found[path.relative_to(folder).as_posix()] = fingerprint(data)
    return found


def read_regular(path: Path, most: int) -> bytes | None:
    """Read a regular file without blocking; None if it is none, cannot be read, or has more than `most` bytes."""
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            data = file.read(most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None


def files_below(folder: Path) -> Iterator[Path]:
    """The files below a folder, by name; hidden folders, links to folders and what is very deep are not entered.

    Raises:
        OSError: the folder itself cannot be read.
    """

    def fail(error: OSError) -> None:
        if error.filename == str(folder):
            raise error

    for at, folders, files in os.walk(folder, onerror=fail):
        depth = len(Path(at).relative_to(folder).parts)
        folders[:] = sorted(each for each in folders if not each.startswith(".")) if depth < 6 else []
        yield from (Path(at, name) for name in sorted(files))


def _files(folder: Path, *, skills: bool) -> Iterator[Path]:
    try:
        agents = [folder / AGENTS / name for name in sorted(os.listdir(folder / AGENTS))]
    except OSError:
        agents = []
    for path in (*agents, *_below(folder / COMMANDS)):
        if fnmatchcase(path.name, "*.md") and not path.name.startswith("."):
            yield path
    if skills:
        yield from _below(folder / SKILLS)


def _below(folder: Path) -> list[Path]:
    try:
        return list(files_below(folder))
    except OSError:
        return []
