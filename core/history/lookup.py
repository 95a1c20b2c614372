"""Finds the sessions below a folder, and the one that a person names."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from ua_tui.core.errors import SettingsError
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.text import clean_line

LATEST = "latest"
_NAME = re.compile(r"session_(\d{8}_\d{6})(?:-(\d+))?")


def session_names(base: Path) -> list[str]:
    """The names of the sessions below `base`, newest first; links do not count."""
    try:
        return named_entries(base)
    except OSError:
        return []


def named_entries(base: Path, *, links: bool = False) -> list[str]:
    """The names of the sessions below `base`, newest first; with `links` also those of links.

    Raises:
        OSError: the folder that holds them cannot be read.
    """
    try:
        with os.scandir(base / WORKSPACES) as found:
            names = [
                each.name
                for each in found
                if _NAME.fullmatch(each.name)
                and (each.is_dir(follow_symlinks=False) or (links and each.is_symlink()))
            ]
    except FileNotFoundError:
        return []
    return sorted(names, key=_order, reverse=True)


def find_session(base: Path, wanted: str) -> Path:
    """The folder of a session: `wanted` is a folder, the name of a session below `base`, or `latest`.

    The latest is the one that was used last, which is not always the one that began last: what a rewind undoes is
    kept as a session that begins then.

    Raises:
        SettingsError: there is no such session.
    """
    sessions = base / WORKSPACES
    shown, place = clean_line(wanted, 300), clean_line(str(sessions), 300)
    if wanted == LATEST:
        newest = max(session_names(base), key=lambda name: _written_at(sessions / name), default=None)
        if newest is None or not _written_at(sessions / newest):
            raise SettingsError(
                f"there is no session in {place}: give a session's folder, or --workspace DIR"
            )
        return sessions / newest
    candidates = [Path(wanted)] if wanted else []
    if wanted not in {"", ".", ".."} and os.sep not in wanted:
        candidates = [sessions / wanted, sessions / f"session_{wanted}", *candidates]
    try:
        for folder in candidates:
            if folder.is_dir():
                if not os.path.lexists(folder / JOURNAL):
                    raise SettingsError(
                        f"the session in {clean_line(str(folder), 700)} cannot be opened: it has no journal "
                        f"({JOURNAL}); `ua-tui sessions` lists those that can"
                    )
                return folder
        if wanted and os.path.lexists(wanted):
            raise SettingsError(f"{shown} is not a folder: give a session's folder")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(f"{shown} cannot be opened: {reason}") from error
    raise SettingsError(f"there is no session {shown!r}: neither a folder here nor a session in {place}")


def _written_at(folder: Path) -> int:
    """When the journal of a session was last written, in ns; 0 if there is none, or if it is no regular file."""
    try:
        found = os.lstat(folder / JOURNAL)
    except OSError:
        return 0
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else 0


def _order(name: str) -> tuple[str, int]:
    found = _NAME.fullmatch(name)
    assert found is not None
    return found[1], int(found[2] or 1)
