"""A list of any length, drawn line by line: no widget per entry, and nothing rendered that is not on screen.

The lines on screen are held as strips, and only lines whose strip changed are painted again. The position is kept
as an entry and an offset inside it, so that nothing moves under the reader when heights above change. A list that
grows at its end follows it until the reader moves up; then the lower border counts what came below, until End.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from math import ceil
from typing import ClassVar, Generic, NamedTuple, Self

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.layout import PLAIN, Line
from ua_tui.tui.virtual_list.source import EntryList, EntryT, Heights, LineCache, Rendered
from ua_tui.tui.virtual_list.typed_query import TypedQuery


def framed_lines(
    widget: Widget,
    crop: Region,
    line: Callable[[int], Strip],
    cells: int,
    styled: Callable[[Region], list[Strip]],
) -> list[Strip]:
    """Render the lines of a widget in `crop`.

    Textual builds each line anew: it looks up every style, and filters what was filtered when the line stood one row
    lower. Here one line is `styled` by Textual, and gives its edges to the others.

    Args:
        widget: its borders, padding and filters are those of every line.
        crop: the part of the widget to render.
        line: gives a line of the content, of so many `cells`, with its styles and without borders.
        cells: how long lines are.
        styled: renders a part of the widget as Textual does.
    """
    gutter, width = widget.styles.gutter, widget.region.width
    first = max(crop.y, gutter.top)
    last = min(crop.bottom, gutter.top + widget.content_region.height)
    if last - first < 2 or not _is_plain(widget) or crop.column_span != (0, width):
        return styled(crop)
    example = styled(Region(0, first, width, 1))[0]
    left, right = example.crop(0, gutter.left)._segments, example.crop(gutter.left + cells, width)._segments
    background = widget.background_colors[1]
    filters = widget.get_line_filters()
    lines = styled(Region(0, crop.y, width, first - crop.y)) if crop.y < first else []
    lines.append(example)
    for y in range(first + 1, last):
        strip = line(y - gutter.top)
        for each in filters:
            strip = strip.apply_filter(each, background)
        lines.append(Strip([*left, *strip._segments, *right], width))
    if last < crop.bottom:
        lines += styled(Region(0, last, width, crop.bottom - last))
    return lines


def _is_plain(widget: Widget) -> bool:
    """Whether a line shows its content as it is."""
    styles = widget.styles
    return (
        widget.opacity == 1.0
        and styles.text_opacity == 1.0
        and not styles.tint.a
        and not styles.has_rule("hatch")
        and not any(kind for kind, _ in styles.outline)
        and not widget.hover_style._link_id
    )


LINES_A_STEP = 3
MOST_COUNTED = 200
CURSOR_BAR = "▌"


class ScreenLine(NamedTuple):
    """A line of the screen: its strip, and which line of which entry it shows."""

    strip: Strip
    position: int
    line: int


class Bookmark(NamedTuple):
    """Where the reader was: what was at the top, whether the list followed its end, and the cursor's key."""

    top: tuple[int, int]
    following: bool
    cursor: Hashable | None


class VirtualList(ScrollView, Generic[EntryT], can_focus=True):
    """Shows entries, which a subclass draws.

    Change the entries with `append`, `splice`, `replace_all` and `touch`, and call `update_rows` once after a batch
    of changes. A subclass says what happens when an entry is opened or clicked.

    Attributes:
        lines: the lines on screen, from the top.
        following: whether the list stays at its end as entries come.
        new_below: how many entries came below the screen since the reader moved up.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lines--cursor",
        "lines--cursor-blurred",
        "lines--bar",
        "lines--bar-blurred",
        "lines--muted",
        "lines--key",
    }
    BINDINGS = bindings("VirtualList")
    GUTTER: ClassVar[int] = 0
    """Cells kept free at the left, where the cursor is then a bar; without them it is a highlighted row."""

    FOLLOWS_END: ClassVar[bool] = True
    """Whether the list stays at its end as it grows. If not, no entry has the cursor before it is moved."""

    typed: TypedQuery | None = None
    """What a person types to search or to filter; None in a list that has neither."""

    off_screen = False
    """Whether the list only gathers entries for another one, which will adopt them."""

    single_lines: ClassVar[bool] = False
    """Whether every entry is estimated as one line."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: EntryList[EntryT] = EntryList()
        self._cache = LineCache()
        self._measured: set[Hashable] = set()
        self._generation = 0
        # What is on screen
        self.lines: list[ScreenLine] = []
        self._head: list[Strip] = []
        self._foot: list[Strip] = []
        self._top = (0, 0)
        self._seen_size = Size(0, 0)
        self._stale = True
        self._hidden = False
        self._placing = False
        # What was painted
        self._painted: list[Strip] = []
        self._painted_size = Size(0, 0)
        self._painting = False
        self._selection: Selection | None = None
        self._drawn_bar: list[Segment] = []
        self._palette: dict[str, Style] = {}
        self._palette_stale = True
        self._base = PLAIN
        # The reader
        self._cursor: Hashable | None = None
        self.following = self.FOLLOWS_END
        self._wants_first = False
        self.new_below = 0
        self._grew = False
        self._mark = ""

    # -- what a subclass does ---------------------------------------------------------------------

    def open_entry(self, entry: EntryT) -> None:
        """Handle Enter or a double click on an entry."""

    def click_entry(self, entry: EntryT, column: int, line: int) -> None:
        """Handle a single click on an entry, at a cell of one of its lines."""

    def render_entry(self, entry: EntryT, width: int) -> Sequence[Line]:
        """Render an entry as lines of at most `width` cells."""
        return []

    def estimate(self, entry: EntryT, width: int) -> int:
        """Guess the height of an entry that was not rendered yet."""
        return 1

    def group(self, entry: EntryT) -> Hashable:
        """Name the run of neighbours that the cursor treats as one."""
        return entry.key

    def lead(self, entry: EntryT) -> int:
        """Count the blank lines at the top of an entry, which the cursor leaves out."""
        return 0

    def counts_as_new(self, entry: EntryT) -> bool:
        """Whether the entry is counted among the new ones below the screen."""
        return True

    def render_below(self, width: int) -> Sequence[Line]:
        """Render what follows the last entry where there is room, such as a hint in an empty list."""
        return []

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Render at most `height` lines, half of the list, that stay at the top whatever scrolls below."""
        return []

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles from a new palette: the style of each component class."""

    def highlight(self, entry: EntryT, rendered: Rendered, line: int, strip: Strip) -> Strip:
        """Mark a line that is about to be shown; returns the same object when nothing in it is to be marked."""
        return strip

    # -- entries ----------------------------------------------------------------------------------

    @property
    def entries(self) -> Sequence[EntryT]:
        """All entries, in order; change them only through the methods below."""
        return self.rows.items

    @property
    def heights(self) -> Heights:
        """The height of each entry: measured, or estimated until it is first rendered."""
        return self.rows.heights

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of an entry, or None when no entry has that key."""
        return self.rows.index.get(key)

    def append(self, *entries: EntryT) -> None:
        """Add entries at the end, and count them as new while the list does not follow its end."""
        width, rows = self.entry_width, self.rows
        rows.splice(len(rows.items), 0, entries, [self.estimate(entry, width) for entry in entries])
        self._stale = True
        if not self.following:
            self.new_below += sum(1 for entry in entries if self.counts_as_new(entry))
            self._grew = True

    def splice(self, start: int, removed: int, entries: Iterable[EntryT]) -> None:
        """Replace `removed` entries from `start` on; the cost is that of what follows them.

        What replaces them is mostly the same text cut elsewhere: the reader stays as many lines into it.
        """
        rows, added, width = self.rows, list(entries), self.entry_width
        index, offset = self._top
        is_measured = self._is_shown and not self.single_lines
        height = self._measure if is_measured else lambda at: self.heights[at]
        lines = offset + sum(height(at) for at in range(start, index)) if index < start + removed else 0
        for entry in rows.items[start : start + removed]:
            self._measured.discard(entry.key)
            self._cache.drop(entry.key)
        rows.splice(start, removed, added, [self.estimate(entry, width) for entry in added])
        if start + removed <= index:
            self._top = (index + len(added) - removed, offset)
        elif start <= index:
            at, end = start, start + len(added)
            while at < end and lines >= height(at):
                lines -= height(at)
                at += 1
            self._top = (at, lines) if at < end else (max(0, min(at, len(rows.items) - 1)), 0)
        self._stale = True

    def replace_all(self, rows: EntryList[EntryT]) -> None:
        """Show other entries, whose indexes and heights are known: none of them is visited."""
        self.rows = rows
        self._measured = set()
        self._top = (0, 0)
        self._stale = True

    def touch(self, key: Hashable) -> None:
        """Note that an entry changed; its revision has risen already."""
        if self.off_screen and self.single_lines:
            # An entry that nobody sees is as high as it was.
            return
        rows = self.rows
        index = rows.index.get(key)
        if index is None:
            return
        self._measured.discard(key)
        lines = self.lines
        if not lines or not lines[0].position <= index <= lines[-1].position:
            rows.heights.set(index, self.estimate(rows.items[index], self.entry_width))
        self._stale = True
        if not self.following and lines and index > lines[-1].position:
            self._grew = True

    def touch_all(self) -> None:
        """Note that any entry may look different without a higher revision, but is as high as it was."""
        self._generation += 1
        self._stale = True

    def update_rows(self) -> None:
        """Bring the screen up to date after changes; does nothing while the list is hidden."""
        if self._is_shown:
            self._fill()
            self._publish()

    # -- a longer list of the same ----------------------------------------------------------------

    def gather_for(self, shown: Self) -> None:
        """Gather entries off screen for the list that is `shown`: heights are estimated for its width."""
        self.off_screen = True
        if self._seen_size.width != shown._seen_size.width:
            self._seen_size = shown._seen_size
            self._estimate_heights()

    def index_in(self, longer: Self, index: int) -> int:
        """Return the index of an entry in a longer list: that of its key, or else as far from the end."""
        found = longer.index_of(self.entries[index].key) if index < len(self.entries) else None
        return found if found is not None else max(0, index + len(longer.entries) - len(self.entries))

    def key_in(self, longer: Self, key: Hashable | None) -> Hashable | None:
        """Return the key that an entry has in a longer list; None when it is not there."""
        index = self.index_of(key) if key is not None else None
        return (
            None if index is None or not longer.entries else longer.entries[self.index_in(longer, index)].key
        )

    def adopt(self, longer: Self) -> None:
        """Show the entries of a longer list, which is given up for that; the reader's place is kept."""
        is_at_top = self._top == (0, 0) and (not self.entries or self.cursor_index <= self.span(0)[1])
        is_first = self._wants_first and is_at_top
        cursor = self.key_in(longer, self._cursor)
        top = (self.index_in(longer, self._top[0]), self._top[1]) if self.entries else self._top
        self.replace_all(longer.rows)
        self._cursor, self._top = cursor, top
        # Lines name indexes among the old entries, and the lines of a key may differ now.
        self.lines = []
        self._cache.clear()
        if is_first:
            self.action_cursor_home()

    # -- what is on screen ------------------------------------------------------------------------

    @property
    def visible_entries(self) -> Sequence[EntryT]:
        """The entries of which a line is on screen, in order."""
        return self.entries[self.lines[0].position : self.lines[-1].position + 1] if self.lines else ()

    @property
    def bookmark(self) -> Bookmark:
        """Where the reader is."""
        return Bookmark(self._top, self.following, self._cursor)

    @property
    def entry_width(self) -> int:
        """The cells an entry is rendered in: one cell at the right keeps text off the scroll bar."""
        return max(1, self._seen_size.width - self.GUTTER - 1)

    def rendered(self, index: int) -> Rendered:
        """Return the rendered lines of an entry, from the cache where it has not changed since."""
        entry = self.entries[index]
        width = self.entry_width
        stamp = (entry.revision, width, self._generation)
        found = self._cache.get(entry.key, stamp)
        if found is None:
            margin = [Segment(" " * self.GUTTER)] if self.GUTTER else []
            found = Rendered(stamp, [Strip([*margin, *line]) for line in self.render_entry(entry, width)])
            self._cache.put(entry.key, found)
        return found

    def _measure(self, index: int) -> int:
        key = self.entries[index].key
        if key not in self._measured:
            self.heights.set(index, len(self.rendered(index).strips))
            self._measured.add(key)
        return self.heights[index]

    def _estimate_heights(self) -> None:
        width, rows = self.entry_width, self.rows
        rows.heights = Heights([self.estimate(entry, width) for entry in rows.items])

    @property
    def _is_shown(self) -> bool:
        return not self._hidden and self.is_mounted and self.is_attached and bool(self._area())

    def _area(self) -> Size:
        """The room for entries: what the head leaves."""
        width, height = self.scrollable_content_region.size
        return Size(width, height - min(len(self._head), height // 2))

    def _fill_head(self) -> None:
        width, height = self.scrollable_content_region.size
        lines = self.render_head(max(1, width - self.GUTTER - 1), height // 2)[: height // 2]
        margin = [Segment(" " * self.GUTTER)] if self.GUTTER else []
        self._head = self._fixed_lines([[*margin, *line] for line in lines])

    def _fixed_lines(self, lines: Sequence[Line]) -> list[Strip]:
        """Make strips of lines that do not scroll."""
        width = self.scrollable_content_region.width
        return [Strip(line).adjust_cell_length(width).apply_style(self._base) for line in lines]

    def _fill(self) -> None:
        self._read_palette()
        self._fill_head()
        area = self._area()
        if area.width != self._seen_size.width:
            index, offset = self._top
            lines = (
                self.heights[index] if offset and index < len(self.entries) and self._seen_size.width else 0
            )
            self._seen_size = area
            self._measured.clear()
            self._cache.clear()
            self._estimate_heights()
            if lines and not self.following:
                # A long entry wraps into more lines, or fewer: its reader stays at the same part of it.
                self._top = (index, round(offset * self._measure(index) / lines))
        self._seen_size = area
        self._stale = False
        if self.following:
            self._top = (len(self.entries), sys.maxsize)
        self._fit_top(area.height)
        self.lines = list(self._visible(area))
        room = area.height - len(self.lines)
        below = self.render_below(self.entry_width) if room else ()
        self._foot = self._fixed_lines(below[:room])

    def _fit_top(self, height: int) -> None:
        """Put at the top a line that exists, and as many above it as are missing below it."""
        if not self.entries:
            self._top = (0, 0)
            return
        index = min(self._top[0], len(self.entries) - 1)
        offset = max(0, min(self._top[1], self._measure(index) - 1))
        filled, following = self.heights[index] - offset, index + 1
        while filled < height and following < len(self.entries):
            filled += self._measure(following)
            following += 1
        self._top = (index, offset)
        if filled < height:
            self._top = self._moved(filled - height)

    def _visible(self, area: Size) -> Iterator[ScreenLine]:
        index, line = self._top
        entries = self.entries
        under_cursor = self.cursor
        group = None if under_cursor is None else self.group(under_cursor)
        shown = 0
        while index < len(entries) and shown < area.height:
            rendered, entry = self.rendered(index), entries[index]
            has_cursor = group is not None and self.group(entry) == group
            lead = self.lead(entry) if has_cursor else 0
            for number in range(line, len(rendered.strips)):
                strip = self._paint(rendered, number, area.width, has_cursor=has_cursor and number >= lead)
                yield ScreenLine(self.highlight(entry, rendered, number, strip), index, number)
                shown += 1
                if shown == area.height:
                    return
            index, line = index + 1, 0

    def _paint(self, rendered: Rendered, line: int, width: int, *, has_cursor: bool) -> Strip:
        strip, base = rendered.strips[line].adjust_cell_length(width), self._base
        if not has_cursor:
            return strip.apply_style(base)
        part = "lines--bar" if self.GUTTER else "lines--cursor"
        style = self._palette[part if self.has_focus else f"{part}-blurred"]
        if self.GUTTER:
            bar = Strip([Segment(CURSOR_BAR, base + style)], 1)
            return Strip.join([bar, strip.crop(1).apply_style(base)])
        if style.reverse:
            # A cursor drawn by reversing would turn every colour in the row into a block of its own.
            return Strip([Segment(strip.text, base + style)], width)
        return strip.apply_style(base + style)

    def _publish(self) -> None:
        """Set extent and position, and repaint the lines that differ from what was painted last."""
        area = self._seen_size
        index, offset = self._top
        # The scroll bar measures against the entire list, head included.
        extent = Size(area.width, self.heights.total + len(self._head) if self.entries else 0)
        bar = self.vertical_scrollbar if self.show_vertical_scrollbar else None
        is_bar_dirty = bar is not None and bool(bar._repaint_regions)
        self._placing = True
        try:
            if extent != self.virtual_size:
                # Assigning it would lay out the entire screen again, and repaint this list, for every new line.
                self.set_reactive(Widget.virtual_size, extent)
                self._scroll_update(extent)
            self.scroll_y = self.scroll_target_y = self.heights.before(index) + offset
        finally:
            self._placing = False
        if bar is not None and self.show_vertical_scrollbar:
            before, self._drawn_bar = self._drawn_bar, _drawn(bar)
            if len(before) == len(self._drawn_bar) and not is_bar_dirty:
                # Textual paints all of it for every new line, though few move it by an eighth of a cell.
                bar._exchange_repaint_regions()
                moved = [y for y, cell in enumerate(self._drawn_bar) if cell != before[y]]
                if moved:
                    bar.refresh(Region(0, moved[0], bar.size.width, moved[-1] + 1 - moved[0]))
        self._repaint()
        self._show_new_below()

    def _repaint(self) -> None:
        old, new = self._painted, [*self._head, *(line.strip for line in self.lines), *self._foot]
        self._painted = new
        # Not the column of the scroll bar, which is a widget of its own.
        height, width = max(len(old), len(new)), self.scrollable_content_region.width
        # What is selected is painted over the lines, and moves with them.
        is_selected = self.text_selection is not None
        start: int | None = None
        regions: list[Region] = []
        for y in range(height + 1):
            changed = y < height and (is_selected or y >= len(old) or y >= len(new) or old[y] != new[y])
            if changed and start is None:
                start = y
            elif not changed and start is not None:
                regions.append(Region(0, start, width, y - start))
                start = None
        if regions:
            self.refresh(*regions)

    def _show_new_below(self) -> None:
        """Show on the lower border how much came below the screen."""
        if self.following or self._at_end():
            self.new_below, self._grew = 0, False
        else:
            start = self.lines[-1].position + 1
            below = self.entries[start : start + MOST_COUNTED]
            if len(below) < MOST_COUNTED:
                self.new_below = min(self.new_below, sum(1 for entry in below if self.counts_as_new(entry)))
        mark = f"{self.new_below} new ↓" if self.new_below else "more ↓" if self._grew else ""
        if mark != self._mark:
            self._mark = mark
            self.border_subtitle = Content(mark) if mark else None

    # -- style ------------------------------------------------------------------------------------

    @property
    def palette(self) -> Mapping[str, Style]:
        """The style of each component class; a background only where the class itself sets one."""
        self._read_palette()
        return self._palette

    def notify_style_update(self) -> None:
        """Read the styles again before the next paint: they are not complete yet."""
        self._palette_stale = True
        super().notify_style_update()

    def _read_palette(self) -> None:
        if not self._palette_stale:
            return
        self._palette_stale = False
        palette = {name: self._component(name) for name in self._get_component_classes()}
        base = self.rich_style
        if palette != self._palette or base != self._base:
            self._palette, self._base = palette, base
            self._generation += 1
            self._cache.clear()
            self._stale = True
            self.restyle(palette)

    def _component(self, name: str) -> Style:
        full = self.get_component_rich_style(name)
        own = self.get_component_rich_style(name, partial=True)
        color = full.color if own.color is not None else None
        return own + Style.from_color(color, full.bgcolor if own.bgcolor is not None else None)

    # -- painting ---------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render the part of the list in `crop`, after catching up with a resize or a new theme."""
        area = self._area()
        self._read_palette()
        is_filled = bool(area) and (self._stale or area != self._seen_size)
        if is_filled:
            self._fill()
            self._publish()
        if self.size != self._painted_size or (is_filled and crop.size == self.outer_size):
            # All of a list of another size or look is on its way to the screen, scroll bar included: once is enough.
            self._painted_size = self.size
            self._exchange_repaint_regions()
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar._exchange_repaint_regions()
        self._painting, self._selection = True, self.text_selection
        try:
            return framed_lines(self, crop, self.render_line, self._seen_size.width, super().render_lines)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        """Render one line of the screen; with its place in the text when it is requested by itself.

        Textual does that to find out what the mouse is over. Painting needs no place, and styles that name one
        would be new ones in each line that moves.
        """
        width = self._seen_size.width
        if y < len(self._head):
            return self._head[y]
        y -= len(self._head)
        if y >= len(self.lines):
            y -= len(self.lines)
            return self._foot[y] if y < len(self._foot) else Strip.blank(width, self._base)
        strip = self.lines[y].strip
        line = round(self.scroll_y) + y
        selection = self._selection if self._painting else self.text_selection
        span = selection.get_span(line) if selection is not None else None
        if span is not None:
            strip = _paint_selected(strip, span, self.screen.get_component_rich_style("screen--selection"))
        return strip if self._painting else strip.apply_offsets(0, line)

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, without gutter and padding."""
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else self.heights.total
        index, line = self.heights.at(first)
        strips = chain.from_iterable(self.rendered(at).strips for at in range(index, len(self.entries)))
        found: list[str] = []
        for y, strip in enumerate(islice(strips, line, line + min(last - first, 20_000) + 1), first):
            start, end = selection.get_span(y) or (0, 0)
            found.append(strip.text[max(start, self.GUTTER) : None if end == -1 else end].rstrip())
        return ("\n".join(found), "\n") if found else None

    # -- size, visibility, focus ------------------------------------------------------------------

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Lay out for the new size before the scroll bar is painted, so that it is painted once."""
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self._catch_up()
        return changed

    def on_resize(self) -> None:
        """Lay out for the new size, unless that was painted already."""
        self._catch_up()

    def _catch_up(self) -> None:
        if self._stale or self._area() != self._seen_size:
            self.update_rows()

    def on_show(self) -> None:
        """Catch up with what happened while hidden."""
        self._hidden = False
        self.update_rows()

    def on_hide(self) -> None:
        """Keep records only, until shown again."""
        self._hidden = True

    def watch_has_focus(self, has_focus: bool) -> None:
        """Draw the cursor of a focused list brighter."""
        super().watch_has_focus(has_focus)
        self.update_rows()

    # -- scrolling --------------------------------------------------------------------------------

    def _at_end(self) -> bool:
        if len(self.lines) < max(1, self._seen_size.height):
            return True
        last = self.lines[-1]
        return last.position == len(self.entries) - 1 and last.line == self.heights[last.position] - 1

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow a scroll by wheel, bar or program: lines not measured yet are measured on the way."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        # While a resize is under way the value is only clamped: the resize itself places the list.
        if self._placing or round(old_value) == round(new_value) or self._area() != self._seen_size:
            return
        index, offset = self._top
        change = round(new_value) - self.heights.before(index) - offset
        if abs(change) <= 2 * self._seen_size.height:
            self._move(change)
        else:
            self.place_at(*self.heights.at(round(new_value)))
        if self.FOLLOWS_END and self._at_end():
            self.action_cursor_end()

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: object) -> None:
        """Scroll at once: an animation would fight with the measuring of lines on the way."""
        super().scroll_to(x, y, animate=False, immediate=True)

    def place_at(self, index: int, offset: int) -> None:
        """Put a line of an entry at the top, as far as the end allows; the list follows from the last entry."""
        self._top = (index, offset)
        self.following = False
        if self._is_shown:
            self._fill()
            is_last = self._cursor is None or self.span(self.cursor_index)[1] == len(self.entries) - 1
            self.following = self.FOLLOWS_END and is_last and self._at_end()
            self._publish()

    def reveal_line(self, index: int, line: int) -> None:
        """Bring a line of an entry into view, unless it is there already."""
        if any(shown.position == index and shown.line == line for shown in self.lines[:-1]):
            self.place_at(*self._top)
        else:
            self._top = (index, line)
            self._move(-(self._seen_size.height // 3))

    def _move(self, lines: int) -> None:
        self.place_at(*self._moved(lines))

    def _moved(self, lines: int) -> tuple[int, int]:
        """What is at the top when the list has moved; maybe further than the end allows."""
        index, offset = self._top
        offset += lines
        while offset < 0 and index > 0:
            index -= 1
            offset += self._measure(index)
        while index < len(self.entries) - 1 and offset >= self._measure(index):
            offset -= self.heights[index]
            index += 1
        return index, max(0, offset)

    # -- cursor -----------------------------------------------------------------------------------

    @property
    def cursor(self) -> EntryT | None:
        """The entry under the cursor; the last one while the cursor follows the end."""
        index = self.cursor_index
        return self.entries[index] if 0 <= index < len(self.entries) else None

    @property
    def cursor_index(self) -> int:
        """The index of the entry under the cursor, -1 when there is none."""
        found = self.index_of(self._cursor) if self._cursor is not None else None
        if found is None:
            return len(self.entries) - 1 if self.FOLLOWS_END else -1
        return found

    def set_cursor(self, key: Hashable | None) -> None:
        """Put the cursor on an entry, wherever that is; None lets it follow the end, or removes it."""
        self._cursor = key

    def show_entry(self, key: Hashable) -> None:
        """Put the cursor on an entry and bring it into view."""
        index = self.index_of(key)
        if index is None:
            return
        self.set_cursor(key)
        if not self._area():
            return
        first, last = self.span(index)
        if self.lines and self.lines[0].position <= first and last < self.lines[-1].position:
            self.place_at(*self._top)
        else:
            self._top = (first, 0)
            self._move(-self._seen_size.height // 3)

    def span(self, index: int) -> tuple[int, int]:
        """Return the first and the last index of the group that an entry belongs to."""
        entries, group_of = self.entries, self.group
        group = group_of(entries[index])
        first = last = index
        while first > 0 and group_of(entries[first - 1]) == group:
            first -= 1
        while last < len(entries) - 1 and group_of(entries[last + 1]) == group:
            last += 1
        return first, last

    def _has_lines(self) -> bool:
        """Whether there are lines of the present entries; a hidden list keeps those of the entries it had."""
        if self._stale:
            self.update_rows()
        return bool(self.lines) and not self._stale

    def _select(self, index: int) -> None:
        self.set_cursor(self.entries[index].key)

    def action_cursor_down(self) -> None:
        """Move to the next entry, or read on in one that is taller than the screen."""
        if not self._has_lines():
            return
        top, bottom = self.lines[0].position, self.lines[-1]
        first, last = self.span(self.cursor_index)
        if last < top or first > bottom.position:
            self._select(top)
            self.place_at(*self._top)
        elif (below := self._lines_below(last, LINES_A_STEP)) > 0:
            self._move(min(LINES_A_STEP, below))
        elif last == len(self.entries) - 1:
            self.action_cursor_end()
        else:
            self._select(last + 1)
            # All of it comes into view, or its beginning to the top.
            row = next((y for y, line in enumerate(self.lines) if line.position > last), len(self.lines))
            self._move(min(row, self._lines_below(self.span(last + 1)[1], row)))

    def _lines_below(self, last: int, enough: int) -> int:
        """Count the lines below the screen down to the end of an entry, until there are enough."""
        bottom = self.lines[-1]
        if last < bottom.position:
            return 0
        lines = self.heights[bottom.position] - 1 - bottom.line
        return self._count_lines(range(bottom.position + 1, last + 1), lines, enough)

    def _count_lines(self, entries: Iterable[int], lines: int, enough: int) -> int:
        """Add the lines of entries, until there are enough: measuring one may take long."""
        for index in entries:
            if lines >= enough:
                break
            lines += self._measure(index)
        return lines

    def action_cursor_up(self) -> None:
        """Move to the previous entry, or read back in one that is taller than the screen."""
        if not self._has_lines():
            return
        top, bottom = self.lines[0], self.lines[-1].position
        first, last = self.span(self.cursor_index)
        if last < top.position or first > bottom:
            self._select(bottom)
            self.place_at(*self._top)
        elif first < top.position or (first == top.position and top.line > 0):
            self._move(-LINES_A_STEP)
        elif first > 0:
            self._select(first - 1)
            begin, room = self.span(first - 1)[0], self._seen_size.height
            begun = top.line if begin <= top.position else 0
            above = self._count_lines(range(top.position - 1, begin - 1, -1), begun, room + 1)
            self._move(-(above if above <= room else LINES_A_STEP))

    def action_cursor_page(self, direction: int) -> None:
        """Move a screen up or down, the cursor with it."""
        if not self._has_lines():
            return
        before = self._top
        chosen = self.cursor_index
        row = next((y for y, line in enumerate(self.lines) if line.position == chosen), 0)
        # Where the cursor will be is found first: the lines are made once, and not before.
        self._top = self._moved(direction * max(1, self._seen_size.height - 1))
        self._fit_top(self._area().height)
        if self._top == before:
            if direction > 0:
                self.action_cursor_end()
            else:
                self.action_cursor_home()
            return
        self._select(self._moved(row)[0])
        self.place_at(*self._top)

    def action_cursor_home(self) -> None:
        """Go to the first entry; of a list that is not complete, to that of the complete one when it comes."""
        self._wants_first = True
        if self.entries:
            self._select(0)
            self.place_at(0, 0)

    def go_to_wanted(self) -> None:
        """Go to the first entry if that was requested before there was one."""
        if self._wants_first:
            self.action_cursor_home()

    def action_cursor_end(self) -> None:
        """Go to the end, and follow it again if the list does that."""
        if self.FOLLOWS_END:
            self.following = True
            self._cursor = None
            self.update_rows()
        elif self.entries:
            self._select(len(self.entries) - 1)
            self.place_at(len(self.entries) - 1, 0)

    def action_open(self) -> None:
        """Open the entry under the cursor."""
        entry = self.cursor
        if entry is not None:
            self.open_entry(entry)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to what was clicked; a double click opens it."""
        # The default of a double click is to select the text of every entry.
        event.prevent_default()
        offset, line = event.get_content_offset(self), self.line_at(event)
        if offset is None or line is None:
            return
        entry = self.entries[line.position]
        self.set_cursor(entry.key)
        self.place_at(*self._top)
        if event.chain == 2:
            self.open_entry(entry)
        else:
            self.click_entry(entry, offset.x, line.line)

    def line_at(self, event: events.MouseEvent) -> ScreenLine | None:
        """Return the line of an entry below the mouse."""
        offset = event.get_content_offset(self)
        y = -1 if offset is None else offset.y - len(self._head)
        return self.lines[y] if 0 <= y < len(self.lines) else None

    # -- what is typed ----------------------------------------------------------------------------

    @property
    def escape_clears(self) -> str:
        """What Esc does while there is a search or a filter."""
        return f"clear {self.typed.name}" if self.typed is not None and self.typed.active else ""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a key is text of the search or the filter."""
        is_typing = self.typed is not None and self.typed.typing
        return is_typing and character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        """Type what is searched for; Esc clears it before it means anything else."""
        if self.typed is not None:
            self.typed.handle_key(event)

    def on_paste(self, event: events.Paste) -> None:
        """Add what is pasted to what is searched for."""
        if self.typed is not None:
            self.typed.handle_paste(event)


def _drawn(bar: ScrollBar) -> list[Segment]:
    """What a scroll bar shows, apart from its colors."""
    is_needed = bar.window_size < bar.window_virtual_size
    return bar.renderer.render_bar(
        size=bar.size.height,
        virtual_size=ceil(bar.window_virtual_size),
        window_size=ceil(bar.window_size) if is_needed else 0,
        position=bar.position,
    ).segments


def _paint_selected(strip: Strip, span: tuple[int, int], style: Style) -> Strip:
    """Paint a span of characters, which ends with the line if its end is -1."""
    start, end = (
        strip.cell_length if at == -1 else strip.index_to_cell_position(min(at, strip.cell_count))
        for at in span
    )
    chosen = Strip(Segment.apply_style(strip.crop(start, end), post_style=style))
    return Strip.join([strip.crop(0, start), chosen, strip.crop(end)])
