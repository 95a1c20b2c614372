"""The widget that shows a body: rows on the line API, laid out in a thread, searched, followed to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as VisualStyle

from tui.graphics.app import PicturingApp
from tui.graphics.store import Shelf
from tui.render.markdown import MARKDOWN_COMPONENTS, MarkdownTheme
from tui.viewers.bodies.picture import Drawn, Pictured
from tui.viewers.bodies.text import TextBody
from tui.viewers.cancellation import in_thread
from tui.viewers.view.document import ROLES, Body, Glanced, ListRows, Match, Rows
from tui.viewers.view.links import FoundLink, links_in
from tui.viewers.view.marks import marked
from tui.viewers.view.picture_anchor import Hook
from tui.widgets.workers import start_job

__all__ = ["DocumentView"]

_CACHED_ROWS = 512


class DocumentView(ScrollView, can_focus=True):
    """Shows one body at a time; `show` replaces it and nothing of an older one appears afterwards."""

    COMPONENT_CLASSES: ClassVar[set[str]] = (
        {f"document--{role}" for role in ROLES}
        | set(MARKDOWN_COMPONENTS)
        | {"document--match", "document--current"}
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", id="move.up", show=False),
        Binding("down,j", "scroll_down", "Down", id="move.down", show=False),
        Binding("pageup", "page_up", "Page up", id="move.page_up", show=False),
        Binding("pagedown", "page_down", "Page down", id="move.page_down", show=False),
        Binding("b,ctrl+b", "page_up", "Page up", id="file.page_up", show=False),
        Binding("space,ctrl+f", "page_down", "Page down", id="file.page_down", show=False),
        Binding("home,g", "scroll_home", "Top", id="move.first", show=False),
        Binding("end,G", "scroll_end", "End", id="move.last", show=False),
        Binding("L", "links", "Links", id="file.links", show=False),
    ]

    ALLOW_SELECT = False

    class Laid(Message):
        """The body shown is laid out in full."""

        def __init__(self, view: DocumentView) -> None:
            self.view = view
            super().__init__()

        @property
        def control(self) -> DocumentView:
            """The view."""
            return self.view

    class NearEnd(Message):
        """The reader is within a screen of the end."""

        def __init__(self, view: DocumentView) -> None:
            self.view = view
            super().__init__()

        @property
        def control(self) -> DocumentView:
            """The view."""
            return self.view

    class Ends(Message):
        """The reader asked for the very end, or for the very beginning."""

        def __init__(self, *, last: bool) -> None:
            self.last = last
            super().__init__()

    class LinkClicked(Message):
        """A link was clicked or chosen; `url` is as untrusted as the text it stands in."""

        def __init__(self, url: str) -> None:
            self.url = url
            super().__init__()

    class LinksFound(Message):
        """The document has several links; `choose` is called with the one the person chooses, or None.

        The cursor of the list starts at `first`.
        """

        def __init__(
            self, links: Sequence[FoundLink], first: int, choose: Callable[[str | None], None]
        ) -> None:
            self.links = links
            self.first = first
            self.choose = choose
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._body: Body = TextBody("")
        self._laid: Body | None = None
        self._rows: Rows = ListRows()
        self._width = 0
        self._theme: MarkdownTheme | None = None
        self._strips: LRUCache[int, Strip] = LRUCache(_CACHED_ROWS)
        self._needle = ""
        self._matches: list[Match] = []
        self._by_row: dict[int, list[int]] = {}
        self._current = -1
        self._place: float | None = None
        self._to_end = False
        self._unfinished = False
        self._is_first = True
        self._hooks: list[Hook] = []

    @property
    def row_count(self) -> int:
        """The number of rows laid out."""
        return len(self._rows)

    @property
    def matches(self) -> tuple[int, int]:
        """The number of the current match, from 1, and the count of all; zeros when there are none."""
        return (self._current + 1, len(self._matches))

    @property
    def place(self) -> float:
        """Where the reader is, from 0 to 1."""
        return float(self.scroll_offset.y) / max(1, len(self._rows))

    @property
    def wants_end(self) -> bool:
        """Whether the reader asked for an end that was not there yet, and went nowhere else since."""
        return self._to_end

    def show(self, body: Body, *, place: float = 0.0, unfinished: bool = False) -> None:
        """Show a body from its top, or from a place between 0 and 1; `unfinished` when more of it may come."""
        self._body = body
        self._place = place or None
        # What was asked before all of it was there is meant for what comes.
        to_end = self._to_end and (self._is_first or self._unfinished)
        self._unfinished = unfinished
        self._laid = None
        self._rows = ListRows()
        self._hang(self._rows)
        self._strips.clear()
        self._matches, self._by_row, self._current = [], {}, -1
        self.virtual_size = Size(0, 0)
        self.scroll_to(0, 0, animate=False)
        self._to_end, self._is_first = to_end, False
        self._start_layout()

    def extend(self, body: Body, *, unfinished: bool = False) -> None:
        """Show a longer form of the body shown; the reader stays at the same row, or at the end he asked for."""
        self._body = body
        self._unfinished = unfinished
        self._start_layout()

    def text_at(self, y: int) -> str:
        """The text of row `y`."""
        row = self._rows.row(y)
        return row.plain if isinstance(row, Content) else row.text

    async def search(self, needle: str) -> int:
        """Mark every place of `needle` and go to the first at or below the top; gives their number."""
        self._needle = needle
        self.release_anchor()
        await self._find()
        if self._matches:
            top = int(self.scroll_offset.y)
            self._current = next((i for i, match in enumerate(self._matches) if match.row >= top), 0)
            self._go_to_match()
        self.refresh()
        return len(self._matches)

    def step_match(self, step: int) -> None:
        """Go on to the next match, or back to the one before, around the ends."""
        if self._matches:
            self.release_anchor()
            self._current = (self._current + step) % len(self._matches)
            self._strips.clear()
            self._go_to_match()
            self.refresh()

    def refresh_pictures(self) -> None:
        """Draw all rows anew: the terminal has one of their pictures now, or has it no more."""
        self._strips.clear()
        self.refresh()

    def on_unmount(self) -> None:
        """Take the pictures along."""
        self._hang(ListRows())

    def render_line(self, y: int) -> Strip:
        """Render one line of the visible part."""
        index = self._row_at(y)
        base = self.rich_style
        width = self.size.width
        if index >= len(self._rows):
            return Strip.blank(width, base)
        strip = self._strips.get(index)
        if strip is None:
            strip = self._strip(index)
            self._strips[index] = strip
        return strip.crop_extend(0, width, base)

    def _row_at(self, y: int) -> int:
        """The row on line `y` of the visible part."""
        return y + int(self.scroll_offset.y)

    def notify_style_update(self) -> None:
        """Colour everything anew when the theme changed."""
        super().notify_style_update()
        self._strips.clear()
        if self._theme is not None:
            # The styles of the components follow this one: read now they would be those of the theme before.
            self.call_next(self._colour_anew)

    def _colour_anew(self) -> None:
        if self._theme is not None and self._read_theme() != self._theme:
            self._place = self._place or self.place or None
            self._start_layout()

    def action_scroll_home(self) -> None:
        """Go to the top."""
        self.release_anchor()
        self.scroll_home(animate=False)
        self.post_message(self.Ends(last=False))

    def action_scroll_end(self) -> None:
        """Go to the end, as soon as it is known where that is."""
        self._ask_for_end()
        self.scroll_end(animate=False)
        self.post_message(self.Ends(last=True))

    def _ask_for_end(self) -> None:
        self._to_end = self._is_first or self._unfinished or self._laid is not self._body

    def release_anchor(self) -> None:
        """Take note that the reader goes somewhere: whoever does so does not want the end any more."""
        super().release_anchor()
        self._to_end = False

    def action_links(self) -> None:
        """Have one of the links of the document chosen; a single one needs no choice."""
        start_job(self, self._choose_link, "links")

    async def _choose_link(self) -> None:
        found = await in_thread(partial(links_in, self._rows))
        if len(found) > 1:
            top = int(self.scroll_offset.y)
            at = next((i for i, link in enumerate(found) if link.row >= top), len(found) - 1)
            self.post_message(self.LinksFound(found, at, self._follow))
        elif found:
            self._follow(found[0].url)
        else:
            self.notify("There is no link here.", markup=False)

    def _follow(self, url: str | None) -> None:
        if url:
            self.post_message(self.LinkClicked(url))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say when the reader comes near the end."""
        super().watch_scroll_y(old_value, new_value)
        height = self.scrollable_content_region.height
        if new_value > old_value and new_value + 2 * height >= len(self._rows):
            self.post_message(self.NearEnd(self))

    def _on_resize(self, event: events.Resize) -> None:
        if self._content_width() != self._width:
            self._place = self._place or self.place or None
            self._start_layout()
        elif self._laid is not self._body:
            # A longer form of what is shown is on its way: the reader stays at the same row.
            self._start_layout()

    async def _on_click(self, event: events.Click) -> None:
        url = event.style.meta.get("url")
        if isinstance(url, str) and url:
            event.stop()
            self.post_message(self.LinkClicked(url))

    def _content_width(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def _start_layout(self) -> None:
        if self.is_mounted and self.size.width:
            start_job(self, self._lay_out, "layout")

    async def _lay_out(self) -> None:
        body, width, theme = self._body, self._content_width(), self._read_theme()
        self._width, self._theme = width, theme
        if isinstance(body, Glanced) and not len(self._rows) and self._place is None:
            glance = await asyncio.to_thread(body.glance, width, theme)
            if glance is not None:
                self._take(glance)
        canvas = self._shelf.canvas if self._shelf is not None else None
        if isinstance(body, Drawn) and canvas is not None:
            rows = await asyncio.to_thread(body.draw, width, theme, canvas)
        else:
            rows = await asyncio.to_thread(body.lay_out, width, theme)
        self._laid = body
        to_end = self._to_end
        self._take(rows)
        if to_end:
            self.action_scroll_end()
        elif self._place is not None:
            self.scroll_to(0, round(self._place * len(rows)), animate=False)
        self._place = None
        if self._needle:
            current = self._current
            await self._find()
            self._current = min(current, len(self._matches) - 1)
            self.refresh()
        self.post_message(self.Laid(self))

    @property
    def _shelf(self) -> Shelf | None:
        return self.app.pictures if isinstance(self.app, PicturingApp) else None

    def _hang(self, rows: Rows) -> None:
        """Have the terminal show the pictures in these rows, if there are any, in place of those before."""
        shelf = self._shelf
        if shelf is None:
            return
        for hook in self._hooks:
            shelf.take_down(hook)
        self._hooks = []
        if isinstance(rows, Pictured):
            self._hooks = [Hook(self, rows, each) for each in rows.pictures]
            for hook in self._hooks:
                hook.rows.hung = shelf.hang(hook, hook.rows.picture)

    def _take(self, rows: Rows) -> None:
        self._rows = rows
        self._hang(rows)
        self._strips.clear()
        self._matches, self._by_row = [], {}
        self.virtual_size = Size(self._width, len(rows))
        self.refresh()

    async def _find(self) -> None:
        rows = self._rows
        found = await asyncio.to_thread(rows.find, self._needle) if self._needle else []
        if rows is not self._rows:
            return
        self._strips.clear()
        self._matches = found
        self._by_row = {}
        for index, match in enumerate(found):
            self._by_row.setdefault(match.row, []).append(index)
        self._current = -1

    def _go_to_match(self) -> None:
        row = self._matches[self._current].row
        height = self.scrollable_content_region.height
        if not self.scroll_offset.y <= row < self.scroll_offset.y + height:
            self.scroll_to_region(
                Region(0, max(0, row - height // 3), 1, height), animate=False, force=True, x_axis=False
            )

    def _strip(self, index: int) -> Strip:
        row = self._rows.row(index)
        if isinstance(row, Content):
            segments = [
                Segment(text, style.rich_style)
                for text, style in row.render(self.visual_style, end="", parse_style=self._role_style)
            ]
            strip = Strip(segments)
        else:
            strip = row.apply_style(self.rich_style)
        marks = self._marks(index, strip)
        if not marks:
            return strip
        names = ("document--match", "document--current")
        return marked(strip, marks, *map(self.get_component_rich_style, names))

    def _marks(self, index: int, strip: Strip) -> list[tuple[int, int, bool]]:
        """What is found on a row: character ranges, and whether each is the current match."""
        return [
            (self._matches[number].start, self._matches[number].end, number == self._current)
            for number in self._by_row.get(index, ())
        ]

    def _role_style(self, role: str | VisualStyle) -> VisualStyle:
        return self.get_visual_style(f"document--{role}", partial=True) if isinstance(role, str) else role

    def _read_theme(self) -> MarkdownTheme:
        return MarkdownTheme.read(lambda name: self.get_component_rich_style(name, partial=True))
