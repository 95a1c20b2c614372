"""What is in a folder, read in one pass and up to a limit; this runs in a thread and never follows a link."""

from __future__ import annotations

import heapq
import os
import stat
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ua_tui.core.text import natural_key

_TEMPORARY = ".ua-tmp"
_SETTLED_NS = 2_000_000_000
_WRITTEN_NS = 500_000_000
_LINUX_COARSE = 5


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or folder in a folder. `changed_ns` is when its inode last changed, which no program can set back.

    `title` is that of an article, already cleaned; empty for other files.
    """

    name: str
    is_folder: bool
    is_link: bool = False
    size: int = 0
    changed_ns: int = 0
    title: str = field(default="", compare=False)


class Order(Enum):
    """The order of the entries of a folder; folders come before files in each."""

    NAME = "name"
    TIME = "time"
    SIZE = "size"

    @property
    def next(self) -> Order:
        """The next order, around the end."""
        return {Order.NAME: Order.TIME, Order.TIME: Order.SIZE}.get(self, Order.NAME)

    def first(
        self, entries: Sequence[FileEntry], limit: int, *, newest_first: bool = False
    ) -> tuple[FileEntry, ...]:
        """The first `limit` entries in order: names as a person sorts them, the newest first, the largest first.

        `newest_first` reverses names that are dates.
        """
        is_reversed = newest_first and self is Order.NAME
        if len(entries) <= limit:
            return tuple(sorted(entries, key=self._key, reverse=is_reversed))
        # Sorting all of a hundred thousand names would block the other threads.
        choose = heapq.nlargest if is_reversed else heapq.nsmallest
        return tuple(choose(limit, entries, key=self._key))

    def _key(self, entry: FileEntry) -> tuple[bool, int, Any]:
        sizes = {Order.TIME: entry.changed_ns, Order.SIZE: 0 if entry.is_folder else entry.size}
        return not entry.is_folder, -sizes.get(self, 0), natural_key(entry.title or entry.name)


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder's entries in order, how many more there are, and why it could not be read if it could not.

    `stamp` is the folder's own time of change; 0 when that, or the time of a file in it, was too recent to detect a
    later change by it.
    """

    path: str
    entries: tuple[FileEntry, ...] = ()
    more: int = 0
    missing: bool = False
    error: str | None = None
    stamp: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """A folder to list and how.

    At most `limit` entries are listed, the first in `order`, and only those that `only` lets through, whose names are
    dates. A folder whose stamp is `unless` is not listed again. `title_of` finds the title of a file by its folder,
    name and time of change.
    """

    path: str
    limit: int
    unless: int = 0
    order: Order = Order.NAME
    only: Callable[[str, bool], bool] | None = None
    title_of: Callable[[str, str, int], str] | None = None


def file_time_ns() -> int:
    """The earliest time that a file changed from now on can get, in nanoseconds since 1970.

    Linux stamps files with a clock that is updated every few milliseconds (clock_gettime(2),
    CLOCK_REALTIME_COARSE): by the finer clock a file may look older than one before it.
    """
    coarse = _LINUX_COARSE if sys.platform == "linux" else None
    return time.time_ns() if coarse is None else time.clock_gettime_ns(coarse)


def list_folders(requests: Sequence[Request], *, hidden: bool = False) -> list[Listing]:
    """List several folders, in order, without those that are unchanged."""
    return [
        _list(request, hidden)
        for request in requests
        if not request.unless or _stamp(request.path) != request.unless
    ]


def _list(request: Request, hidden: bool) -> Listing:
    path, order, newest = request.path, request.order, request.only is not None
    stamp, looked = _stamp(path), time.time_ns()
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            return Listing(path, error="it is a link now")
        with os.scandir(path) as found:
            named = [
                FileEntry(entry.name, entry.is_dir(follow_symlinks=False))
                for entry in found
                if not entry.name.endswith(_TEMPORARY)
                and (hidden or not entry.name.startswith("."))
                and (request.only is None or request.only(entry.name, entry.is_dir(follow_symlinks=False)))
            ]
    except FileNotFoundError:
        return Listing(path, missing=True)
    except OSError as error:
        return Listing(path, error=error.strerror or type(error).__name__)
    more = max(0, len(named) - request.limit)
    if more and order is Order.NAME:
        named = list(order.first(named, request.limit, newest_first=newest))
    found_entries = [_entry(path, entry.name, is_folder=entry.is_folder) for entry in named]
    entries = order.first(_titled(found_entries, request), request.limit, newest_first=newest)
    # A file changes without its folder, and while it is new the kernel may not report that either.
    if any(entry.changed_ns > looked - _WRITTEN_NS and not entry.is_folder for entry in entries):
        stamp = 0
    return Listing(path, entries, more, stamp=stamp)


def _titled(entries: list[FileEntry], request: Request) -> list[FileEntry]:
    """The entries with the titles of those that have one; of too many entries, none is read."""
    title_of = request.title_of
    if title_of is None or len(entries) > request.limit:
        return entries
    return [
        replace(entry, title=title)
        if not (entry.is_folder or entry.is_link)
        and (title := title_of(request.path, entry.name, entry.changed_ns))
        else entry
        for entry in entries
    ]


def _stamp(path: str) -> int:
    """The time of a folder, if a later change can be told by it."""
    try:
        touched = os.stat(path, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0
    return touched if time.time_ns() - touched > _SETTLED_NS else 0


def _entry(folder: str, name: str, *, is_folder: bool) -> FileEntry:
    try:
        status = os.lstat(os.path.join(folder, name))
    except OSError:
        return FileEntry(name, is_folder)
    return FileEntry(
        name,
        stat.S_ISDIR(status.st_mode),
        stat.S_ISLNK(status.st_mode),
        status.st_size,
        status.st_ctime_ns,
    )
