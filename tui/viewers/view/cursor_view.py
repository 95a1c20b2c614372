"""The view of bodies with a cursor; other bodies it only scrolls."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import ClassVar, cast

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui.viewers.cancellation import in_thread
from tui.viewers.view.cursor import Article, Copy, Order, Steered, SteeredRows, Web, Work
from tui.viewers.view.document import Body, Rows
from tui.viewers.view.view import DocumentView
from tui.widgets.workers import start_job

__all__ = ["SteeredView"]


_TOLD_AFTER = 0.1


class SteeredView(DocumentView):
    """Moves the cursor of a body that has one, folds, sorts and filters it, and finds what is folded."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"document--cursor", "document--cursor-blurred"}

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "order('fold')", id="move.fold", show=False),
        Binding("right,l", "order('unfold')", id="move.unfold", show=False),
        Binding("enter", "order('open')", id="move.open", show=False),
        Binding("space", "space", id="file.toggle", show=False),
        Binding("E", "order('unfold_all')", id="file.unfold_all", show=False),
        Binding("F", "order('fold_all')", id="file.fold_all", show=False),
        Binding("s", "order('sort')", id="table.sort", show=False),
        Binding("S", "order('turn')", id="table.turn", show=False),
        Binding("a", "order('article')", id="results.article", show=False),
        Binding("A", "order('answer')", id="results.answer", show=False),
        Binding("c", "order('copy')", id="file.copy_value", show=False),
        Binding("p", "order('copy_place')", id="file.copy_place", show=False),
    ]

    class Moved(Message):
        """The cursor is on another entry, or the entries changed."""

        def __init__(self, view: SteeredView) -> None:
            self.view = view
            super().__init__()

        @property
        def control(self) -> SteeredView:
            """The view."""
            return self.view

        def can_replace(self, message: Message) -> bool:
            """Only the last of several counts."""
            return isinstance(message, SteeredView.Moved)

    class Asked(Message):
        """The reader asked for something outside the view."""

        def __init__(self, outcome: Article | Copy) -> None:
            self.outcome = outcome
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._steered: Steered | None = None
        self._places: Sequence[Hashable] = ()
        self._at = -1
        self._working: Work | None = None

    @property
    def steered(self) -> Steered | None:
        """The body shown, if it has a cursor."""
        return self._steered

    @property
    def busy(self) -> str:
        """What is being done to the body, in a word; empty when nothing is."""
        return self._working.word if self._working is not None else ""

    def stop_work(self) -> bool:
        """Give up what is being done to the body; False when nothing is."""
        if self._working is None:
            return False
        self.workers.cancel_group(self, "steering")
        return True

    @property
    def matches(self) -> tuple[int, int]:
        """The number of the current match, from 1, and the count of all; zeros when there are none."""
        return (self._at + 1, len(self._places)) if self._steered is not None else super().matches

    def show(self, body: Body, *, place: float = 0.0, unfinished: bool = False) -> None:
        """Show a body from its top, or from a place between 0 and 1; `unfinished` when more of it may come."""
        self._steered = body if isinstance(body, Steered) else None
        self._places, self._at = (), -1
        super().show(body, place=place, unfinished=unfinished)
        self.post_message(self.Moved(self))

    def order(self, order: Order) -> None:
        """Give the body an order, and show what came of it."""
        body = self._steered
        if body is None or self._steered_rows() is None:
            return
        self.release_anchor()
        outcome = body.steer(order)
        match outcome:
            case Web(url):
                self.post_message(self.LinkClicked(url))
            case Article() | Copy():
                self.post_message(self.Asked(outcome))
            case Work():
                start_job(self, partial(self._work, body, outcome), "steering")
            case True:
                self._changed()
            case _:
                pass

    async def search(self, needle: str) -> int:
        """Mark every place of `needle`, also those that are folded, and go to the next; gives their number."""
        if self._steered is None:
            return await super().search(needle)
        self._needle = needle
        self.release_anchor()
        await self._find()
        if self._places:
            here = self._steered.row_place()
            self._at = next((i for i, place in enumerate(self._places) if not _before(place, here)), 0)
            self._steered.reveal(self._places[self._at])
        self._changed()
        return len(self._places)

    def step_match(self, step: int) -> None:
        """Go on to the next match, or back to the one before, around the ends."""
        if self._steered is None:
            super().step_match(step)
        elif self._places:
            self.release_anchor()
            self._at = (self._at + step) % len(self._places)
            self._steered.reveal(self._places[self._at])
            self._changed()

    # -- keys -------------------------------------------------------------------------------------

    def action_order(self, name: str) -> None:
        """Give an order by its name."""
        self.order(Order(name))

    def action_space(self) -> None:
        """Fold or unfold; where nothing folds, a page down."""
        if self._steered is not None and any(key.order == "fold" for key in self._steered.keys):
            self.order(Order("toggle"))
        else:
            self.action_page_down()

    def action_scroll_up(self) -> None:
        """Go to the entry above, or scroll."""
        if not self._step(-1):
            super().action_scroll_up()

    def action_scroll_down(self) -> None:
        """Go to the entry below, or scroll."""
        if not self._step(1):
            super().action_scroll_down()

    def action_page_up(self) -> None:
        """Go a page up."""
        if not self._step(-self._page()):
            super().action_page_up()

    def action_page_down(self) -> None:
        """Go a page down."""
        if not self._step(self._page()):
            super().action_page_down()

    def action_scroll_home(self) -> None:
        """Go to the first entry, or to the top."""
        if self._steered is None:
            super().action_scroll_home()
        else:
            self._step(-self._steered.entries)

    def action_scroll_end(self) -> None:
        """Go to the last entry, or to the end."""
        if self._steered is None:
            super().action_scroll_end()
        else:
            self._step(self._steered.entries)
            self._ask_for_end()

    def _page(self) -> int:
        rows = self._steered_rows()
        if rows is None or self._steered is None or not self._steered.entries:
            return 1
        _, height = rows.span(min(self._steered.cursor, self._steered.entries - 1))
        return max(1, (self.size.height - rows.head - 1) // max(1, height))

    def _step(self, entries: int) -> bool:
        body = self._steered
        if body is None:
            return False
        self.release_anchor()
        before = body.cursor
        body.cursor = max(0, min(body.cursor + entries, body.entries - 1))
        if body.cursor == 0 and entries < 0:
            self.scroll_to(y=0, animate=False, force=True)
        self._moved(before)
        return True

    # -- mouse ------------------------------------------------------------------------------------

    async def _on_click(self, event: events.Click) -> None:
        rows, body = self._steered_rows(), self._steered
        offset = event.get_content_offset(self)
        if rows is None or body is None or offset is None:
            return
        event.prevent_default()
        event.stop()
        y = self._row_at(offset.y)
        if y >= len(rows):
            return
        order = rows.order_at(offset.x, y)
        entry = rows.entry_at(y)
        if entry is not None:
            self.release_anchor()
            before, body.cursor = body.cursor, entry
            self._moved(before)
        if order is not None:
            self.order(order)
        elif entry is not None and event.chain == 2:
            self.order(Order("open"))

    # -- drawing ----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Render one line of the visible part, with the cursor."""
        strip = super().render_line(y)
        rows, body = self._steered_rows(), self._steered
        if rows is None or body is None:
            return strip
        row = self._row_at(y)
        if row >= len(rows) or rows.entry_at(row) != body.cursor or row < rows.head:
            return strip
        name = "document--cursor" if self.has_focus else "document--cursor-blurred"
        style = self.get_component_rich_style(name, partial=True)
        if style.reverse:
            # Where the cursor is told by reversing, every colour in the row would become a block of its own.
            return Strip([Segment(strip.text, self.rich_style + style)])
        return Strip([Segment(part.text, part.style + style if part.style else style) for part in strip])

    def _row_at(self, y: int) -> int:
        rows = self._steered_rows()
        return y if rows is not None and y < rows.head else super()._row_at(y)

    def _marks(self, index: int, strip: Strip) -> list[tuple[int, int, bool]]:
        body, rows = self._steered, self._steered_rows()
        if body is None or rows is None:
            return super()._marks(index, strip)
        if not self._needle or not self._places or index < rows.head:
            return []
        text, wanted = strip.text.casefold(), self._needle.casefold()
        marks: list[tuple[int, int, bool]] = []
        at = text.find(wanted)
        while at >= 0:
            marks.append((at, at + len(wanted), False))
            at = text.find(wanted, at + len(wanted))
        return marks

    def _on_resize(self, event: events.Resize) -> None:
        super()._on_resize(event)
        # What comes to sight below takes rows from the end, where the cursor may be.
        self._show_cursor()

    def _take(self, rows: Rows) -> None:
        super()._take(rows)
        if self._steered is not None:
            self._show_cursor()
            self.post_message(self.Moved(self))

    async def _find(self) -> None:
        body = self._steered
        if body is None:
            await super()._find()
            return
        needle = self._needle
        places = await in_thread(partial(body.find_entries, needle)) if needle else ()
        if body is not self._steered:
            return
        here = self._places[self._at] if 0 <= self._at < len(self._places) else None
        self._places = places
        self._at = places.index(here) if here is not None and here in places else -1
        self._strips.clear()
        self.refresh()

    async def _work(self, body: Steered, work: Work) -> None:
        self._working = work
        told = self.set_timer(_TOLD_AFTER, lambda: self.post_message(self.Moved(self)))
        try:
            change = await in_thread(work.prepare)
        finally:
            told.stop()
            if self._working is work:
                self._working = None
                self.post_message(self.Moved(self))
        if body is not self._steered:
            return
        change()
        if self._needle:
            await self._find()
        self._changed()

    def _steered_rows(self) -> SteeredRows | None:
        return (
            cast(SteeredRows, self._rows) if self._steered is not None and self._laid is self._body else None
        )

    def _changed(self) -> None:
        self._strips.clear()
        self.virtual_size = Size(self._width, len(self._rows))
        self.refresh()
        self._show_cursor()
        self.post_message(self.Moved(self))

    def _moved(self, before: int) -> None:
        self._show_cursor()
        if self._steered is not None and self._steered.cursor != before:
            self.refresh()
            self.post_message(self.Moved(self))

    def _show_cursor(self) -> None:
        body, rows = self._steered, self._steered_rows()
        if body is None or rows is None:
            return
        body.cursor = max(0, min(body.cursor, body.entries - 1))
        if not body.entries:
            return
        first, count = rows.span(body.cursor)
        top, height = int(self.scroll_offset.y), self.scrollable_content_region.height
        # It is the view that moves here, and not the reader.
        to_end = self._to_end
        if first - rows.head < top:
            self.scroll_to(y=first - rows.head, animate=False, force=True)
        elif first + count > top + height:
            self.scroll_to(y=first + count - height, animate=False, force=True)
        self._to_end = to_end


def _before(place: Hashable, here: Hashable) -> bool:
    match place, here:
        case tuple(), tuple():
            return place < here
        case int(), int():
            return place < here
        case _:
            return False
