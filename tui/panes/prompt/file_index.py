"""The files a person can name in a query: found by scans in a thread, searched by parts of their names."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from core.agent.attachments.mentions import mention_of
from core.storage.workspace import RECORDS, SAVED_REPORTS
from core.text import clean_line
from tui.panes.workspace.scan import Listing, Request, list_folders

__all__ = ["FileIndex", "FoundFile", "search"]

_MOST_FILES = 20_000
_MOST_FOLDERS = 2_000
_SHOWN = 400


@dataclass(frozen=True)
class FoundFile:
    """A file as it is shown, made harmless, and its `path` as the agent would open it, from the session's folder.

    `folded` is what is searched. `record` says that the session writes it by itself; `changed_ns` is when it
    changed last.
    """

    shown: str
    folded: str
    path: str
    record: bool
    changed_ns: int

    @property
    def mention(self) -> str | None:
        """What names the file in a query; None when its name has characters that cannot be in a text."""
        return mention_of(self.path)


class FileIndex:
    """The files beneath a session's folder and in the saved reports; `refresh` belongs in a thread.

    A folder that looks unchanged is not listed again. Hidden files are left out and links are not followed.
    """

    def __init__(self, folder: Path, reports: Path | None = None) -> None:
        self._folder = os.path.abspath(folder)
        self._reports = os.path.abspath(reports) if reports is not None else None
        self._listings: dict[str, Listing] = {}
        self._found: dict[str, list[FoundFile]] = {}

    def refresh(self) -> Sequence[FoundFile]:
        """List the folders that changed, and return all files: the newest first, the session's records last."""
        waiting = [path for path in (self._reports, self._folder) if path is not None]
        seen: set[str] = set()
        count = 0
        while waiting and len(seen) < _MOST_FOLDERS and count < _MOST_FILES:
            path = waiting.pop()
            seen.add(path)
            listing = self._list(path)
            count += len(self._found[path])
            waiting += [os.path.join(path, entry.name) for entry in listing.entries if entry.is_folder]
        for gone in self._listings.keys() - seen:
            del self._listings[gone], self._found[gone]
        files = [file for found in self._found.values() for file in found]
        files.sort(key=lambda file: (file.record, -file.changed_ns, file.shown))
        return files[:_MOST_FILES]

    def _list(self, path: str) -> Listing:
        known = self._listings.get(path)
        request = Request(path, _MOST_FILES, unless=known.stamp if known is not None else 0)
        fresh = list_folders([request])
        if not fresh and known is not None:
            return known
        listing = self._listings[path] = fresh[0]
        self._found[path] = [
            self._file(os.path.join(path, entry.name), entry.changed_ns)
            for entry in listing.entries
            if not entry.is_folder and not entry.is_link
        ]
        return listing

    def _file(self, path: str, changed_ns: int) -> FoundFile:
        relative = os.path.relpath(path, self._folder)
        shown = relative
        if self._reports is not None and path.startswith(self._reports + os.sep):
            shown = os.path.join(SAVED_REPORTS, os.path.relpath(path, self._reports))
        shown = clean_line(shown, _SHOWN)
        return FoundFile(shown, shown.casefold(), relative, relative in RECORDS, changed_ns)


class Searchable(Protocol):
    """What can be searched by its text."""

    @property
    def folded(self) -> str:
        """The text, in small letters."""


_S = TypeVar("_S", bound=Searchable)


def search(wanted: str, files: Sequence[_S], limit: int) -> list[_S]:
    """The best `limit` files, or other things, whose path has the letters of `wanted` in this order, in any case.

    A name that begins with it is best, then one that contains it, then a path that does, then letters that are
    close together; among equals the first in `files`. An empty `wanted` gives the first files.
    """
    letters = wanted.casefold()
    if not letters:
        return list(files[:limit])
    # Possessive: a name that lacks one letter must not be tried in every way there is.
    in_order = re.compile("".join(f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in letters))
    ranked = []
    for place, file in enumerate(files):
        text = file.folded
        at = text.rfind(letters)
        if at >= 0:
            name = text.rfind("/") + 1
            ranked.append(((0 if text.startswith(letters, name) else 1 if at >= name else 2, 0, place), file))
        elif (found := in_order.match(text)) is not None:
            start = found.end()
            for letter in reversed(letters):
                start = text.rfind(letter, 0, start)
            ranked.append(((3, found.end() - start, place), file))
    return [file for _, file in heapq.nsmallest(limit, ranked, key=lambda each: each[0])]
