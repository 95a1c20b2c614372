"""The widget that shows a body: rows on the line API, laid out in a thread, searched, steered by a cursor.

A body with a cursor (`CursorBody`) is folded, sorted and filtered with keys; any other body only scrolls.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as VisualStyle

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.markdown.renderer import MARKDOWN_COMPONENTS, MarkdownTheme
from ua_tui.tui.render.strips import highlight
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.viewers.bodies.text import TextBody, TextRows
from ua_tui.tui.viewers.cursor_body import (
    BackgroundWork,
    BodyCommand,
    CopyText,
    CursorBody,
    CursorRows,
    OpenArticle,
    OpenLink,
    SaveCsv,
)
from ua_tui.tui.viewers.document import (
    ROLES,
    Body,
    Landmark,
    ListRows,
    Match,
    Rows,
)
from ua_tui.tui.viewers.passage import Passage, find_passage
from ua_tui.tui.viewers.view.links import FoundLink, LinkClicked, first_from, links_in
from ua_tui.tui.viewers.view.pictures import DocumentPictures
from ua_tui.tui.viewers.view.search import Matches
from ua_tui.tui.workers import start_job

_ACTIONS_OF: Mapping[str, tuple[str, ...]] = {
    "unfold_all": ("file.unfold_all",),
    "fold_all": ("file.fold_all",),
    "sort": ("table.sort", "table.turn"),
    "ask_filter": ("table.filter",),
    "article": ("results.article",),
    "answer": ("results.answer",),
    "copy": ("file.copy_value",),
    "copy_place": ("file.copy_place",),
}
"""The actions that a command of a body stands for."""
_SHORT = 1_000
"""Characters that are laid out in no time."""


class DocumentView(ScrollView, can_focus=True):
    """Shows one body at a time; `show` replaces it, and nothing of an older body appears afterwards.

    Attributes:
        body: the body shown.
        cursor_body: the body shown, if it has a cursor.
        wants_end: whether the reader asked for an end that was not available yet, and has not moved since.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = (
        {f"document--{role}" for role in ROLES}
        | set(MARKDOWN_COMPONENTS)
        | {"document--match", "document--current", "document--cursor", "document--cursor-blurred"}
    )

    BINDINGS = bindings("DocumentView")

    ALLOW_SELECT = False

    @property
    def idle_actions(self) -> tuple[str, ...]:
        """The beginnings of the names of actions that do nothing with what is shown, for the help."""
        commands = {key.command for key in self.cursor_body.keys} if self.cursor_body is not None else set()
        idle = [name for command, names in _ACTIONS_OF.items() if command not in commands for name in names]
        if not commands & {"fold", "unfold"}:
            idle += ["move.fold", "move.unfold"]
        return (*idle, *(() if self.has_picture else ("picture.",)))

    @dataclass
    class ViewMessage(Message):
        """A message of a view."""

        view: DocumentView

    class LaidOut(ViewMessage):
        """The body is completely laid out."""

    class NearEnd(ViewMessage):
        """The reader is within a screen of the end."""

    class CursorMoved(ViewMessage):
        """The cursor is on another entry, or the entries changed."""

        def can_replace(self, message: Message) -> bool:
            """Of several in a row, only the last is handled."""
            return isinstance(message, DocumentView.CursorMoved)

    @dataclass
    class EdgeRequested(Message):
        """The reader went to the very end, or to the very beginning."""

        last: bool

    @dataclass
    class LinksFound(Message):
        """The document has several links, from the first one in view on; `choose` gets the URL that is chosen."""

        links: Sequence[FoundLink]
        choose: Callable[[str], None]

    @dataclass
    class Requested(Message):
        """The reader asked for something outside the view."""

        outcome: OpenArticle | SaveCsv

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.body: Body = TextBody("")
        self.cursor_body: CursorBody | None = None
        self._laid_out: Body | None = None
        self._rows: Rows = ListRows()
        self._width = 0
        self._theme: MarkdownTheme | None = None
        self._strips: LRUCache[int, Strip] = LRUCache(512)
        self._needle = ""
        self._matches = Matches()
        self._work: BackgroundWork | None = None
        self._command: BodyCommand | None = None
        self._place: float | None = None
        self._landmark: int | None = None
        self._line = 0
        self.wants_end = False
        self._unfinished = False
        self._is_first = True
        self.full_width = False
        self._marked_row = -1
        self._pictures = DocumentPictures(self, self._redraw)

    # -- content ----------------------------------------------------------------------------------

    @property
    def row_count(self) -> int:
        """The number of rows laid out."""
        return len(self._rows)

    @property
    def place(self) -> float:
        """How far the reader has scrolled, from 0 to 1."""
        return float(self.scroll_offset.y) / max(1, len(self._rows))

    @property
    def landmarks(self) -> Sequence[Landmark]:
        """The places of the body to jump to, such as headings."""
        return self._rows.landmarks

    def go_to_row(self, row: int, *, below: int = 0) -> None:
        """Scroll to a row, with `below` rows above it."""
        self.release_anchor()
        self.scroll_to(y=max(0, row - below), animate=False, force=True, immediate=True)

    def go_to_landmark(self, number: int) -> None:
        """Scroll to one of the `landmarks`, and stay at it when rows are laid out anew, until the reader moves."""
        if number < len(landmarks := self.landmarks):
            self.go_to_row(landmarks[number].row)
            self._landmark = number

    def step_landmark(self, step: int) -> int:
        """Mark and scroll to the landmark after or before the marked one; returns its number, -1 without any.

        If the marked one is not on the screen, it is the one after or before what is.
        """
        rows = [landmark.row for landmark in self.landmarks]
        if not rows:
            return -1
        top = int(self.scroll_offset.y)
        bottom = top + self.scrollable_content_region.height
        if self._marked_row in rows and top <= self._marked_row < bottom:
            number = rows.index(self._marked_row) + step
        else:
            number = bisect_left(rows, top) if step > 0 else bisect_right(rows, bottom - 1) - 1
        number %= len(rows)
        self.mark_row(rows[number])
        self.go_to_row(rows[number], below=3)
        return number

    def mark_row(self, row: int) -> None:
        """Mark a row by its first cell, instead of any other."""
        self._marked_row = row
        self._redraw()

    def show(self, body: Body, *, place: float = 0.0, unfinished: bool = False, line: int = 0) -> None:
        """Show a body from its top, from a place between 0 and 1, or around a line of its text, from 1.

        `unfinished` if more of it may follow.
        """
        self._set_body(body)
        self._command = None
        self.full_width = False
        # A request for the end that came before everything was available applies to what follows.
        to_end = self.wants_end and (self._is_first or self._unfinished)
        self._unfinished = unfinished
        self._laid_out = None
        self._rows = ListRows()
        self._marked_row = -1
        self._pictures.clear()
        self._strips.clear()
        self._matches = Matches()
        self.virtual_size = Size(0, 0)
        self.scroll_to(0, 0, animate=False, force=True, immediate=True)
        self.wants_end, self._is_first = to_end, False
        self._place, self._line, self._landmark = place or None, line, None
        self._start_layout()
        self.post_message(self.CursorMoved(self))

    def extend(self, body: Body, *, unfinished: bool = False) -> None:
        """Show a longer form of the body; the reader stays at the same row, or at the requested end."""
        self._set_body(body)
        self._unfinished = unfinished
        if self.cursor_body is not None:
            self._matches = Matches()
        self._start_layout()

    def _set_body(self, body: Body) -> None:
        self.body = body
        self.cursor_body = body if isinstance(body, CursorBody) else None

    def on_unmount(self) -> None:
        """Remove the pictures from the terminal."""
        self._pictures.clear()

    # -- layout -----------------------------------------------------------------------------------

    @property
    def has_picture(self) -> bool:
        """Whether the body is a picture, or has one."""
        return self.body.has_picture

    def action_full_width(self) -> None:
        """Show pictures in the full width, or whole."""
        self.full_width = not self.full_width
        if self._fit():
            self._lay_out_again()

    def _fit(self) -> bool:
        """Fit pictures to the view; returns whether that changes their size."""
        rows = None if self.full_width else self.scrollable_content_region.height
        return self.has_picture and self.body.fit_to(rows, self._pictures.canvas)

    def _start_layout(self) -> None:
        if self.is_mounted and self.size.width:
            start_job(self, self._lay_out, "layout")

    async def _lay_out(self) -> None:
        body, width, theme = self.body, max(1, self.scrollable_content_region.width), self._read_theme()
        self._fit()
        self._width, self._theme = width, theme
        if isinstance(body, TextBody) and len(body.text) <= _SHORT:
            # What is said while a file is read comes also while every thread is busy.
            rows: Rows = body.lay_out(width, theme)
        else:
            rows = await in_thread(body.lay_out, width, theme)
        self._laid_out = body
        to_end = self.wants_end
        current = self._matches.current
        self._rows = rows
        self._pictures.show(rows)
        if self.cursor_body is None:
            self._matches = Matches()
        self._update_rows()
        if to_end:
            self._go_to_end()
        elif self._landmark is not None:
            self.go_to_landmark(self._landmark)
        elif self._place is not None:
            self.scroll_to(0, round(self._place * len(rows)), animate=False, force=True, immediate=True)
        if self._line and isinstance(rows, TextRows):
            row = rows.row_of(self._line)
            self.mark_row(row)
            self.go_to_row(row, below=self.scrollable_content_region.height // 3)
        self._place, self._line = None, 0
        if self._needle:
            await self._find(current)
        if self._command is not None:
            self.run_command(self._command)
        self.post_message(self.LaidOut(self))

    def _on_resize(self, event: events.Resize) -> None:
        if max(1, self.scrollable_content_region.width) != self._width or self._fit():
            self._lay_out_again()
        elif self._laid_out is not self.body:
            # A longer form of the body is being laid out: the reader stays at the same row.
            self._start_layout()
        # A smaller view may no longer contain the cursor.
        self._show_cursor()

    def notify_style_update(self) -> None:
        """Lay out again if the theme changed."""
        super().notify_style_update()
        self._strips.clear()
        if self._theme is not None:
            # The component styles are updated after this call; reading them now would return the previous theme.
            self.call_next(self._apply_theme)

    def _apply_theme(self) -> None:
        if self._theme is not None and self._read_theme() != self._theme:
            self._lay_out_again()

    def _lay_out_again(self) -> None:
        self._place = self._place or self.place or None
        # The marked row is another one at another width.
        self._marked_row = -1
        self._start_layout()

    # -- search -----------------------------------------------------------------------------------

    @property
    def matches(self) -> tuple[int, int]:
        """The number of the current match, from 1, and the number of all matches; zeros if there are none."""
        return (self._matches.current + 1, len(self._matches))

    async def search(self, needle: str, row: int = -1) -> int:
        """Highlight every occurrence of `needle`, including folded ones; return their number.

        The current one is the first from `row` on, or else that which the reader comes to next, who goes there.
        """
        self._needle = needle
        self.release_anchor()
        await self._find()
        if len(self._matches):
            top = Match(int(self.scroll_offset.y) if row < 0 else row, 0, 0)
            body = self.cursor_body
            self._matches.select_from(top if body is None else body.cursor_place())
            if row < 0:
                self._show_match()
        self._redraw()
        return len(self._matches)

    @property
    def is_laid_out(self) -> bool:
        """Whether the rows are those of the body."""
        return self._laid_out is self.body

    async def show_passage(self, passage: Passage) -> bool:
        """Go to a passage, and highlight its word wherever it is; False if it is not in what is laid out."""
        body = self.cursor_body
        if body is not None:
            if passage.word:
                await self.search(passage.word)
            if 0 < passage.row <= body.entries and body is self.cursor_body:
                body.reveal(passage.row - 1)
                self._update_rows()
            return True
        searched = None
        while searched is not self._rows:
            # Rows that are laid out anew during the search are searched again.
            searched = self._rows
            row = await in_thread(find_passage, searched, passage)
        if row is None:
            return False
        self.mark_row(row)
        self.go_to_row(row, below=self.scrollable_content_region.height // 3)
        if passage.word:
            await self.search(passage.word, row)
        return True

    def step_match(self, step: int) -> None:
        """Go to the next match, or to the previous one; the ends are connected."""
        if len(self._matches):
            self.release_anchor()
            self._matches.current = (self._matches.current + step) % len(self._matches)
            self._show_match()
            self._redraw()

    async def _find(self, current: int = -1) -> None:
        """Find the needle again, and keep the current match."""
        body, rows, needle = self.cursor_body, self._rows, self._needle
        if body is not None:
            places = await in_thread(body.find_places, needle) if needle else ()
            if body is not self.cursor_body:
                return
            before = self._matches
            here = before.found[before.current] if before.current >= 0 else None
            self._matches = Matches(places, places.index(here) if here in places else -1, needle)
        else:
            found = await asyncio.to_thread(rows.find, needle)
            if rows is not self._rows:
                return
            self._matches = Matches(found, current)
        self._redraw()

    def _show_match(self) -> None:
        """Bring the current match into view."""
        match = self._matches.found[self._matches.current]
        if self.cursor_body is not None:
            self.cursor_body.reveal(match)
            self._update_rows()
            return
        row: int = match.row
        height = self.scrollable_content_region.height
        if not self.scroll_offset.y <= row < self.scroll_offset.y + height:
            self.scroll_to_region(
                Region(0, max(0, row - height // 3), 1, height), animate=False, force=True, x_axis=False
            )

    # -- commands ---------------------------------------------------------------------------------

    @property
    def busy(self) -> str:
        """What is being done to the body, in a word; empty if nothing is."""
        return self._work.label if self._work is not None else ""

    def stop_work(self) -> bool:
        """Cancel what is being done to the body; False if nothing is."""
        if self._work is None:
            return False
        self.workers.cancel_group(self, "command")
        return True

    def run_command(self, command: BodyCommand) -> None:
        """Give the body a command, and show the result; one that comes before its rows waits for them."""
        body = self.cursor_body
        if body is None:
            return
        self.release_anchor()
        if self._cursor_rows() is None:
            self._command = command
            return
        outcome = body.execute(command)
        match outcome:
            case OpenLink(url):
                self.post_message(LinkClicked(url))
            case CopyText(label, text):
                copy_text(self, text, label.capitalize())
            case OpenArticle() | SaveCsv():
                self.post_message(self.Requested(outcome))
            case BackgroundWork():
                start_job(self, self._run_work, "command", body, outcome)
            case True:
                self._update_rows()
            case _:
                pass

    async def _run_work(self, body: CursorBody, work: BackgroundWork) -> None:
        self._work = work
        timer = self.set_timer(0.1, lambda: self.post_message(self.CursorMoved(self)))
        try:
            change = await in_thread(work.prepare)
        finally:
            timer.stop()
            if self._work is work:
                self._work = None
                self.post_message(self.CursorMoved(self))
        if body is not self.cursor_body:
            return
        change()
        if self._needle:
            await self._find()
        self._update_rows()

    def action_command(self, name: str) -> None:
        """Give the body a command by its name."""
        self.run_command(BodyCommand(name))

    def action_toggle_or_page(self) -> None:
        """Fold or unfold; page down if nothing folds."""
        if self.cursor_body is not None and any(key.command == "fold" for key in self.cursor_body.keys):
            self.run_command(BodyCommand("toggle"))
        else:
            self.action_page(1)

    # -- links ------------------------------------------------------------------------------------

    def action_links(self) -> None:
        """List the links of the document to choose from; a single link is opened directly."""
        start_job(self, self._choose_link, "links")

    async def _choose_link(self) -> None:
        found = await in_thread(links_in, self._rows)
        if len(found) > 1:
            at = first_from(found, int(self.scroll_offset.y))
            self.post_message(self.LinksFound([*found[at:], *found[:at]], self._follow))
        elif found:
            self._follow(found[0].url)
        else:
            self.notify("This document has no links.")

    def _follow(self, url: str) -> None:
        self.post_message(LinkClicked(url))

    # -- movement ---------------------------------------------------------------------------------

    def action_scroll(self, step: int) -> None:
        """Go to the entry before or after, or scroll by a row."""
        if not self._step(step):
            (super().action_scroll_up if step < 0 else super().action_scroll_down)()

    def action_page(self, step: int) -> None:
        """Go up or down by a page."""
        if not self._step(step * self._page()):
            (super().action_page_up if step < 0 else super().action_page_down)()

    def action_scroll_home(self) -> None:
        """Go to the first entry, or to the top."""
        if self.cursor_body is not None:
            self._step(-self.cursor_body.entries)
            return
        self.release_anchor()
        self.scroll_home(animate=False, immediate=True)
        self.post_message(self.EdgeRequested(last=False))

    def action_scroll_end(self) -> None:
        """Go to the last entry, or to the end as soon as it is known."""
        # At once, as the next key may come before the next refresh.
        self._go_to_end(immediate=True)

    def _go_to_end(self, *, immediate: bool = False) -> None:
        if self.cursor_body is not None:
            self._step(self.cursor_body.entries)
            self._remember_end()
            return
        self._remember_end()
        # The scrollbar may not be shown yet, and without it only a forced scroll has an effect.
        self.scroll_end(animate=False, force=True, immediate=immediate)
        self.post_message(self.EdgeRequested(last=True))

    def _remember_end(self) -> None:
        self.wants_end = self._is_first or self._unfinished or self._laid_out is not self.body

    def release_anchor(self) -> None:
        """Forget a waiting command, a request for the end, and the place to return to: the reader moves elsewhere."""
        super().release_anchor()
        self.wants_end, self._place, self._command, self._landmark = False, None, None, None

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Report that the reader comes near the end."""
        super().watch_scroll_y(old_value, new_value)
        height = self.scrollable_content_region.height
        if new_value > old_value and new_value + 2 * height >= len(self._rows):
            self.post_message(self.NearEnd(self))

    def _page(self) -> int:
        rows, body = self._cursor_rows(), self.cursor_body
        if rows is None or body is None or not body.entries:
            return 1
        _, height = rows.span(min(body.cursor, body.entries - 1))
        return max(1, (self.size.height - rows.head - 1) // max(1, height))

    def _step(self, entries: int) -> bool:
        """Move the cursor; False if there is none."""
        body = self.cursor_body
        if body is None:
            return False
        self.release_anchor()
        before = body.cursor
        body.cursor = max(0, min(body.cursor + entries, body.entries - 1))
        if body.cursor == 0 and entries < 0:
            self.scroll_to(y=0, animate=False, force=True)
        self._report_move(before)
        return True

    # -- cursor -----------------------------------------------------------------------------------

    def _cursor_rows(self) -> CursorRows | None:
        return self._rows if isinstance(self._rows, CursorRows) and self._laid_out is self.body else None

    def _update_rows(self) -> None:
        """Draw the body after a change of its rows."""
        self.virtual_size = Size(self._width, len(self._rows))
        self._redraw()
        if self.cursor_body is not None:
            self._show_cursor()
            self.post_message(self.CursorMoved(self))

    def _report_move(self, before: int) -> None:
        self._show_cursor()
        if self.cursor_body is not None and self.cursor_body.cursor != before:
            self.refresh()
            self.post_message(self.CursorMoved(self))

    def _show_cursor(self) -> None:
        """Bring the cursor into view."""
        body, rows = self.cursor_body, self._cursor_rows()
        if body is None or rows is None:
            return
        body.cursor = max(0, min(body.cursor, body.entries - 1))
        if not body.entries:
            return
        first, count = rows.span(body.cursor)
        top, height = int(self.scroll_offset.y), self.scrollable_content_region.height
        # The view scrolls here, not the reader.
        to_end, place, command = self.wants_end, self._place, self._command
        if first - rows.head < top:
            self.scroll_to(y=first - rows.head, animate=False, force=True)
        elif first + count > top + height:
            self.scroll_to(y=first + count - height, animate=False, force=True)
        self.wants_end, self._place, self._command = to_end, place, command

    # -- mouse ------------------------------------------------------------------------------------

    async def _on_click(self, event: events.Click) -> None:
        url = event.style.meta.get("url")
        rows, body = self._cursor_rows(), self.cursor_body
        offset = event.get_content_offset(self)
        if rows is not None and body is not None and offset is not None:
            event.prevent_default()
            event.stop()
            self._click_entry(rows, body, offset.x, self._row_at(offset.y), event.chain)
        elif body is None and isinstance(url, str) and url:
            event.stop()
            self.post_message(LinkClicked(url))

    def _click_entry(self, rows: CursorRows, body: CursorBody, x: int, y: int, clicks: int) -> None:
        if y >= len(rows):
            return
        command = rows.command_at(x, y)
        entry = rows.entry_at(y)
        if entry is not None:
            self.release_anchor()
            before, body.cursor = body.cursor, entry
            self._report_move(before)
        if command is not None:
            self.run_command(command)
        elif entry is not None and clicks == 2:
            self.run_command(BodyCommand("open"))

    # -- drawing ----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Render one line of the visible part, with the cursor."""
        index = self._row_at(y)
        width = self.size.width
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        strip = self._strips.get(index)
        if strip is None:
            strip = self._strip(index)
            self._strips[index] = strip
        strip = strip.crop_extend(0, width, self.rich_style)
        body, rows = self.cursor_body, self._cursor_rows()
        if body is None or rows is None or index < rows.head or rows.entry_at(index) != body.cursor:
            return strip
        return self._with_cursor(strip)

    def _with_cursor(self, strip: Strip) -> Strip:
        name = "document--cursor" if self.has_focus else "document--cursor-blurred"
        style = self.get_component_rich_style(name, partial=True)
        if style.reverse:
            # Where the cursor is drawn in reverse video, every colour in the row would become a separate block.
            return Strip([Segment(strip.text, self.rich_style + style)])
        return Strip([Segment(part.text, part.style + style if part.style else style) for part in strip])

    def _row_at(self, y: int) -> int:
        """The row on line `y` of the visible part; the first rows of some bodies do not scroll."""
        rows = self._cursor_rows()
        return y if rows is not None and y < rows.head else y + int(self.scroll_offset.y)

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
        rows = self._cursor_rows()
        if rows is not None and index < rows.head:
            return strip
        strip = self.decorate(index, strip)
        ranges = self._matches.ranges(index, strip.text) if len(self._matches) else []
        marked = [(0, 1, True)] if index == self._marked_row else []
        if not (ranges or marked):
            return strip
        style, current = map(self.get_component_rich_style, ("document--match", "document--current"))
        return highlight(highlight(strip, marked, style, current), ranges, style, current)

    def decorate(self, index: int, strip: Strip) -> Strip:
        """Style parts of a row, before matches are highlighted; a subclass may."""
        return strip

    def _redraw(self) -> None:
        self._strips.clear()
        self.refresh()

    def _role_style(self, role: str | VisualStyle) -> VisualStyle:
        return self.get_visual_style(f"document--{role}", partial=True) if isinstance(role, str) else role

    def _read_theme(self) -> MarkdownTheme:
        return MarkdownTheme.read(lambda name: self.get_component_rich_style(name, partial=True))
