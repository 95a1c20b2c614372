"""The view that all panes share: it follows its tail, moves a cursor by entry, and marks what is new below."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Self

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content

from tui.virtual_list.entries import Entry, EntryT
from tui.virtual_list.window import LineWindow

__all__ = ["Entry", "LineView"]

LINES_A_STEP = 3
MOST_COUNTED = 200


class LineView(LineWindow[EntryT], can_focus=True):
    """The base of the panes.

    A subclass gives `render_entry`, changes its entries through `append`, `splice` and `touch`, and calls
    `settle` once after a batch of changes. The view follows its end until the reader moves up; from then
    on nothing moves, and the lower border counts what came below, until End.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_up", "Up", id="move.up", show=False),
        Binding("down,j", "cursor_down", "Down", id="move.down", show=False),
        Binding("pageup", "cursor_page(-1)", "Page up", id="move.page_up", show=False),
        Binding("pagedown", "cursor_page(1)", "Page down", id="move.page_down", show=False),
        Binding("home,g", "cursor_home", "Start", id="move.first", show=False),
        Binding("end,G", "cursor_end", "End", id="move.last", show=False),
        Binding("enter", "open", "Open", id="move.open", show=False),
    ]

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._cursor: Hashable | None = None
        self._new = 0
        self._grew = False
        self._mark = ""

    # What a subclass gives

    def counts_as_new(self, entry: EntryT) -> bool:
        """Whether the entry is counted in the mark of what came below."""
        return True

    def opened(self, entry: EntryT) -> None:
        """Enter or a double click on an entry."""

    def clicked(self, entry: EntryT, column: int, line: int) -> None:
        """A single click on an entry, at a cell of one of its lines."""

    # State

    @property
    def following(self) -> bool:
        """Whether the view stays at its end as entries come."""
        return self._following

    @property
    def new_below(self) -> int:
        """How many entries came below the screen since the reader moved up."""
        return self._new

    @property
    def cursor(self) -> EntryT | None:
        """The entry under the cursor; the last one while the cursor follows the end."""
        index = self._cursor_index()
        return self._entries[index] if 0 <= index < len(self._entries) else None

    def _cursor_index(self) -> int:
        found = self._index.get(self._cursor) if self._cursor is not None else None
        return len(self._entries) - 1 if found is None else found

    def lit_group(self) -> Hashable | None:
        """Name the group under the cursor."""
        entry = self.cursor
        return None if entry is None else self.group(entry)

    def append(self, *entries: EntryT) -> None:
        """Add entries at the end, and count them as new while the view does not follow."""
        super().append(*entries)
        if not self._following:
            self._new += sum(1 for entry in entries if self.counts_as_new(entry))
            self._grew = True

    def touch(self, key: Hashable) -> None:
        """Tell that an entry changed; its revision has risen already."""
        super().touch(key)
        if not self._following and self._rows and self._index.get(key, 0) > self._rows[-1].place:
            self._grew = True

    def clear(self) -> None:
        """Remove all entries."""
        self.splice(0, len(self._entries), ())
        self._cursor = None
        self._follow()
        self.settle()

    # A longer view of the same

    def keep_up(self, pane: Self) -> None:
        """As a view that is on no screen: guess heights for the width of one that is on it."""
        if self._seen_size.width != pane._seen_size.width:
            self._seen_size = pane._seen_size
            self._guess_heights()

    def place_in(self, whole: Self, index: int) -> int:
        """Where an entry is among those of a longer view: the one of its key, or else as far from the end."""
        found = whole.index_of(self._entries[index].key) if index < len(self._entries) else None
        return found if found is not None else max(0, index + len(whole._entries) - len(self._entries))

    def adopt(self, whole: Self) -> None:
        """Show what a longer view has, which is given up for that; the reader stays where he is."""
        cursor = self._key_in(whole, self._cursor)
        top = (self.place_in(whole, self._top[0]), self._top[1]) if self._entries else self._top
        self.replace_all(whole._entries, whole._index, whole._heights)
        self._cursor, self._top = cursor, top
        # Rows tell places among the old entries, and the lines of a key may be others now.
        self._rows = []
        self._cache.clear()

    def _key_in(self, whole: Self, key: Hashable | None) -> Hashable | None:
        """The key that an entry has in a longer view; None when there is none of it."""
        index = self._index.get(key) if key is not None else None
        return (
            None if index is None or not whole._entries else whole._entries[self.place_in(whole, index)].key
        )

    # Placing

    def _at_end(self) -> bool:
        if not self._rows or not self._entries or len(self._rows) < self._seen_size.height:
            return True
        last = self._rows[-1]
        return last.place == len(self._entries) - 1 and last.line == self._heights[last.place] - 1

    def placed(self) -> None:
        """Say on the lower border how much came below the screen."""
        if self._following or self._at_end():
            self._new, self._grew = 0, False
        else:
            start = self._rows[-1].place + 1
            below = self._entries[start : start + MOST_COUNTED]
            if len(below) < MOST_COUNTED:
                self._new = min(self._new, sum(1 for entry in below if self.counts_as_new(entry)))
        mark = f"{self._new} new ↓" if self._new else "more ↓" if self._grew else ""
        if mark != self._mark:
            self._mark = mark
            self.border_subtitle = Content(mark) if mark else None

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow a scroll by wheel, bar or program: lines not measured yet are measured on the way."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        # While a resize is under way the value is only clamped: the resize itself places the view.
        if self._placing or round(old_value) == round(new_value) or self._area() != self._seen_size:
            return
        index, offset = self._top
        change = round(new_value) - self._heights.before(index) - offset
        if abs(change) <= 2 * self._seen_size.height:
            self._move(change)
        else:
            self._place(*self._heights.at(round(new_value)))
        if self._at_end():
            self.action_cursor_end()

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: object) -> None:
        """Scroll at once: an animation would fight with the measuring of lines on the way."""
        super().scroll_to(x, y, animate=False, immediate=True)

    def _move(self, lines: int) -> None:
        self._place(*self._moved(lines))

    def _moved(self, lines: int) -> tuple[int, int]:
        """What is at the top when the view has moved; maybe further than the end allows."""
        index, offset = self._top
        offset += lines
        while offset < 0 and index > 0:
            index -= 1
            offset += self._measure(index)
        while index < len(self._entries) - 1 and offset >= self._measure(index):
            offset -= self._heights[index]
            index += 1
        return index, max(0, offset)

    def _place(self, index: int, offset: int) -> None:
        """Put a line of an entry at the top, as far as the end allows; the view follows from the last entry."""
        self._top = (index, offset)
        self._following = False
        self._fill()
        self._following = self._at_end() and self._on_last()
        self._publish()

    def _on_last(self) -> bool:
        return self._cursor is None or self._span(self._cursor_index())[1] == len(self._entries) - 1

    def _follow(self) -> None:
        self._following = True
        self._cursor = None

    # Cursor

    def show_entry(self, key: Hashable) -> None:
        """Put the cursor on an entry and bring it into view."""
        index = self._index.get(key)
        if index is None:
            return
        self._cursor = key
        if not self._area():
            return
        first, last = self._span(index)
        if self._rows and self._rows[0].place <= first and last < self._rows[-1].place:
            self._place(*self._top)
        else:
            self._top = (first, 0)
            self._move(-self._seen_size.height // 3)

    def _span(self, index: int) -> tuple[int, int]:
        group = self.group(self._entries[index])
        first = last = index
        while first > 0 and self.group(self._entries[first - 1]) == group:
            first -= 1
        while last < len(self._entries) - 1 and self.group(self._entries[last + 1]) == group:
            last += 1
        return first, last

    def _select(self, index: int) -> None:
        self._cursor = self._entries[index].key

    def action_cursor_down(self) -> None:
        """Move to the next entry, or read on in one that is taller than the screen."""
        if not self._rows or not self._entries:
            return
        top, bottom = self._rows[0].place, self._rows[-1]
        first, last = self._span(self._cursor_index())
        if last < top or first > bottom.place:
            self._select(top)
            self._place(*self._top)
        elif last > bottom.place or (last == bottom.place and bottom.line < self._heights[last] - 1):
            self._move(min(LINES_A_STEP, self._lines_below(last)))
        elif last == len(self._entries) - 1:
            self.action_cursor_end()
        else:
            self._select(last + 1)
            self._reveal_below(*self._span(last + 1))

    def _lines_below(self, index: int) -> int:
        bottom = self._rows[-1]
        lines = self._heights[bottom.place] - 1 - bottom.line
        for place in range(bottom.place + 1, index + 1):
            if lines >= LINES_A_STEP:
                break
            lines += self._measure(place)
        return lines

    def _reveal_below(self, first: int, last: int) -> None:
        bottom = self._rows[-1]
        needed = self._heights[bottom.place] - 1 - bottom.line
        room = self._seen_size.height
        for place in range(bottom.place + 1, last + 1):
            needed += self._measure(place)
            if needed >= room:
                break
        if last <= bottom.place:
            needed = needed if last == bottom.place else 0
        height = sum(self._measure(place) for place in range(first, min(last, first + room) + 1))
        if height >= room:
            self._place(first, 0)
        else:
            self._move(needed)

    def action_cursor_up(self) -> None:
        """Move to the previous entry, or read back in one that is taller than the screen."""
        if not self._rows or not self._entries:
            return
        top, bottom = self._rows[0], self._rows[-1].place
        first, last = self._span(self._cursor_index())
        if last < top.place or first > bottom:
            self._select(bottom)
            self._place(*self._top)
        elif first < top.place or (first == top.place and top.line > 0):
            self._move(-LINES_A_STEP)
        elif first > 0:
            self._select(first - 1)
            before, _ = self._span(first - 1)
            needed = 0
            for place in range(first - 1, before - 1, -1):
                if place < top.place or (place == top.place and top.line):
                    needed += self._measure(place) if place < top.place else top.line
                if needed > self._seen_size.height:
                    needed = LINES_A_STEP
                    break
            self._move(-needed)

    def action_cursor_page(self, direction: int) -> None:
        """Move a screen up or down, the cursor with it."""
        if not self._rows or not self._entries:
            return
        before = self._top
        chosen = self._cursor_index()
        row = next((y for y, row in enumerate(self._rows) if row.place == chosen), 0)
        # Where the cursor comes to is found first: the rows are made once, and not before.
        self._top = self._moved(direction * max(1, self._seen_size.height - 1))
        self._fill_downwards(self._area().height)
        if self._top == before:
            if direction > 0:
                self.action_cursor_end()
            else:
                self.action_cursor_home()
            return
        self._select(self._entry_at(row))
        self._place(*self._top)

    def _entry_at(self, row: int) -> int:
        """The entry that a row shows, or the last one when there are not as many."""
        index, offset = self._top
        row += offset
        while row >= self._measure(index) and index < len(self._entries) - 1:
            row -= self._heights[index]
            index += 1
        return index

    def action_cursor_home(self) -> None:
        """Go to the first entry."""
        if self._entries:
            self._select(0)
            self._place(0, 0)

    def action_cursor_end(self) -> None:
        """Go to the end, and follow it again."""
        self._follow()
        self.settle()

    def action_open(self) -> None:
        """Open the entry under the cursor."""
        entry = self.cursor
        if entry is not None:
            self.opened(entry)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to what was clicked; a double click opens it."""
        # The default of a double click is to select the text of every entry.
        event.prevent_default()
        offset = event.get_content_offset(self)
        y = -1 if offset is None else offset.y - len(self._head)
        if offset is None or not 0 <= y < len(self._rows) or not self._entries:
            return
        row = self._rows[y]
        entry = self._entries[row.place]
        self._cursor = entry.key
        self._place(*self._top)
        if event.chain == 2:
            self.opened(entry)
        else:
            self.clicked(entry, offset.x, row.line)
