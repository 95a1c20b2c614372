"""The files that a person can name in a query: listed in a thread, searched by parts of their names."""

from __future__ import annotations

import heapq
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from ua_tui.core.agent.attachments.mentions import mention_of
from ua_tui.core.agent.attachments.places import AttachmentPlaces
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES
from ua_tui.core.storage.workspace import RECORDS
from ua_tui.core.text import clean_line
from ua_tui.tui.panes.prompt.completion import Offer, folder_of

_MOST_FILES = 20_000
_MOST_FOLDERS = 2_000
_MOST_SECONDS = 0.2
_MOST_ENTRIES = 50_000
_SHOWN = 400
_SETTLED_NS = 2_000_000_000
_SKIPPED = frozenset({"node_modules", "__pycache__"})


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

    def mention(self, places: AttachmentPlaces) -> str | None:
        """What names it in a query; None when its name has characters that cannot be in a text."""
        path = Path(self.path)
        if places.locate(self.name) == path:
            return mention_of(self.name)
        return places.mention(path, is_folder=self.is_folder)


class FileIndex:
    """The files that names can lead to; `refresh` belongs in a thread.

    A folder that looks unchanged is not listed again.
    """

    def __init__(self, places: AttachmentPlaces, reports: Path | None = None) -> None:
        self.places = places
        self._reports = reports
        self._listed: dict[tuple[str, str, bool], tuple[int, Sequence[FoundFile]]] = {}

    def refresh(self, typed: str = "") -> Sequence[Sequence[FoundFile]]:
        """List the folder that a name begins with, or all files if it begins with none.

        Those are the entries of the start folder, then the files of the session (the newest first), the saved reports,
        the files below the start folder, and the records of the session. Hidden files are left out unless a dot was
        typed.
        """
        folder, hidden = folder_of(typed)
        if folder:
            return [self._list(str(root), folder, hidden) for root in self.places.candidates(folder)]
        start, session = self.places.start, self.places.session
        first = self._list(str(start), "", hidden) if start is not None else ()
        own = [each for each in self._below([(str(session), "")]) if not (each.is_link or each.is_folder)]
        own.sort(key=lambda each: (-_changed_ns(each.path), each.shown))
        reports = [(str(self._reports), f"{SAVED_REPORTS}/")] if self._reports is not None else []
        rest = [*own, *self._below(reports), *self._below(_folders(first))]
        return [first, sorted(rest, key=lambda each: each.name in RECORDS)]

    def _below(self, folders: Iterable[tuple[str, str]]) -> Iterator[FoundFile]:
        """What is in folders and below them, the nearest first, up to a limit; not through links.

        What takes longer is left for the next time, when these folders need not be listed again.
        """
        waiting, until = deque(folders), time.monotonic() + _MOST_SECONDS
        count = files = 0
        while waiting and count < _MOST_FOLDERS and files < _MOST_FILES and time.monotonic() < until:
            found = self._list(*waiting.popleft(), hidden=False)
            count += 1
            files += len(found)
            waiting += _folders(found)
            yield from found[:_MOST_FILES]

    def _list(self, path: str, prefix: str, hidden: bool) -> Sequence[FoundFile]:
        """The entries of a folder by name, shown with a prefix."""
        place = (path, prefix, hidden)
        try:
            changed = os.stat(path).st_mtime_ns
            known = self._listed.get(place)
            if known is not None and known[0] == changed:
                return known[1]
            # What comes in the same tick of the clock does not change the folder's time again.
            settled = changed if time.time_ns() - changed > _SETTLED_NS else -1
            with os.scandir(path) as entries:
                found = [
                    _found(each, prefix)
                    for each in islice(entries, _MOST_ENTRIES)
                    if (hidden or not each.name.startswith(".")) and each.name != WORKSPACES
                ]
        except (OSError, ValueError):
            return ()
        found.sort(key=attrgetter("folded"))
        self._listed[place] = (settled, found)
        return found


def _folders(files: Iterable[FoundFile]) -> list[tuple[str, str]]:
    """The folders among files that are worth listing."""
    folders = (each for each in files if each.is_folder and not each.is_link)
    return [(each.path, each.name) for each in folders if os.path.basename(each.path) not in _SKIPPED]


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


def search_files(typed: str, lists: Sequence[Sequence[FoundFile]], limit: int) -> list[FoundFile]:
    """The best `limit` files of lists for a name being written, those of the first list first among equals."""
    folder = folder_of(typed)[0]
    letters = typed.removeprefix(folder)
    # An empty name offers some of each list.
    most = None if letters else limit if folder else limit * 3 // 5
    found: dict[str, FoundFile] = {}
    for file in chain.from_iterable(files[:most] for files in lists):
        found.setdefault(file.path, file)
    return search(letters, list(found.values()), limit, after=folder)


class Searchable(Protocol):
    """What can be searched by its text."""

    @property
    def folded(self) -> str:
        """The text, in small letters."""


_S = TypeVar("_S", bound=Searchable)


def search(wanted: str, files: Sequence[_S], limit: int, *, after: str = "") -> list[_S]:
    """The best `limit` files, or other things, whose path contains `wanted`, in letters of any case.

    A name that is it but for its ending is best, then one that begins with it, one that contains it, and a path that
    does; among equals the first in `files`. An empty `wanted` gives the first files. All of them begin with `after`,
    which is not searched.
    """
    letters, skip = wanted.casefold(), len(after.casefold())
    if not letters:
        return list(files[:limit])
    ranked = []
    for place, file in enumerate(files):
        text = file.folded[skip:]
        at = text.rfind(letters)
        if at >= 0:
            name = text.rfind("/", 0, -1) + 1
            after_it = text[name + len(letters) : name + len(letters) + 1]
            is_begun = text.startswith(letters, name)
            rank = 0 if is_begun and after_it in ("", ".", "/") else 1 if is_begun else 2 if at >= name else 3
            ranked.append((rank, place, file))
    return [file for _, _, file in heapq.nsmallest(limit, ranked, key=itemgetter(0, 1))]


def file_offers(files: Sequence[FoundFile], places: AttachmentPlaces) -> list[Offer]:
    """Offer files, and folders to continue in; one whose name cannot be typed says so."""
    offers = []
    for file in files:
        mention = file.mention(places)
        is_own = Path(file.path).is_relative_to(places.session)
        detail = "its name cannot be typed" if mention is None else "this session" if is_own else ""
        # The name of a folder has no closing quote: it continues with that of a file.
        written = mention.removesuffix('"') if mention is not None and file.is_folder else mention
        offers.append(Offer(file.shown, detail, written, continues=file.is_folder))
    return offers
