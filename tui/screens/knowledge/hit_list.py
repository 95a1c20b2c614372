"""The hits of a search: each with its kind, title and date, and the passage with the words that match."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.message import Message

from ua_tui.core.events.units import quantity
from ua_tui.core.knowledge.records import Hit
from ua_tui.core.knowledge.search.plain_passage import plain_passage
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.render.layout import PLAIN, Line, cut_line, width_of, wrap
from ua_tui.tui.virtual_list.source import EntryList, RowSource
from ua_tui.tui.virtual_list.virtual_list import VirtualList

KIND_NAMES: Mapping[str, str] = {
    "report": "report",
    "article": "article",
    "search_row": "search",
    "answer": "answer",
    "query": "query",
    "note": "note",
    "workbench": "sandbox",
    "file": "file",
}
_KIND_CELLS = 7
_DATE_CELLS = 10
_PASSAGE_LINES = 2
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit as an entry of the list; `revision` rises when it looks different."""

    hit: Hit
    revision: int = 0

    @property
    def key(self) -> Hashable:
        """The number of the document."""
        return self.hit.id


class _Hits(RowSource[FoundHit]):
    """Draws hits in two columns: the kind at the left, the title and the passage at the right."""

    def __init__(self, zone: tzinfo | None) -> None:
        super().__init__()
        self.message: Sequence[str] = ()
        self.now = datetime.now(UTC)
        self._zone = zone
        self._palette: Mapping[str, Style] = {}

    def restyle(self, palette: Mapping[str, Style]) -> None:
        self._palette = palette

    def estimate(self, entry: FoundHit, width: int) -> int:
        return 2 + _PASSAGE_LINES

    def lead(self, entry: FoundHit) -> int:
        return 1

    def render(self, entry: FoundHit, width: int) -> Sequence[Line]:
        hit, muted = entry.hit, self._style("lines--muted")
        indent = " " * (_KIND_CELLS + 2)
        room = max(1, width - len(indent))
        lines: list[Line] = [[], self._head(hit, width)]
        below = self._passage(hit, room)
        others = []
        # Copies of a page have its address, too.
        if hit.copies > hit.same_address:
            others.append(f"same text, {quantity(hit.copies + 1, 'source')}")
        if hit.same_address:
            others.append(f"same address, {quantity(hit.same_address + 1, 'result')}")
        if others:
            below.append([Segment(" · ".join(others), muted)])
        if hit.demo and not below:
            below.append([])
        for number, line in enumerate(below):
            # Below the kind.
            left = f"{'demo':<{len(indent)}}" if hit.demo and not number else indent
            lines.append(cut_line([Segment(left, muted), *line], width))
        return lines

    def render_below(self, width: int, *, focused: bool) -> Sequence[Line]:
        """Say why there are no hits, and what to do."""
        if self.rows.items:
            return []
        muted = self._style("lines--muted")
        lines: list[Line] = [[]]
        for text in self.message:
            lines += wrap([(text, muted)], max(1, width - 2))
        return lines

    def _head(self, hit: Hit, width: int) -> Line:
        muted = self._style("lines--muted")
        kind = KIND_NAMES.get(hit.kind, hit.kind)
        date = f"  {day(hit, self.now, self._zone):>{_DATE_CELLS}}"
        room = max(1, width - _KIND_CELLS - 2 - len(date))
        title = tail_cut(title_of(hit), room)
        # The site gets what the title leaves.
        left = min(24, room - width_of(title) - 2)
        site = middle_cut(clean_line(hit.site), left) if left >= 12 else ""
        gap = " " * (room - width_of(title) - width_of(site))
        line = [
            Segment(f"{kind:<{_KIND_CELLS}}  ", self._style("hits--kind")),
            Segment(title, self._style("hits--title")),
            Segment(f"{gap}{site}{date}", muted),
        ]
        return cut_line(line, width)

    def _passage(self, hit: Hit, room: int) -> list[Line]:
        plain, found = self._style("hits--passage"), self._style("lines--found")
        pieces = [(text, found if is_match else plain) for text, is_match in marked(hit, title_of(hit))]
        if not pieces:
            return []
        lines = wrap(pieces, room)
        if len(lines) > _PASSAGE_LINES:
            last = Segment.adjust_line_length(lines[_PASSAGE_LINES - 1], room - 1, pad=False)
            lines = [*lines[: _PASSAGE_LINES - 1], [*last, Segment(_ELLIPSIS, plain)]]
        return lines

    def _style(self, name: str) -> Style:
        return self._palette.get(name, PLAIN)


class HitList(VirtualList[FoundHit]):
    """Lists hits; the cursor is always on one if there is one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--found", "hits--kind", "hits--title", "hits--passage"}
    GUTTER = 2
    FOLLOWS_END = False

    class Moved(Message):
        """The cursor is on another hit."""

        def can_replace(self, message: Message) -> bool:
            """Of several in a row, only the last is handled."""
            return isinstance(message, HitList.Moved)

    class Opened(Message):
        """A hit is opened."""

    def __init__(self, *, zone: tzinfo | None = None, id: str | None = None) -> None:
        self._hits = _Hits(zone)
        super().__init__(self._hits, id=id)
        self._revision = 0

    @property
    def chosen(self) -> Hit | None:
        """The hit under the cursor."""
        found = self.cursor
        return found.hit if found is not None else None

    def show(self, hits: Sequence[Hit], message: Sequence[str] = (), *, keep: bool = False) -> None:
        """Show hits from the first one, or with `keep` at the hit under the cursor; without hits the message."""
        before, top = self._cursor if keep else None, self._top
        self._revision += 1
        self._hits.message = message
        self._hits.now = datetime.now(UTC)
        entries = [FoundHit(hit, self._revision) for hit in {hit.id: hit for hit in hits}.values()]
        rows = EntryList(entries, [self._hits.estimate(entry, self.entry_width) for entry in entries])
        self.replace_all(rows)
        first = entries[0].key if entries else None
        self.set_cursor(before if before in rows.index else first)
        if keep and self.cursor_index > 0:
            self._top = (min(top[0], len(entries) - 1), top[1])
            self.show_entry(self._cursor)
        else:
            self.update_rows()
        self.post_message(self.Moved())

    def set_cursor(self, key: Hashable | None) -> None:
        """Put the cursor on a hit."""
        if key != self._cursor:
            self.post_message(self.Moved())
        super().set_cursor(key)

    def open_entry(self, entry: FoundHit) -> None:
        """Open the hit."""
        self.post_message(self.Opened())


def title_of(hit: Hit) -> str:
    """Return the title of a hit on one line, or the next best name."""
    return clean_line(hit.title or hit.url or hit.path.rpartition("/")[2] or "(no title)", 300)


def marked(hit: Hit, without: str = "") -> Iterator[tuple[str, bool]]:
    """Give the parts of the passage, on one line, and whether each matches; none if it is the text `without`."""
    passage, marks = plain_passage(hit.passage[:600], hit.marks)
    at = 0
    if " ".join(passage.split()) == without:
        return
    for first, last in marks:
        start, end = max(first, at), min(last, len(passage))
        if start < end:
            yield from _part(passage[at:start], is_match=False)
            yield from _part(passage[start:end], is_match=True)
            at = end
    yield from _part(passage[at:], is_match=False)


def passage_line(hit: Hit) -> Content:
    """Return the kind of a hit and its passage on one line, with the words that match marked."""
    kind = KIND_NAMES.get(hit.kind, hit.kind)
    parts = [(text, "$text-accent bold" if is_match else "") for text, is_match in marked(hit)]
    return Content.assemble((f"{kind}: ", "$text-muted"), *parts)


def _part(text: str, *, is_match: bool) -> Iterator[tuple[str, bool]]:
    """Give a part of a passage with white space on one line."""
    text = clean(text)
    if text:
        inner = " ".join(text.split())
        lead = " " if text[0].isspace() else ""
        tail = " " if inner and text[-1].isspace() else ""
        yield f"{lead}{inner}{tail}", is_match


def day(hit: Hit, now: datetime, zone: tzinfo | None) -> str:
    """Return the day of publication, or else when the text was found: the time if that was today."""
    if hit.date:
        return clean_line(hit.date[:_DATE_CELLS], _DATE_CELLS)
    shown = moment(hit.made_at, zone)
    return shown[11:] if shown.startswith(moment(now.timestamp(), zone)[:10]) else shown[:10]


def moment(seconds: float, zone: tzinfo | None) -> str:
    """Return a time as `2026-11-21 14:02`; nothing if it has none."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone(zone):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return ""
