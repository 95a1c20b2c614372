"""What is in a folder, read in one pass and capped; it runs in a thread and never follows a link."""

from __future__ import annotations

import heapq
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Entry", "Listing", "Request", "list_folder", "list_folders"]

_TEMPORARY = ".ua-tmp"
_SETTLED_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a folder. `changed_ns` is when its inode last changed, which no program can set back."""

    name: str
    is_folder: bool
    is_link: bool = False
    size: int = 0
    changed_ns: int = 0

    @property
    def key(self) -> tuple[bool, str, str]:
        """What entries are ordered by: folders first, then names without regard to case."""
        return (not self.is_folder, self.name.casefold(), self.name)


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder's entries in order, how many more there are, and why it could not be read if it could not.

    `stamp` is the folder's own time of change; 0 when that was too recent to tell a later change by it.
    """

    path: str
    entries: tuple[Entry, ...] = ()
    more: int = 0
    missing: bool = False
    error: str | None = None
    stamp: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """A folder to list, how many entries to list at most, and the stamp with which there is no need to."""

    path: str
    limit: int
    unless: int = 0


def list_folder(path: str, limit: int, *, hidden: bool = False) -> Listing:
    """List a folder: at most `limit` entries; temporary files, and hidden ones unless asked for, are left out."""
    stamp = _stamp(path)
    try:
        with os.scandir(path) as found:
            named = [(not entry.is_dir(follow_symlinks=False), entry.name) for entry in _seen(found, hidden)]
    except FileNotFoundError:
        return Listing(path, missing=True)
    except OSError as error:
        return Listing(path, error=error.strerror or type(error).__name__)
    kept = heapq.nsmallest(limit, named, key=lambda each: (each[0], each[1].casefold(), each[1]))
    entries = tuple(_entry(path, name, is_file=is_file) for is_file, name in kept)
    return Listing(path, entries, max(0, len(named) - limit), stamp=stamp)


def list_folders(requests: Sequence[Request], *, hidden: bool = False) -> list[Listing]:
    """List several folders, in order, without those that are as their stamp says."""
    return [
        list_folder(request.path, request.limit, hidden=hidden)
        for request in requests
        if not request.unless or _stamp(request.path) != request.unless
    ]


def _stamp(path: str) -> int:
    try:
        changed = os.stat(path).st_mtime_ns
    except OSError:
        return 0
    return changed if time.time_ns() - changed > _SETTLED_NS else 0


def _seen(found: Iterator[os.DirEntry[str]], hidden: bool) -> Iterator[os.DirEntry[str]]:
    for entry in found:
        if not entry.name.endswith(_TEMPORARY) and (hidden or not entry.name.startswith(".")):
            yield entry


def _entry(folder: str, name: str, *, is_file: bool) -> Entry:
    try:
        status = os.lstat(os.path.join(folder, name))
    except OSError:
        return Entry(name, not is_file)
    return Entry(
        name,
        stat.S_ISDIR(status.st_mode),
        stat.S_ISLNK(status.st_mode),
        status.st_size,
        status.st_ctime_ns,
    )
