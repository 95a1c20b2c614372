"""The blocks of a conversation as the entries of a list, with the gaps between them, and the files that they name."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from pathlib import Path

from ua_tui.core.events.types import ArtifactSaved, Event, QueryFinished
from ua_tui.core.storage.workspace import saved_reports_of
from ua_tui.tui.panes.conversation.blocks import Block, Notice, gap_after
from ua_tui.tui.virtual_list.virtual_list import VirtualList

_FOLDERS = ("work_products", "work_products/media", "downloads")
"""Where a file may be that is named without its folder."""


class FileLinks:
    """Finds the files of a session, and its saved reports, by their paths or names.

    Attributes:
        folder: the session's folder; nothing is found before it is known.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._names: dict[str, str] = {}
        self._found: dict[str, str | None] = {}

    def handle_event(self, event: Event) -> None:
        """Note that there may be new files: after one was saved, and when a query ends."""
        if isinstance(event, ArtifactSaved):
            self._names[posixpath.basename(event.path)] = event.path
            if event.copied_to:
                self._names.setdefault(posixpath.basename(event.copied_to), event.copied_to)
        if isinstance(event, ArtifactSaved | QueryFinished):
            self._found = {word: path for word, path in self._found.items() if path is not None}

    def find(self, word: str) -> str | None:
        """Return the absolute path of the file that `word` names; None if it names none."""
        if self.folder is not None and word not in self._found:
            self._found[word] = self._find(word, self.folder)
        return self._found.get(word)

    def _find(self, word: str, folder: Path) -> str | None:
        saved = saved_reports_of(folder)
        roots = [os.fspath(root) for root in (folder, saved) if root is not None]
        if "/" in word:
            # Reports are named with their folder, which is beside the sessions.
            candidates = [os.path.join(base, word) for base in (roots[0], os.path.dirname(roots[-1]))]
        else:
            known = self._names.get(word, word)
            candidates = [
                os.path.join(folder, known),
                *(os.path.join(roots[0], each, word) for each in _FOLDERS),
            ]
            candidates.append(os.path.join(roots[-1], word))
        paths = map(os.path.normpath, candidates)
        return next((path for path in paths if _is_file(path) and _is_inside(path, roots)), None)


def _is_file(path: str) -> bool:
    """Whether there is a file, or the compressed form of one that was large."""
    return any(os.path.isfile(form) and not os.path.islink(form) for form in (path, f"{path}.zst"))


def _is_inside(path: str, roots: Iterable[str]) -> bool:
    """Whether a file is in one of the folders, wherever links on the way to it lead."""
    real = os.path.realpath(path)
    return any(real.startswith(os.path.realpath(root) + os.sep) for root in roots)


class Page:
    """Puts blocks into a list, with the gaps there are between them.

    Attributes:
        view: the list, or the one that has adopted its blocks.
        deferred: notices below the queries to try, which go above the first block when that comes.
        at: when what is added happened, in seconds of the time of day.
    """

    def __init__(self, view: VirtualList[Block]) -> None:
        self.view = view
        self.deferred: list[Notice] = []
        self.at = 0.0

    def add(self, block: Block) -> None:
        """Put a block at the end."""
        deferred, self.deferred = self.deferred, []
        for notice in deferred:
            self.add(notice)
        blocks = self.view.entries
        block.gap = gap_after(blocks[-1] if blocks else None, block)
        block.at = self.at
        self.view.append(block)

    def insert_after(self, before: Block, block: Block) -> None:
        """Put a block after another."""
        index = self.view.index_of(before.key)
        assert index is not None
        block.at = before.at
        if index == len(self.view.entries) - 1:
            self.view.append(block)
        else:
            self.view.splice(index + 1, 0, [block])

    def change(self, block: Block) -> None:
        """Note that a block looks different."""
        block.revision += 1
        if block not in self.deferred:
            self.view.touch(block.key)
