"""Searching a conversation: the keys, the count in the border, and the matches marked on the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar, NamedTuple, Self

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.strip import Strip

from core.text import clean_line
from tui.panes.conversation.blocks import Block, Fold
from tui.panes.conversation.search import Findings, Hit, Span
from tui.panes.conversation.view import BlockView
from tui.virtual_list.cache import Rendered
from tui.widgets.workers import start_job

__all__ = ["FindingView"]

TURN_SECONDS = 0.005
LONGEST_NEEDLE = 200
SHOWN_NEEDLE = 30
MOST_PASSED_OVER = 50


class _Origin(NamedTuple):
    """Where the reader was before the search."""

    top: tuple[int, int]
    following: bool
    cursor: Hashable | None


class FindingView(BlockView):
    """Finds as one types; Enter keeps the search for `n` and `N`, Esc ends it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--found", "lines--found-current"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Search", id="find.search", show=False),
        Binding("n", "find_next(1)", "Next match", id="find.next", show=False),
        Binding("N", "find_next(-1)", "Previous match", id="find.previous", show=False),
    ]

    def __init__(
        self,
        *,
        title: str,
        suggestions: Sequence[str],
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, suggestions=suggestions)
        self._title = title
        self._needle = ""
        self._typing = False
        self._findings: Findings | None = None
        self._hit: Hit | None = None
        self._rank = 0
        self._origin = _Origin((0, 0), True, None)
        self._looking = False
        self._unfolded_here: list[Fold] = []
        self._drawn: dict[Hashable, tuple[Rendered, list[list[Span]]]] = {}
        self._painted_marks: dict[tuple[Hashable, int], tuple[Strip, tuple[object, ...], Strip]] = {}
        self._show_search()

    @property
    def searching(self) -> bool:
        """Whether a search is on."""
        return self._typing or self._findings is not None

    # Keys

    def action_find(self) -> None:
        """Begin a search: what is typed from here on is what is looked for."""
        if not self.searching:
            self._origin = _Origin(self._top, self._following, self._cursor)
        self._typing = True
        self._look_for("")

    def action_find_next(self, step: int) -> None:
        """Go to the next match, or the one before, around the ends."""
        if self._findings is not None and not self._typing:
            self._step(step)

    def on_key(self, event: events.Key) -> None:
        """Take what is typed while a search begins; Esc ends a search before it means anything else."""
        if not self.searching or (not self._typing and event.key != "escape"):
            return
        match event.key:
            case "escape":
                self._end_search(back=self._typing)
            case "enter":
                self._typing = False
                if not self._needle.strip():
                    self._end_search(back=True)
            case "backspace":
                self._look_for(self._needle[:-1])
            case "ctrl+u":
                self._look_for("")
            case _ if event.character is not None and event.is_printable:
                self._look_for(self._needle + event.character)
            case _:
                return
        event.stop()
        event.prevent_default()
        self._show_search()

    def on_paste(self, event: events.Paste) -> None:
        """Take what is pasted while a search begins."""
        if self._typing:
            event.stop()
            self._look_for(self._needle + clean_line(event.text))

    # Searching

    def _look_for(self, needle: str) -> None:
        self._needle = needle[:LONGEST_NEEDLE]
        self._fold_again(kept=None)
        self._findings = Findings(self._needle) if self._needle.strip() else None
        self._hit = None
        self._forget_marks()
        if self._findings is not None:
            self._looking = True
            start_job(self, self._look, "find")
        self.settle()
        self._show_search()

    async def _look(self) -> None:
        """Search from where the reader was: down to the end, then up from there."""
        findings = self._findings
        assert findings is not None
        start = min(self._origin.top[0], len(self._entries))
        if self._origin.following and self._rows:
            start = max(0, self._rows[0].place)
        turn = time.perf_counter()
        for blocks in (self._entries[start:], self._entries[start - 1 :: -1] if start else []):
            for block in findings.look(blocks):
                if block is not None and self._hit is None:
                    self._go_to(block, 0)
                if time.perf_counter() - turn > TURN_SECONDS:
                    self._show_search()
                    await asyncio.sleep(0)
                    turn = time.perf_counter()
        self._looked()

    def _looked(self) -> None:
        self._looking = False
        index = self.index_of(self._hit.key) if self._hit is not None else None
        self._rank = 0
        if self._findings is not None and self._hit is not None and index is not None:
            self._rank = self._findings.rank(self._entries[:index], self._hit)
        self._show_search()

    def splice(self, start: int, removed: int, entries: Iterable[Block]) -> None:
        """Replace entries; what was found in those that go is no longer counted."""
        if self._findings is not None:
            self._findings.forget(self._entries[start : start + removed])
        super().splice(start, removed, entries)

    def adopt(self, whole: Self) -> None:
        """Show the blocks of a longer view, which is given up for that; a search goes on in what is new."""
        places = (whole.index_of(fold.key) for fold in self._unfolded_here)
        unfolded = [whole.entries[place] for place in places if place is not None]
        hit = self._key_in(whole, self._hit.key) if self._hit is not None else None
        top, following, cursor = self._origin
        origin = (self.place_in(whole, top[0]), top[1])
        self._origin = _Origin(origin, following, self._key_in(whole, cursor))
        super().adopt(whole)
        self._unfolded_here = [fold for fold in unfolded if isinstance(fold, Fold)]
        if self._findings is not None:
            self._findings = Findings(self._needle)
            self._forget_marks()
            if self._hit is not None and hit is not None:
                self._hit = Hit(hit, self._hit.number)
            self._looking = True
            start_job(self, self._look_at_news, "find")

    def look_again(self) -> None:
        """Search what came or changed since; nothing moves for it."""
        if self._findings is not None and not self._looking:
            self._looking = True
            start_job(self, self._look_at_news, "find")

    async def _look_at_news(self) -> None:
        findings = self._findings
        assert findings is not None
        turn = time.perf_counter()
        for _ in findings.look(list(self._entries)):
            if time.perf_counter() - turn > TURN_SECONDS:
                await asyncio.sleep(0)
                turn = time.perf_counter()
        self._looked()

    def _step(self, step: int) -> None:
        findings = self._findings
        assert findings is not None
        place = self.index_of(self._hit.key) if self._hit is not None else None
        if place is None:
            place, number = (self._rows[0].place if self._rows else 0), -1 if step > 0 else 0
        else:
            assert self._hit is not None
            number = self._hit.number
        here = number + step
        size = len(self._entries)
        passed = 0
        for distance in range(size + 1):
            block = self._entries[(place + step * distance) % size]
            count = findings.count(block)
            at = here if not distance else 0 if step > 0 else count - 1
            if 0 <= at < count:
                passed += 1
                if self._go_to(block, at) or passed > MOST_PASSED_OVER:
                    break
        self._show_search()

    def _go_to(self, block: Block, number: int) -> bool:
        """Show a match of a block; False when there is none to be seen, which the count then knows."""
        findings = self._findings
        assert findings is not None
        index = self.index_of(block.key)
        if index is None:
            return False
        in_title = len(self._matches(block, self._rendered(index))) if isinstance(block, Fold) else 0
        if isinstance(block, Fold) and not block.open and number >= in_title:
            self.set_open(block, True)
            self._unfolded_here.append(block)
            behind = self._entries[index : self._span(index)[1] + 1]
            held = [found for found in findings.look(behind) if found not in (None, block)]
            if not held:
                return False
            from_end = number > in_title
            block = held[-1] if from_end else held[0]
            number = findings.count(block) - 1 if from_end else 0
            index = self._index[block.key]
        matches = self._matches(block, self._rendered(index))
        if not isinstance(block, Fold):
            findings.correct(block, len(matches))
        if not matches:
            return False
        number = min(number, len(matches) - 1)
        self._hit = Hit(block.key, number)
        self._rank = findings.rank(self._entries[:index], self._hit)
        self._cursor = block.key
        line = matches[number][0].line
        shown = any(row.place == index and row.line == line for row in self._rows[:-1])
        if shown:
            self._place(*self._top)
        else:
            self._top = (index, line)
            self._move(-(self._seen_size.height // 3))
        return True

    def _end_search(self, *, back: bool) -> None:
        self._typing = False
        self._needle = ""
        self._findings = None
        held = self._hit.key if self._hit is not None else None
        kept = None if back or held is None else self.group(self._entries[self._index[held]])
        self._fold_again(kept)
        self._hit = None
        self._forget_marks()
        if back:
            self._cursor = self._origin.cursor
            if self._origin.following:
                self.action_cursor_end()
            else:
                self._place(*self._origin.top)
        self.settle()

    def _fold_again(self, kept: Hashable | None) -> None:
        for fold in self._unfolded_here:
            if fold.open and fold.group != kept and self.index_of(fold.key) is not None:
                self.set_open(fold, False)
        self._unfolded_here.clear()

    # What shows

    def _show_search(self) -> None:
        if not self.searching:
            self.border_title = Content(self._title)
            return
        needle = clean_line(self._needle, SHOWN_NEEDLE) if self._needle.strip() else self._needle
        parts: list[str | tuple[str, str]] = [f"{self._title}  /{needle}"]
        if self._typing:
            parts.append("▏")
        if self._findings is not None:
            rank, total = self._rank, self._findings.total
            more = "…" if self._looking else ""
            parts.append((f" {rank}/{total}{more}" if total or more else " not found", "bold"))
        self.border_title = Content.assemble(*parts)

    def _forget_marks(self) -> None:
        self._drawn.clear()
        self._painted_marks.clear()
        self._pending = True

    def _matches(self, block: Block, rendered: Rendered) -> list[list[Span]]:
        assert self._findings is not None
        known = self._drawn.get(block.key)
        if known is None or known[0] is not rendered:
            rows = [strip.text for strip in rendered.strips]
            known = self._drawn[block.key] = (rendered, self._findings.drawn(block, rows))
        return known[1]

    def marked(self, entry: Block, rendered: Rendered, line: int, strip: Strip) -> Strip:
        """Mark the matches in a line."""
        if self._findings is None:
            return strip
        current = self._hit.number if self._hit is not None and self._hit.key == entry.key else -1
        spans = tuple(
            (span.start, span.end, number == current)
            for number, match in enumerate(self._matches(entry, rendered))
            for span in match
            if span.line == line
        )
        if not spans:
            return strip
        # The same strip again as long as nothing about it changed: it is not painted again then.
        known = self._painted_marks.get((entry.key, line))
        if known is not None and known[0] is strip and known[1] == spans:
            return known[2]
        marked = self._mark_spans(strip, spans)
        self._painted_marks[entry.key, line] = (strip, spans, marked)
        return marked

    def _mark_spans(self, strip: Strip, spans: Sequence[tuple[int, int, bool]]) -> Strip:
        """Lay the style of matches over parts of a line that follow each other, cut once."""
        bounds = [
            (strip.index_to_cell_position(start), strip.index_to_cell_position(end), is_current)
            for start, end, is_current in spans
        ]
        cuts = sorted({cell for start, end, _ in bounds for cell in (start, end)} - {0, strip.cell_length})
        styles = {
            start: self.palette["lines--found-current" if is_current else "lines--found"]
            for start, _, is_current in bounds
        }
        ends = {end for _, end, _ in bounds}
        style = None
        parts: list[Strip] = []
        for at, part in zip([0, *cuts], strip.divide([*cuts, strip.cell_length]), strict=True):
            style = styles.get(at, None if at in ends else style)
            parts.append(part if style is None else Strip(Segment.apply_style(part, post_style=style)))
        return Strip.join(parts)
