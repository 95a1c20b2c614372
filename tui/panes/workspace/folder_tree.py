"""The folders of a tree, its filter, and the rows made from them; cursor and folds are kept by path."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate
from functools import lru_cache
from itertools import chain, takewhile
from pathlib import Path, PurePath
from typing import NamedTuple

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.storage.compression import SUFFIX, inner_name
from ua_tui.core.storage.workspace import RECORDS
from ua_tui.core.text import clean_line
from ua_tui.tui.panes.workspace.scan import FileEntry, Listing, Order, Request
from ua_tui.tui.viewers.reader import read_piece
from ua_tui.tui.virtual_list.source import EntryList

FOLDER_CAP = 10_000
_DEEPEST = 200
Match = Callable[[str], bool]
_WILD = re.compile(r"[*?]|\[.+\]")
_ARTICLES = "extracted_articles"
_HASH = re.compile(r"(?:^|[_.-])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,64}(?=[_.-]|$)")
_ARTICLE_SUFFIXES = frozenset({".json", ".md"})
_SEARCHES = "search_results"
_TITLE = re.compile(rb'(?:^|[{,\s])"?title"?[ \t]*:[ \t]*("(?:[^"\\\n]|\\.){1,1000}")')
_QUERY = re.compile(rb'^\{\s*"type".{0,300}?"query": ?("(?:[^"\\\n]|\\.){1,1000}")', re.DOTALL)
_IGNORED = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


class Row(NamedTuple):
    """A line of the tree: an entry, or a note about a folder that is listed in part or cannot be read.

    A note has no `entry`.
    """

    path: str
    entry: FileEntry | None
    depth: int
    note: str = ""

    @property
    def key(self) -> str:
        """What identifies the row."""
        return self.path if self.entry is not None else f"{self.path}{os.sep}"

    @property
    def revision(self) -> int:
        """Never rises: a row that looks different is another one, or the whole tree is drawn again."""
        return 0


@dataclass(slots=True)
class Folder:
    """A folder that is listed, or will be; `touched` once a person folded or unfolded it."""

    path: str
    depth: int
    open: bool = False
    touched: bool = False
    listing: Listing | None = None
    by_name: dict[str, FileEntry] = field(default_factory=dict)


class FolderTree:
    """What is known of the folders beneath `base`, and the rows made from it.

    Args:
        base: the folder whose entries are the topmost rows; it need not exist.
        only: decides by the name, and by whether it is a folder, which entries of `base` are shown: folders whose names
            are dates, the latest first. Without it, folders near the base are listed before they are opened.

    Attributes:
        pattern: what the rows are filtered by.
    """

    def __init__(
        self,
        base: str,
        only: Callable[[str, bool], bool] | None = None,
    ) -> None:
        self.base = base
        self.eager = only is None
        self.order = Order.NAME
        self.hidden = False
        self.with_records = True
        self.cursor: str | None = None
        self.top = 0
        self.rows: EntryList[Row] = EntryList()
        self.matches: dict[str, int] = {}
        """The line of each row that the filter matches, by its key, from the top."""
        self.folders: dict[str, Folder] = {base: Folder(base, -1, open=True)}
        self.dirty: set[str] = {base}
        self.doubted: set[str] = set()
        self.wanted: str | None = None
        self._only = only
        self.pattern = ""
        self._match: Match | None = None

    # -- what is known ----------------------------------------------------------------------------

    def request(self, path: str) -> Request:
        """How to list a folder."""
        folder, only = self.folders[path], self._only if path == self.base else None
        unless = folder.listing.stamp if folder.listing is not None and path in self.doubted else 0
        return Request(path, FOLDER_CAP, unless, self.order, only, title_of)

    def update(self, listing: Listing) -> tuple[list[FileEntry], bool] | None:
        """Update a folder from a listing; returns its new entries, and whether it is listed for the first time.

        None when nothing changed, or the folder is no longer in the tree.
        """
        folder = self.folders.get(listing.path)
        if folder is None:
            return None
        if folder.listing is not None and replace(folder.listing, stamp=listing.stamp) == listing:
            # Only the stamp that shows a later change is new.
            folder.listing = listing
            return None
        first = folder.listing is None or folder.listing.missing
        before, folder.listing = folder.by_name, listing
        folder.by_name = {entry.name: entry for entry in listing.entries}
        for name, entry in before.items():
            now = folder.by_name.get(name)
            if entry.is_folder and (now is None or not now.is_folder):
                gone = os.path.join(folder.path, name)
                for path in [each for each in self.folders if f"{each}{os.sep}".startswith(gone + os.sep)]:
                    del self.folders[path]
                    self.dirty.discard(path)
        was_folder = {name: entry.is_folder for name, entry in before.items()}
        came = [entry for entry in listing.entries if was_folder.get(entry.name) is not entry.is_folder]
        for entry in came:
            if entry.is_folder and self._lists_by_itself(folder, entry.name):
                self._know(folder, entry.name)
        return came, first

    def resort(self, order: Order) -> None:
        """Change the order: what is listed is listed again in it."""
        self.order = order
        self.doubted.clear()
        self.dirty.update(path for path, folder in self.folders.items() if folder.listing is not None)

    def folder_of(self, row: Row) -> Folder:
        """The folder of a row."""
        return self.folders.setdefault(row.path, Folder(row.path, row.depth))

    def set_open(self, folder: Folder, *, open_: bool) -> None:
        """Unfold or fold a folder; one that was never listed will be."""
        folder.open, folder.touched = open_, True
        if open_ and folder.listing is None:
            self.dirty.add(folder.path)

    def _know(self, above: Folder, name: str) -> Folder:
        path = os.path.join(above.path, name)
        folder = self.folders.setdefault(path, Folder(path, above.depth + 1))
        if folder.listing is None:
            self.dirty.add(path)
        return folder

    def _lists_by_itself(self, folder: Folder, name: str) -> bool:
        if is_ignored(name):
            return False
        if self._match is not None and self.eager:
            return len(self.folders) <= 300
        return self.eager and folder.depth < 1 and len(self.folders) <= 32

    # -- the filter -------------------------------------------------------------------------------

    @property
    def filtered(self) -> bool:
        """Whether only some rows are shown."""
        return self._match is not None

    @property
    def searched_in_part(self) -> bool:
        """Whether the filter cannot know all matches, as some folders were never listed."""
        return self.filtered and any(
            entry.is_folder and os.path.join(folder.path, entry.name) not in self.folders
            for folder in self.folders.values()
            for entry in folder.by_name.values()
        )

    def filter_by(self, pattern: str) -> None:
        """Show only what matches, below the folders it is in; an empty pattern shows everything."""
        self.pattern, self._match = pattern, matcher(pattern)
        if self._match is None:
            self._show_cursor()
            return
        for folder in list(self.folders.values()):
            for entry in folder.by_name.values():
                if entry.is_folder and self._lists_by_itself(folder, entry.name):
                    self._know(folder, entry.name)

    def _show_cursor(self) -> None:
        """Open the folders that would hide the row where the cursor is once the filter is gone."""
        path = os.path.dirname((self.cursor or "").rstrip(os.sep))
        while path.startswith(self.base + os.sep):
            folder = self.folders.get(path)
            if folder is not None and not folder.open:
                self.set_open(folder, open_=True)
            path = os.path.dirname(path)

    # -- rows -------------------------------------------------------------------------------------

    def place(self, key: str | None) -> int:
        """The line of a row, -1 when it is not shown."""
        return self.rows.index.get(key, -1)

    def build(self) -> None:
        """Make the rows again. The cursor stays on its row, or goes to the nearest one that stays."""
        before, line = self.rows.items, self.place(self.cursor)
        rows: list[Row] = []
        self.matches = {}
        self._walk(self.folders[self.base], rows, kept=self._match is None)
        self.rows = EntryList(rows, [1] * len(rows))
        if self.cursor is not None and self.place(self.cursor) < 0:
            self.cursor = self._nearest(before, line)

    def _walk(self, folder: Folder, rows: list[Row], *, kept: bool) -> None:
        listing = folder.listing
        if listing is None or folder.depth > _DEEPEST:
            return
        depth = folder.depth + 1
        match, start = self._match, len(self.base) + 1
        for entry in listing.entries:
            path = f"{folder.path}{os.sep}{entry.name}"
            if self._leaves_out(folder, path, entry):
                continue
            place = len(rows)
            rows.append(Row(path, entry, depth))
            matched = match is not None and (match(path[start:]) or bool(entry.title and match(entry.title)))
            if matched:
                self.matches[path] = place
            inner = self.folders.get(path) if entry.is_folder else None
            if inner is not None:
                if kept or matched:
                    if inner.open:
                        self._walk(inner, rows, kept=True)
                else:
                    self._walk(inner, rows, kept=False)
            if not kept and not matched and len(rows) == place + 1:
                del rows[place:]
        if kept and listing.error:
            rows.append(Row(folder.path, None, depth, f"cannot be read: {listing.error}"))
        elif kept and listing.more:
            rows.append(Row(folder.path, None, depth, f"… {listing.more:,} more"))

    def _leaves_out(self, folder: Folder, path: str, entry: FileEntry) -> bool:
        """Whether an entry is not shown: an empty folder, or what the session itself writes while it is new."""
        if self.hidden:
            return False
        if not entry.is_folder:
            return not self.with_records and folder.path == self.base and entry.name in RECORDS
        inner = self.folders.get(path)
        return (
            inner is not None and not inner.touched and (inner.listing is None or self.file_count(path) == 0)
        )

    def is_unfolded(self, row: Row) -> bool:
        """Whether the entries of a folder are shown below it."""
        place, rows = self.place(row.key), self.rows.items
        below = place + 1 < len(rows) and rows[place + 1].depth > row.depth
        folder = self.folders.get(row.path)
        return below or (folder is not None and folder.open)

    def file_count(self, path: str) -> int | None:
        """How many files a folder has, as far as that is known; 0 only if there are none further down either."""
        folder = self.folders.get(path)
        if folder is None or folder.listing is None:
            return None
        files = sum(not entry.is_folder for entry in folder.listing.entries) + folder.listing.more
        return files if files or self._is_empty(folder) else None

    def _is_empty(self, folder: Folder) -> bool:
        listing = folder.listing
        if listing is None or listing.more or listing.error:
            return False
        inner = [self.folders.get(os.path.join(folder.path, entry.name)) for entry in listing.entries]
        return all(each is not None and self._is_empty(each) for each in inner)

    def above(self, place: int) -> int:
        """The line of the folder that a row is in, -1 at the top."""
        rows = self.rows.items
        depth = rows[place].depth
        while place >= 0 and rows[place].depth >= depth:
            place -= 1
        return place

    def _nearest(self, before: Sequence[Row], line: int) -> str | None:
        """The nearest row that stays: below in the same folder or above, or else the folder itself, or beside that."""
        if line >= 0:
            depth = before[line].depth
            below = takewhile(lambda row: row.depth >= depth, before[line + 1 :])
            for row in chain(below, reversed(before[:line])):
                if row.depth <= depth:
                    depth = row.depth
                    if self.place(row.key) >= 0:
                        return row.key
        return self.rows.items[0].key if self.rows.items and self.filtered else None

    def next_match(self, by: int) -> str | None:
        """The key of the next or the previous match from the cursor, around the ends; None when there is none."""
        keys, here = list(self.matches)[::by], self.place(self.cursor)
        return next((key for key in keys if (self.matches[key] - here) * by > 0), keys[0] if keys else None)

    def follow_wanted(self) -> str | None:
        """Unfold the known part of the way to the wanted path; its row's key once it is there."""
        path = self.wanted
        if path is None or not path.startswith(self.base + os.sep):
            return None
        folder = self.folders[self.base]
        *above, name = path[len(self.base) + 1 :].split(os.sep)
        for part in above:
            if part not in folder.by_name:
                self._list_later(folder)
                return None
            folder = self._know(folder, part)
            folder.open = folder.touched = True
        # An artifact may have been compressed since its path was reported, or decompressed.
        other = name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else name + SUFFIX
        found = next((each for each in (name, other) if each in folder.by_name), None)
        if found is None:
            self._list_later(folder)
            return None
        self.wanted = None
        if folder.by_name[found].is_folder:
            self._know(folder, found).touched = True
        return os.path.join(folder.path, found)

    def _list_later(self, folder: Folder) -> None:
        if folder.listing is None:
            self.dirty.add(folder.path)


def is_ignored(name: str) -> bool:
    """Whether a folder is one that programs fill, such as a cache: it is listed only when a person opens it."""
    return name in _IGNORED


def matcher(pattern: str) -> Match | None:
    """Read what was typed; None when it is blank. The result is called with a path relative to the tree's root.

    Case does not matter. A pattern with a slash is compared with the whole path or with the end of it that begins
    below some folder, any other with the name. A compressed file also matches by its name without `.zst` or `.gz`.
    """
    wanted = pattern.strip().casefold()
    if not wanted:
        return None
    whole = "/" in wanted
    wild: Match | None = None
    if _WILD.search(wanted):
        above = r"(?s:.*/)?" if whole else ""
        wild = re.compile(above + translate(wanted)).match  # type: ignore[assignment]  # a match is true enough

    def match_name(text: str) -> bool:
        return bool(wild(text)) if wild is not None else wanted in text

    def matches(path: str) -> bool:
        text = (path if whole else path.rpartition("/")[2]).casefold()
        return match_name(text) or (
            wild is not None and (inner := inner_name(text)) != text and match_name(inner)
        )

    return matches


def title_of(folder: str, name: str, changed_ns: int) -> str:
    """Return the title of an article, or the query of search results, cleaned; empty for any other file.

    They are listed by that, as their names have a random part. Reads the file at most once.
    """
    inner = PurePath(inner_name(name))
    if inner.suffix.lower() not in _ARTICLE_SUFFIXES:
        return ""
    is_article = PurePath(folder).name == _ARTICLES or _HASH.search(inner.stem) is not None
    if not is_article and (PurePath(folder).name != _SEARCHES or inner.suffix.lower() != ".json"):
        return ""
    return _read_title(f"{folder}/{name}", changed_ns, _TITLE if is_article else _QUERY)


@lru_cache(maxsize=8192)
def _read_title(path: str, _changed_ns: int, title: re.Pattern[bytes]) -> str:
    try:
        found = title.search(read_piece(Path(path), 4096).data)
        return clean_line(msgspec.json.decode(found[1], type=str), 200) if found else ""
    except (UniversalAgentError, ValueError, OSError):
        return ""
