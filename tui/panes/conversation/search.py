"""Searching a conversation: quickly in what was written, then exactly in the lines drawn for it.

Matches are counted in the text as it was written, a block at a time; that includes the address of a link, which
is not shown. When a block is drawn, its matches are found again in the lines, and the count is corrected.
"""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from textual.content import Content
from textual.strip import Strip

from ua_tui.tui.panes.conversation.blocks import Block, Fold, Heading, Prose
from ua_tui.tui.panes.conversation.copy import text_of_block
from ua_tui.tui.render.strips import highlight
from ua_tui.tui.virtual_list.source import Rendered
from ua_tui.tui.virtual_list.typed_query import TypedQuery
from ua_tui.tui.virtual_list.virtual_list import Bookmark, VirtualList
from ua_tui.tui.workers import start_job

TURN_SECONDS = 0.005
MOST_TRIED = 50

_MARKS = r"[*_`~\\]*"
_BETWEEN = r"[\s>*_`~|#\\-]+"


class Span(NamedTuple):
    """A part of a drawn line, in characters, that belongs to a match."""

    line: int
    start: int
    end: int


class Hit(NamedTuple):
    """A match: the block's key, and its number in the block."""

    key: Hashable
    number: int


class Findings:
    """Where `needle` is: case does not matter, nor how its words are broken into lines."""

    def __init__(self, needle: str) -> None:
        self.needle = needle
        words = needle.split()
        self._plain = re.compile(r"\s+".join(re.escape(word) for word in words), re.IGNORECASE)
        marked = _BETWEEN.join(_MARKS.join(re.escape(char) for char in word) for word in words)
        self._marked = re.compile(marked, re.IGNORECASE)
        # Whole numbers only: tens of thousands of tuples would make the garbage collector visit them all.
        self._counts: dict[Hashable, int] = {}
        self._revisions: dict[Hashable, int] = {}

    def search(self, blocks: Iterable[Block]) -> Iterator[Block | None]:
        """Search the blocks that were not searched since they changed.

        Yields each block with a match, and None for the others: the place to let others run.
        """
        for block in blocks:
            if self._revisions.get(block.key) == block.revision:
                continue
            self.correct(block, self._count(block))
            yield block if self.count(block) else None

    def _count(self, block: Block) -> int:
        """Count the matches in what was written."""
        if isinstance(block, Heading):
            return 0
        if isinstance(block, Fold):
            # What is folded counts as one match, which is its line.
            text = block.title if block.open else f"{block.title}\n{block.text}"
            return int(self._marked.search(text) is not None)
        pattern = self._marked if isinstance(block, Prose) else self._plain
        return sum(1 for _ in pattern.finditer(text_of_block(block)))

    def correct(self, block: Block, count: int) -> None:
        """Correct how many matches a block really shows."""
        self._revisions[block.key] = block.revision
        if count != self.count(block):
            self._counts[block.key] = count

    def forget(self, blocks: Iterable[Block]) -> None:
        """Forget blocks that are gone."""
        for block in blocks:
            self._revisions.pop(block.key, None)
            self._counts.pop(block.key, None)

    @property
    def total(self) -> int:
        """The number of all matches."""
        return sum(self._counts.values())

    def count(self, block: Block) -> int:
        """Return how many matches a block has, where known."""
        return self._counts.get(block.key, 0)

    def rank(self, blocks_before: Iterable[Block], hit: Hit) -> int:
        """Return the number of a match, from 1, among all, given the blocks above its own."""
        return sum(map(self.count, blocks_before)) + hit.number + 1

    def drawn(self, block: Block, rows: Sequence[str]) -> list[list[Span]]:
        """Return the matches in the lines drawn of a block."""
        if isinstance(block, Heading):
            return []
        if isinstance(block, Fold):
            row = rows[block.gap]
            return [[Span(block.gap, len(row) - len(row.lstrip()), len(row))]] * self._count(block)
        return drawn_matches(self._plain, rows)


def drawn_matches(pattern: re.Pattern[str], rows: Sequence[str]) -> list[list[Span]]:
    """Find a pattern in lines as if they were one text; a match may have a part in several of them."""
    places: list[tuple[int, int, int]] = []
    parts: list[str] = []
    position = 0
    for number, row in enumerate(rows):
        text = row.strip()
        if text:
            places.append((position, number, len(row) - len(row.lstrip())))
            parts.append(text)
            position += len(text) + 1
    joined = " ".join(parts)
    matches: list[list[Span]] = []
    for found in pattern.finditer(joined):
        spans: list[Span] = []
        at = bisect_right(places, found.start(), key=lambda place: place[0]) - 1
        while at < len(places) and places[at][0] < found.end():
            begin, number, margin = places[at]
            start, end = max(found.start(), begin), min(found.end(), begin + len(parts[at]))
            if start < end:
                spans.append(Span(number, start - begin + margin, end - begin + margin))
            at += 1
        matches.append(spans)
    return matches


_NOTHING = "not found"


class Search:
    """A search as one types: finds matches, marks them on the screen and goes from one to the next.

    Enter keeps the search for `n` and `N`, Esc ends it. A text that is folded stays so: its line is the match.

    Args:
        view: the list that is searched.
        title: the list's title while no search is on.
        nothing: what is said if nothing is found.

    Attributes:
        busy: whether the search has not been through all blocks.
    """

    def __init__(self, view: VirtualList[Block], title: str) -> None:
        self.query = TypedQuery(
            "search", changed=self._search_for, accepted=self._accept, cleared=self._clear
        )
        self._view = view
        self.title = title
        self.nothing = _NOTHING
        self._findings: Findings | None = None
        self._hit: Hit | None = None
        self._origin = Bookmark((0, 0), following=True, cursor=None)
        self.busy = False
        self._drawn: dict[Hashable, tuple[Rendered, list[list[Span]]]] = {}
        self.show()

    # -- beginning and ending ---------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a search: what is typed from here on is searched for."""
        if not self.query.active:
            self._origin = self._view.bookmark
        self.query.typing = True
        self.query.edit("")

    def _search_for(self, text: str) -> None:
        self._findings = Findings(text) if text.strip() else None
        self._hit = None
        self._drawn.clear()
        if self._findings is not None:
            self.busy = True
            start_job(self._view, partial(self._search, show_first=True), "find")
        self._view.update_rows()
        self.show()

    def _accept(self) -> None:
        if self.query.text.strip():
            self.show()
        else:
            self._clear(True)

    def _clear(self, was_typing: bool) -> None:
        """End the search; one that is still typed leads back to where the reader was."""
        view = self._view
        self.query.typing, self.query.text = False, ""
        self._findings = None
        self._hit = None
        self._drawn.clear()
        if was_typing:
            view.set_cursor(self._origin.cursor)
            if self._origin.following:
                view.action_cursor_end()
            else:
                view.place_at(*self._origin.top)
        view.update_rows()
        self.show()

    # -- searching --------------------------------------------------------------------------------

    async def _search(self, *, show_first: bool) -> None:
        """Search all blocks; with `show_first`, go to the first match from the reader on."""
        view, findings = self._view, self._findings
        assert findings is not None
        start = min(self._origin.top[0], len(view.entries)) if show_first else 0
        if show_first and self._origin.following and view.lines:
            start = max(0, view.lines[0].position)
        blocks = [*view.entries[start:], *reversed(view.entries[:start])]
        turn = time.perf_counter()
        for block in findings.search(blocks):
            if show_first and block is not None and self._hit is None:
                self._go_to(block, 0)
            if time.perf_counter() - turn > TURN_SECONDS:
                if show_first:
                    self.show()
                await asyncio.sleep(0)
                turn = time.perf_counter()
        self.busy = False
        self.show()

    def update(self) -> None:
        """Search what came or changed since; nothing moves for it."""
        if self._findings is not None and not self.busy:
            self.busy = True
            start_job(self._view, partial(self._search, show_first=False), "find")

    def forget(self, blocks: Iterable[Block]) -> None:
        """Note that blocks are about to go: what was found in them no longer counts."""
        if self._findings is not None:
            self._findings.forget(blocks)

    def prepare_move(self, longer: VirtualList[Block]) -> Callable[[], None]:
        """Find this search's places in a longer list; the result continues the search once that is adopted."""
        view = self._view
        hit = view.key_in(longer, self._hit.key) if self._hit is not None else None
        top, following, cursor = self._origin
        origin = Bookmark((view.index_in(longer, top[0]), top[1]), following, view.key_in(longer, cursor))

        def move() -> None:
            self._origin = origin
            if self._findings is None:
                return
            self._findings = Findings(self.query.text)
            self._drawn.clear()
            if self._hit is not None and hit is not None:
                self._hit = Hit(hit, self._hit.number)
            self.busy = True
            start_job(view, partial(self._search, show_first=False), "find")

        return move

    # -- from match to match ----------------------------------------------------------------------

    def go_to_match(self, step: int) -> None:
        """Go to the next match, or to the previous one, around the ends."""
        findings, view = self._findings, self._view
        if findings is None or self.query.typing:
            return
        place = view.index_of(self._hit.key) if self._hit is not None else None
        if place is None or self._hit is None:
            place, number = (view.lines[0].position if view.lines else 0), -1 if step > 0 else 0
        else:
            number = self._hit.number
        size = len(view.entries)
        tried = 0
        for distance in range(size + 1):
            block = view.entries[(place + step * distance) % size]
            count = findings.count(block)
            at = number + step if not distance else 0 if step > 0 else count - 1
            if 0 <= at < count:
                tried += 1
                if self._go_to(block, at) or tried > MOST_TRIED:
                    break
        self.show()

    def _go_to(self, block: Block, number: int) -> bool:
        """Show a match of a block; False when there is none to be seen, which the count then knows."""
        findings, view = self._findings, self._view
        assert findings is not None
        index = view.index_of(block.key)
        if index is None:
            return False
        matches = self._matches(block, view.rendered(index))
        findings.correct(block, len(matches))
        if not matches:
            return False
        number = min(number, len(matches) - 1)
        self._hit = Hit(block.key, number)
        view.set_cursor(block.key)
        view.reveal_line(index, matches[number][0].line)
        return True

    # -- what is shown ----------------------------------------------------------------------------

    def show(self) -> None:
        """Show in the border what is searched for, and how many matches there are."""
        if not self.query.active:
            self._view.border_title = Content(self.title)
            return
        parts: list[str | tuple[str, str]] = [f"{self.title}  /{self.query.shown}"]
        if self._findings is not None:
            index = self._view.index_of(self._hit.key) if self._hit is not None else None
            above = self._view.entries[: index or 0]
            rank = self._findings.rank(above, self._hit) if self._hit is not None and index is not None else 0
            total, more = self._findings.total, "…" if self.busy else ""
            parts.append((f" {rank}/{total}{more}" if total or more else f" {self.nothing}", "bold"))
        self._view.border_title = Content.assemble(*parts)

    def _matches(self, block: Block, rendered: Rendered) -> list[list[Span]]:
        assert self._findings is not None
        known = self._drawn.get(block.key)
        if known is None or known[0] is not rendered:
            rows = [strip.text for strip in rendered.strips]
            known = self._drawn[block.key] = (rendered, self._findings.drawn(block, rows))
        return known[1]

    def highlight(self, entry: Block, rendered: Rendered, line: int, strip: Strip) -> Strip:
        """Mark the matches in a line that is about to be shown."""
        if self._findings is None:
            return strip
        current = self._hit.number if self._hit is not None and self._hit.key == entry.key else -1
        spans = [
            (span.start, span.end, number == current)
            for number, match in enumerate(self._matches(entry, rendered))
            for span in match
            if span.line == line
        ]
        palette = self._view.palette
        return highlight(strip, spans, palette["lines--found"], palette["lines--found-current"])
