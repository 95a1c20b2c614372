"""A window on many entries, drawn line by line: no widget per entry, nothing rendered that is not looked at.

What is on screen is held as a list of strips, and only rows whose strip has changed are painted again. The
position is kept as an entry and an offset inside it, so that nothing moves under the reader when heights above
change.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from tui.render.layout import PLAIN, Line
from tui.virtual_list.cache import Rendered
from tui.virtual_list.entries import EntryT, LineEntries, Row

__all__ = ["LineWindow"]

MOST_COPIED_LINES = 20_000
CURSOR_BAR = "▌"


class LineWindow(LineEntries[EntryT], can_focus=True):
    """Entries, the part of them that is on screen, and nothing of how one moves among them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lines--cursor",
        "lines--cursor-blurred",
        "lines--bar",
        "lines--bar-blurred",
        "lines--muted",
        "lines--key",
    }

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._palette: dict[str, Style] = {}
        self._palette_stale = True
        self._base = PLAIN
        self._head: list[Strip] = []
        self._following = True
        self._painted: list[Strip] = []
        self._placing = False
        self._painting = False
        self._painted_size = Size(0, 0)
        self._hidden = False

    # What a subclass gives

    def render_empty(self, width: int) -> Sequence[Line]:
        """Render what an empty view says."""
        return []

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Render at most `height` lines, half of the view, that stay at the top whatever scrolls below."""
        return []

    def restyled(self) -> None:
        """Take note that the palette changed."""

    def lit_group(self) -> Hashable | None:
        """Name the group under the cursor."""
        return None

    def marked(self, entry: EntryT, rendered: Rendered, line: int, strip: Strip) -> Strip:
        """Mark what is to be noticed in a line that is about to be shown; the same object if nothing is."""
        return strip

    def placed(self) -> None:
        """Take note that what is on screen may have changed."""

    def settle(self) -> None:
        """Bring the screen up to date after changes; does nothing while the view is hidden."""
        if not self._hidden and self.is_attached and self._area():
            self._fill()
            self._publish()

    # Style

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
            self._pending = True
            self.restyled()

    def _component(self, name: str) -> Style:
        full = self.get_component_rich_style(name)
        own = self.get_component_rich_style(name, partial=True)
        color = full.color if own.color is not None else None
        return own + Style.from_color(color, full.bgcolor if own.bgcolor is not None else None)

    # Placing: which entries are on screen

    def _area(self) -> Size:
        """The room for entries: what the head leaves."""
        width, height = self.scrollable_content_region.size
        return Size(width, height - min(len(self._head), height // 2))

    def _fill_head(self) -> None:
        width, height = self.scrollable_content_region.size
        lines = self.render_head(max(1, width - self.GUTTER - 1), height // 2)[: height // 2]
        margin = [Segment(" " * self.GUTTER)] if self.GUTTER else []
        strips = [Strip([*margin, *line]).adjust_cell_length(width).apply_style(self._base) for line in lines]
        # Lines that look as before stay the same objects: they are not painted again.
        old = self._head
        self._head = [old[y] if y < len(old) and old[y] == strip else strip for y, strip in enumerate(strips)]

    def _fill(self) -> None:
        self._read_palette()
        self._fill_head()
        area = self._area()
        if area.width != self._seen_size.width:
            self._seen_size = area
            self._measured.clear()
            self._cache.clear()
            self._guess_heights()
        self._seen_size = area
        self._pending = False
        if not self._entries:
            self._top = (0, 0)
        elif self._following:
            self._fill_upwards(area.height)
        else:
            self._fill_downwards(area.height)
        self._rows = list(self._visible(area))

    def _fill_upwards(self, height: int) -> None:
        index = len(self._entries)
        while index and height > 0:
            index -= 1
            height -= self._measure(index)
        self._top = (index, max(0, -height))

    def _fill_downwards(self, height: int) -> None:
        index, offset = self._top
        index = min(index, len(self._entries) - 1)
        offset = max(0, min(offset, self._measure(index) - 1))
        filled = self._heights[index] - offset
        following = index + 1
        while filled < height and following < len(self._entries):
            filled += self._measure(following)
            following += 1
        missing = height - filled
        while missing > 0 and (offset or index):
            if not offset:
                index -= 1
                offset = self._measure(index)
            taken = min(offset, missing)
            offset -= taken
            missing -= taken
        self._top = (index, offset)

    def _visible(self, area: Size) -> Iterator[Row]:
        index, line = self._top
        lit = self.lit_group()
        shown = 0
        while index < len(self._entries) and shown < area.height:
            rendered = self._rendered(index)
            entry = self._entries[index]
            is_lit = lit is not None and self.group(entry) == lit
            lead = self.lead(entry) if is_lit else 0
            for number in range(line, len(rendered.strips)):
                strip = self._paint(rendered, number, area.width, lit=is_lit and number >= lead)
                yield Row(self.marked(entry, rendered, number, strip), index, number)
                shown += 1
                if shown == area.height:
                    return
            index, line = index + 1, 0
        if not self._entries:
            for segments in self.render_empty(self._inside())[: area.height]:
                yield Row(Strip(segments).adjust_cell_length(area.width).apply_style(self._base), -1, 0)

    def _paint(self, rendered: Rendered, line: int, width: int, *, lit: bool) -> Strip:
        strip = rendered.strips[line]
        if not lit:
            return strip.adjust_cell_length(width).apply_style(self._base)
        part = "lines--bar" if self.GUTTER else "lines--cursor"
        style = self._palette[part if self.has_focus else f"{part}-blurred"]
        return rendered.lit(line, width, self._base, style, CURSOR_BAR if self.GUTTER else "")

    def _publish(self) -> None:
        """Set extent and position, and repaint the rows that differ from what was painted last."""
        area = self._seen_size
        index, offset = self._top
        # The scroll bar measures against the whole view, head included.
        extent = Size(area.width, self._heights.total + len(self._head) if self._entries else 0)
        self._placing = True
        try:
            if extent != self.virtual_size:
                # Assigning it would lay out the whole screen again, and repaint this pane, for every new line.
                self.set_reactive(Widget.virtual_size, extent)
                self._scroll_update(extent)
            self.scroll_y = self.scroll_target_y = self._heights.before(index) + offset
        finally:
            self._placing = False
        self._repaint()
        self.placed()

    def _repaint(self) -> None:
        old, new = self._painted, [*self._head, *(row.strip for row in self._rows)]
        self._painted = new
        height = max(len(old), len(new))
        start: int | None = None
        regions: list[Region] = []
        for y in range(height + 1):
            changed = y < height and (y >= len(old) or y >= len(new) or old[y] is not new[y])
            if changed and start is None:
                start = y
            elif not changed and start is not None:
                regions.append(Region(0, start, self.size.width, y - start))
                start = None
        if regions:
            self.refresh(*regions)

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render the part of the view in `crop`, after catching up with a resize or a new theme."""
        area = self._area()
        self._read_palette()
        if area and (self._pending or area != self._seen_size):
            self._fill()
            self._publish()
        if self.size != self._painted_size:
            # All of a view of another size is on its way to the screen, scroll bar included: once is enough.
            self._painted_size = self.size
            self._exchange_repaint_regions()
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar._exchange_repaint_regions()
        self._painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        """Render one row of the screen; with its place in the text when it is asked for by itself.

        That is what Textual does to learn what the mouse is at. Painting needs none, and styles that name a place
        would be new ones in each row that moves.
        """
        width = self._seen_size.width
        if y < len(self._head):
            return self._head[y]
        y -= len(self._head)
        if y >= len(self._rows):
            return Strip.blank(width, self._base)
        strip = self._rows[y].strip
        line = round(self.scroll_y) + y
        selection = self.text_selection
        if selection is not None:
            strip = self._selected(strip, selection, line)
        return strip if self._painting else strip.apply_offsets(0, line)

    def _selected(self, strip: Strip, selection: Selection, line: int) -> Strip:
        span = selection.get_span(line)
        if span is None:
            return strip
        start = strip.index_to_cell_position(min(span[0], strip.cell_count))
        end = (
            strip.cell_length
            if span[1] == -1
            else strip.index_to_cell_position(min(span[1], strip.cell_count))
        )
        style = self.screen.get_component_rich_style("screen--selection")
        chosen = Strip(Segment.apply_style(strip.crop(start, end), post_style=style))
        return Strip.join([strip.crop(0, start), chosen, strip.crop(end)])

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, without gutter and padding."""
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else self._heights.total - 1
        last = min(last, self._heights.total - 1, first + MOST_COPIED_LINES)
        index, line = self._heights.at(first)
        found: list[str] = []
        y = first
        while index < len(self._entries) and y <= last:
            for strip in self._rendered(index).strips[line:]:
                span = selection.get_span(y)
                if span is not None and y <= last:
                    text = strip.text
                    end = len(text) if span[1] == -1 else span[1]
                    found.append(text[max(span[0], self.GUTTER) : end].rstrip())
                y += 1
            index, line = index + 1, 0
        return ("\n".join(found), "\n") if found else None

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
        if self._pending or self._area() != self._seen_size:
            self.settle()

    def on_show(self) -> None:
        """Catch up with what happened while hidden."""
        self._hidden = False
        self.settle()

    def on_hide(self) -> None:
        """Keep records only, until shown again."""
        self._hidden = True

    def watch_has_focus(self, has_focus: bool) -> None:
        """Draw the cursor of a focused pane brighter."""
        super().watch_has_focus(has_focus)
        self.settle()
