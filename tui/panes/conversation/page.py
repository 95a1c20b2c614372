"""The blocks of a conversation as the entries of a list: the gaps between them, and what an empty list shows."""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.segment import Segment
from rich.style import Style

from ua_tui.core.events.types import ArtifactSaved, Event, QueryFinished
from ua_tui.core.storage.workspace import saved_reports_of
from ua_tui.core.view.session import SessionView
from ua_tui.tui.panes.conversation.blocks import (
    Block,
    ConversationTheme,
    Heading,
    Notice,
    Prose,
    estimate_block,
    gap_after,
    render_block,
)
from ua_tui.tui.panes.conversation.progress import render_progress
from ua_tui.tui.panes.suggestions import Suggestions
from ua_tui.tui.render.format import Mark
from ua_tui.tui.render.layout import PLAIN, Line, wrap
from ua_tui.tui.virtual_list.source import RowSource
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
        self._known: dict[str, str] = {}
        self._missing: set[str] = set()

    def handle_event(self, event: Event) -> None:
        """Note that there may be new files: after one was saved, and when a query ends."""
        if isinstance(event, ArtifactSaved):
            self._names[posixpath.basename(event.path)] = event.path
            if event.copied_to:
                self._names.setdefault(posixpath.basename(event.copied_to), event.copied_to)
        if isinstance(event, ArtifactSaved | QueryFinished):
            self._missing.clear()

    def find(self, word: str) -> str | None:
        """Return the absolute path of the file that `word` names; None if it names none."""
        if self.folder is None or word in self._missing:
            return None
        found = self._known.get(word) or self._find(word, self.folder)
        if found is None:
            self._missing.add(word)
        else:
            self._known[word] = found
        return found

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


_WELCOME = "Ask anything. The work is shown here as it happens."


class BlockRows(RowSource[Block]):
    """Draws blocks; the cursor treats a message and its heading as one.

    Attributes:
        suggestions: queries to try, shown below the blocks until the first query is sent.
        send_key: the key that sends the chosen one, as it is shown.
        files: finds the files that blocks name.
        welcome: what an empty conversation says.
        reading: whether a past session is being read, whose blocks are still to come.
        deferred: notices that are shown below the queries to try, and above the first block once it comes.
        view: the session whose progress stays at the top; None if nothing runs.
        now: gives the time of day in seconds, and `spinner` the glyph of what runs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.suggestions = Suggestions()
        self.send_key = ""
        self.welcome = _WELCOME
        self.reading = False
        self.deferred: list[Notice] = []
        self.view: SessionView | None = None
        self.now: Callable[[], float] = time.time
        self.spinner = Mark.RUNNING.glyph
        self.files = FileLinks()
        self._theme = ConversationTheme()
        self._palette: Mapping[str, Any] = {}

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles of the conversation from a new palette."""
        self._palette = palette
        self._theme = ConversationTheme.read(palette.__getitem__)

    def render(self, entry: Block, width: int) -> Sequence[Line]:
        """Render a block."""
        return render_block(entry, width, self._theme, self.files.find)

    def estimate(self, entry: Block, width: int) -> int:
        """Guess the height of a block."""
        return estimate_block(entry, width)

    def group(self, entry: Block) -> Hashable:
        """Treat a message, its heading and its pieces as one."""
        return entry.group

    def lead(self, entry: Block) -> int:
        """Leave out the blank line above a message; those inside it belong to it."""
        return 0 if isinstance(entry, Prose) and not entry.first else entry.gap

    def counts_as_new(self, entry: Block) -> bool:
        """Count messages, not their pieces."""
        match entry:
            case Heading():
                return False
            case Prose():
                return entry.first
            case _:
                return True

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Show the plan and the call that runs."""
        if self.view is None:
            return []
        return render_progress(self.view, width, height, self._theme, now=self.now(), spinner=self.spinner)

    def render_below(self, width: int, *, focused: bool) -> Sequence[Line]:
        """Say what to do in an empty conversation, with three things to try."""
        palette, trying = self._palette, self.suggestions
        muted, key, text = palette["lines--muted"], palette["lines--key"], palette["md--text"]
        if self.reading and not self.rows.items:
            return [[], *wrap([("Reading the session…", muted)], width)]
        lines: list[Line] = [] if self.rows.items else [[], *wrap([(self.welcome, text)], width)]
        if trying.queries:
            how = f"↑↓ choose · {self.send_key} send" if trying.query else "↓ to choose, or type your own"
            lines += [[], *wrap([("Three things to try", text), (f" · {how}", muted)], width), []]
        for number, query in enumerate(trying.queries):
            is_chosen = number == trying.chosen
            mark = Segment("  › ", key) if is_chosen else Segment("  · ", muted)
            style = text + (palette["lines--cursor"] if is_chosen else PLAIN)
            wrapped = wrap([(query, style + Style(meta={"suggestion": number}))], max(1, width - 4))
            lines += [[Segment("    ") if n else mark, *line] for n, line in enumerate(wrapped)]
        for notice in self.deferred:
            lines += [[], *wrap([(f"{notice.mark} {notice.text}", muted)], width)]
        return lines


class Page:
    """Puts blocks into a list, with the gaps there are between them.

    Args:
        view: the list.
        rows: its source.

    Attributes:
        at: when what is added happened, in seconds of the time of day.
    """

    def __init__(self, view: VirtualList[Block], rows: BlockRows) -> None:
        self._view = view
        self._rows = rows
        self.at = 0.0

    def move_to(self, view: VirtualList[Block], rows: BlockRows) -> None:
        """Continue in another list, which has adopted the blocks."""
        rows.deferred = self._rows.deferred
        self._view, self._rows = view, rows

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, in order."""
        return self._rows.rows.items

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of a block, or None when no block has that key."""
        return self._rows.rows.index.get(key)

    def defer(self, notice: Notice) -> None:
        """Show a notice below the queries to try; it goes above the first block when that comes."""
        self._rows.deferred.append(notice)

    def add(self, block: Block) -> None:
        """Put a block at the end."""
        deferred, self._rows.deferred = self._rows.deferred, []
        for notice in deferred:
            self.add(notice)
        blocks = self.blocks
        block.gap = gap_after(blocks[-1] if blocks else None, block)
        block.at = self.at
        self._view.append(block)

    def insert_after(self, before: Block, block: Block) -> None:
        """Put a block after another."""
        index = self.index_of(before.key)
        assert index is not None
        block.at = before.at
        if index == len(self.blocks) - 1:
            self._view.append(block)
        else:
            self._view.splice(index + 1, 0, [block])

    def splice(self, start: int, removed: int, blocks: Iterable[Block]) -> None:
        """Replace `removed` blocks from `start` on."""
        self._view.splice(start, removed, blocks)

    def change(self, block: Block) -> None:
        """Note that a block looks different."""
        block.revision += 1
        if block not in self._rows.deferred:
            self._view.touch(block.key)
