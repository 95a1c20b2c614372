"""The files that a person can name in a query: listed in a thread, searched by parts of their names."""

from __future__ import annotations

import heapq
import os
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from core.agent.attachments.mentions import mention_of
from core.agent.attachments.places import Places
from core.storage.workspace import RECORDS, SAVED_REPORTS, WORKSPACES
from core.text import clean_line

__all__ = ["FileIndex", "FoundFile", "folder_of", "search"]

_MOST_FILES = 20_000
_MOST_FOLDERS = 2_000
_MOST_ENTRIES = 200_000
_MOST_FIRST = 30
_SHOWN = 400
_SETTLED_NS = 2_000_000_000
_SKIPPED = frozenset({"node_modules", "__pycache__", WORKSPACES})


class FoundFile(NamedTuple):
    """A file, or a folder with a slash at its end, as it is shown, made harmless.

    `folded` is what is searched; `name` is written for it if it leads to its `path`.
    """

    shown: str
    folded: str
    path: str
    name: str
    is_folder: bool = False
    is_link: bool = False

    def mention(self, places: Places) -> str | None:
        """What names it in a query; None when its name has characters that cannot be in a text."""
        path = Path(self.path)
        if places.locate(self.name) == path:
            return mention_of(self.name)
        return places.mention(path, is_folder=self.is_folder)


def folder_of(typed: str) -> tuple[str, bool]:
    """The folder that a name being written begins with, and whether it continues as that of a hidden file."""
    folder, slash, name = typed.rpartition("/")
    return folder + slash, name.startswith(".")


class FileIndex:
    """The files that names can lead to; `refresh` belongs in a thread.

    A folder that looks unchanged is not listed again.
    """

    def __init__(self, places: Places, reports: Path | None = None) -> None:
        self.places = places
        self._reports = reports
        self._listed: dict[tuple[str, str, bool], tuple[int, list[FoundFile]]] = {}

    def refresh(self, typed: str = "") -> Sequence[FoundFile]:
        """List the folder that a name begins with, or all files if it begins with none.

        Those are the entries of the start folder, the files of the session (the newest first), the saved reports, the
        files below the start folder, and the records of the session. Hidden files are left out unless a dot was typed.
        """
        folder, hidden = folder_of(typed)
        if folder:
            return _once(
                file
                for root in self.places.candidates(folder)
                for file in self._list(str(root), folder, hidden)
            )
        start, session = self.places.start, self.places.session
        first = self._list(str(start), "", hidden) if start is not None else []
        first = [each for each in first if each.shown != f"{WORKSPACES}/"]
        own = [each for each in self._below(session, "") if not (each.is_link or each.is_folder)]
        own.sort(key=lambda each: (-_changed_ns(each.path), each.shown))
        reports = self._below(self._reports, f"{SAVED_REPORTS}/") if self._reports is not None else ()
        deeper = self._below(start, "") if start is not None else ()
        # An empty name offers some of both.
        files = _once((*first[:_MOST_FIRST], *own, *first[_MOST_FIRST:], *reports, *deeper))
        return sorted(files, key=lambda each: each.name in RECORDS)

    def _below(self, root: Path, prefix: str) -> Iterator[FoundFile]:
        """What is in a folder and below it, the nearest first, up to a limit; not through links."""
        waiting = deque([(str(root), prefix)])
        folders = files = 0
        while waiting and folders < _MOST_FOLDERS and files < _MOST_FILES:
            found = self._list(*waiting.popleft(), hidden=False)
            folders += 1
            files += len(found)
            waiting += [
                (each.path, each.name)
                for each in found
                if each.is_folder and not each.is_link and os.path.basename(each.path) not in _SKIPPED
            ]
            yield from found

    def _list(self, path: str, prefix: str, hidden: bool) -> list[FoundFile]:
        """The entries of a folder by name, shown with a prefix."""
        place = (path, prefix, hidden)
        try:
            changed = os.stat(path).st_mtime_ns
            if place in self._listed and self._listed[place][0] == changed:
                return self._listed[place][1]
            # What comes in the same tick of the clock does not change the folder's time again.
            settled = changed if time.time_ns() - changed > _SETTLED_NS else -1
            with os.scandir(path) as entries:
                found = [
                    _found(each, prefix)
                    for each in islice(entries, _MOST_ENTRIES)
                    if hidden or not each.name.startswith(".")
                ]
        except (OSError, ValueError):
            self._listed.pop(place, None)
            return []
        found.sort(key=lambda each: each.folded)
        self._listed[place] = (settled, found)
        return found


def _found(entry: os.DirEntry[str], prefix: str) -> FoundFile:
    is_link = entry.is_symlink()
    is_folder = os.path.isdir(entry.path) if is_link else entry.is_dir(follow_symlinks=False)
    name = f"{prefix}{entry.name}/" if is_folder else prefix + entry.name
    shown = name if name.isprintable() and len(name) <= _SHOWN else clean_line(name, _SHOWN)
    return FoundFile(shown, shown.casefold(), entry.path, name, is_folder, is_link)


def _changed_ns(path: str) -> int:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0


def _once(files: Iterable[FoundFile]) -> list[FoundFile]:
    found: dict[str, FoundFile] = {}
    for each in files:
        found.setdefault(each.path, each)
    return list(found.values())


class Searchable(Protocol):
    """What can be searched by its text."""

    @property
    def folded(self) -> str:
        """The text, in small letters."""


_S = TypeVar("_S", bound=Searchable)


def search(wanted: str, files: Sequence[_S], limit: int, *, after: str = "") -> list[_S]:
    """The best `limit` files, or other things, whose path has the letters of `wanted` in this order, in any case.

    A name that is it but for its ending is best, then one that begins with it, one that contains it, a path that does,
    and letters that are close together; among equals the first in `files`. An empty `wanted` gives the first files.
    All of them begin with `after`, which is not searched.
    """
    letters, skip = wanted.casefold(), len(after.casefold())
    if not letters:
        return list(files[:limit])
    if len(files) > _MOST_FILES:
        # More than can be ranked while a key is handled: the letters must be together.
        ends = (f"{letters}.", f"{letters}/")
        exact = [
            each for each in files if each.folded.startswith(ends, skip) or each.folded[skip:] == letters
        ]
        begun = [each for each in files if each.folded.startswith(letters, skip)]
        files = [*exact[:limit], *begun[:limit], *[each for each in files if letters in each.folded][:limit]]
        files = list(dict.fromkeys(files))
    # Possessive: a name that lacks one letter must not be tried in every way there is.
    in_order = re.compile("".join(f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in letters))
    ranked = []
    for place, file in enumerate(files):
        text = file.folded[skip:]
        at = text.rfind(letters)
        if at >= 0:
            name = text.rfind("/", 0, -1) + 1
            after_it = text[name + len(letters) : name + len(letters) + 1]
            is_begun = text.startswith(letters, name)
            rank = 0 if is_begun and after_it in ("", ".", "/") else 1 if is_begun else 2 if at >= name else 3
            ranked.append(((rank, 0, place), file))
        elif (found := in_order.match(text)) is not None:
            start = found.end()
            for letter in reversed(letters):
                start = text.rfind(letter, 0, start)
            ranked.append(((4, found.end() - start, place), file))
    return [file for _, file in heapq.nsmallest(limit, ranked, key=lambda each: each[0])]
