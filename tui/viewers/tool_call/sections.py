"""A body of several bodies: sections that fold, with one cursor through their trees, tables, texts and pictures."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from rich.cells import cell_len
from textual.content import Content, Span

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.tui.graphics.capabilities import Canvas
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.json_tree import FOLDING, JsonTree
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.bodies.picture import PictureRows
from ua_tui.tui.viewers.bodies.table import FILTER_KEY
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.cursor_body import (
    BackgroundWork,
    BodyCommand,
    CopyText,
    CursorBody,
    CursorRows,
    KeyHint,
    Outcome,
)
from ua_tui.tui.viewers.document import Body, Row, Rows, shifted

HEADING = -1
"""The number of the heading, where parts have numbers from 0."""
_GAP = -2
_INDENT = 2
_INDENT_MIN_WIDTH = 30
_MAX_DRAWN = 16
"""Pictures in terminal graphics; further ones are drawn in half blocks, as the terminal has room for few."""


@dataclass(frozen=True, slots=True)
class Part:
    """A body of a section.

    `apart` puts an empty row above it. `step` is how many rows the cursor moves at a time; if it is more than one,
    the cursor is drawn on the first row of the body only, as it would discolour a picture.
    """

    body: Body
    apart: bool = False
    step: int = 1


@dataclass(slots=True)
class Section:
    """Parts under a heading; `facts` are written at its right, `role` colours it."""

    title: str
    parts: Sequence[Part]
    facts: str = ""
    role: str = "heading"
    open: bool = True


class SectionRows(CursorRows):
    """The rows of the sections; they follow every fold."""

    _body: SectionsBody

    def __init__(self, body: SectionsBody, width: int, laid: Sequence[Sequence[Rows]]) -> None:
        super().__init__(body, width)
        self.laid = laid
        self._indent = indent_of(width)

    @cached_property
    def index(self) -> Index:
        """The position of every part, until something is folded."""
        return Index(self._body.sections, self.laid)

    def positions(self) -> Mapping[PictureRows, tuple[int, int] | None]:
        """Return the pictures drawn in terminal graphics, visible or folded away."""
        found: dict[PictureRows, tuple[int, int] | None] = {}
        for number, section in enumerate(self.laid):
            for place, rows in enumerate(section):
                if isinstance(rows, PictureRows):
                    block = self.index.of.get((number, place))
                    found[rows] = (self._indent, block.row + len(rows.facts)) if block is not None else None
        return found

    def changed(self) -> None:
        """Update the index after a fold."""
        self.__dict__.pop("index", None)

    def __len__(self) -> int:
        """The number of rows."""
        return self.index.rows

    def row(self, y: int) -> Row:
        """Return row `y`: a heading, an empty row, or an indented row of a part."""
        block = self.index.with_row(y)
        match block.part:
            case -1:
                return self._heading(self._body.sections[block.section])
            case -2:
                return Content("")
            case part:
                return shifted(self.laid[block.section][part].row(y - block.row), " " * self._indent)

    def span(self, entry: int) -> tuple[int, int]:
        """Return the first row of an entry, and its number of rows."""
        block = self.index.with_entry(entry)
        rows = self._cursor_rows(block)
        if rows is not None:
            first, count = rows.span(entry - block.entry)
            # The lines above a table are shown together with its first row.
            above = 0 if entry == block.entry else first
            return (block.row + above, first + count - above)
        inside = (entry - block.entry) * block.step
        return (block.row + inside, max(1, min(block.step, block.rows - inside)))

    def entry_at(self, y: int) -> int | None:
        """Return the entry whose cursor is drawn on row `y`."""
        block = self.index.with_row(y)
        inside = y - block.row
        rows = self._cursor_rows(block)
        if rows is not None:
            entry = rows.entry_at(inside) if block.entries else None
            return None if entry is None else block.entry + entry
        if not block.entries or (block.step > 1 and inside):
            return None
        return block.entry + min(inside, block.entries - 1)

    def command_at(self, x: int, y: int) -> BodyCommand | None:
        """Return the command of a click: on a heading it folds the section, on the mark of a member that member."""
        block = self.index.with_row(y)
        if block.part == HEADING:
            return BodyCommand("toggle")
        rows = self._cursor_rows(block)
        if rows is None or rows.entry_at(y - block.row) is None:
            return None
        return rows.command_at(x - self._indent, y - block.row)

    def _cursor_rows(self, block: _Block) -> CursorRows | None:
        """Return the rows of a part that has a cursor of its own."""
        rows = self.laid[block.section][block.part] if block.part >= 0 else None
        return rows if isinstance(rows, CursorRows) else None

    def _heading(self, section: Section) -> Content:
        mark = "▾ " if section.open else "▸ "
        title = tail_cut(section.title, max(1, self._width - 2))
        room = self._width - 2 - cell_len(title)
        facts = tail_cut(section.facts, max(0, room - 2))
        text = f"{mark}{title}{' ' * max(0, room - cell_len(facts))}{facts}" if facts else f"{mark}{title}"
        spans = [
            Span(0, 2, "dim"),
            Span(2, 2 + len(title), "strong"),
            Span(2, 2 + len(title), section.role),
        ]
        return Content(text, [*spans, Span(len(text) - len(facts), len(text), "dim")] if facts else spans)


@dataclass(frozen=True, slots=True)
class _Block:
    section: int
    part: int
    row: int
    rows: int
    entry: int
    entries: int
    step: int


class Index:
    """The visible blocks, by row and by entry."""

    def __init__(self, sections: Sequence[Section], laid: Sequence[Sequence[Rows]]) -> None:
        self.rows = self.entries = 0
        self.of: dict[tuple[int, int], _Block] = {}
        self._blocks: list[_Block] = []
        for number, section in enumerate(sections):
            if number:
                self._add(number, _GAP, 1, 0)
            self._add(number, HEADING, 1, 1)
            for place, part in enumerate(section.parts if section.open else ()):
                if part.apart:
                    self._add(number, _GAP, 1, 0)
                rows = len(laid[number][place])
                steps = -(-rows // part.step)
                entries = part.body.entries if isinstance(part.body, CursorBody) else steps
                self._add(number, place, rows, entries, part.step)
        self._first_rows = [block.row for block in self._blocks]
        self._first_entries = [block.entry for block in self._blocks]

    def with_row(self, y: int) -> _Block:
        """Return the block of a row."""
        return self._blocks[max(0, bisect_right(self._first_rows, y) - 1)]

    def with_entry(self, entry: int) -> _Block:
        """Return the block of an entry."""
        return self._blocks[max(0, bisect_right(self._first_entries, entry) - 1)]

    def _add(self, section: int, part: int, rows: int, entries: int, step: int = 1) -> None:
        block = _Block(section, part, self.rows, rows, self.entries, entries, step)
        self._blocks.append(block)
        if part != _GAP:
            self.of[(section, part)] = block
        self.rows += rows
        self.entries += entries


def indent_of(width: int) -> int:
    """Return the indentation of the parts in a width."""
    return _INDENT if width >= _INDENT_MIN_WIDTH else 0


class SectionsBody(CursorBody):
    """The sections one below the other. A heading folds its section; trees fold as usual."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = tuple(sections)
        self._spot = _Spot(0)
        self._rows: SectionRows | None = None

    # The cursor is stored as a place in a part, so that changes above it do not move it; a tree or a table has its own.

    @property
    def cursor(self) -> int:
        """The entry the cursor is on."""
        if self._rows is None:
            return 0
        spot, of = self._spot, self._rows.index.of
        if (body := self._body()) is None:
            return of[spot.section, HEADING].entry
        block = of[spot.section, spot.part]
        return block.entry + max(0, min(self._offset(body), block.entries - 1))

    @cursor.setter
    def cursor(self, entry: int) -> None:
        if self._rows is not None and 0 <= entry < self._rows.index.entries:
            block = self._rows.index.with_entry(entry)
            self._go_to(block.section, block.part, entry - block.entry)

    @property
    def entries(self) -> int:
        """The number of headings and non-empty rows."""
        return 0 if self._rows is None else self._rows.index.entries

    @property
    def keys(self) -> Sequence[KeyHint]:
        """The keys of the tree or table that the cursor is in; elsewhere, those for folding."""
        inner = self._inner()
        if inner is not None:
            return inner.keys
        return FOLDING if self.filter is None else (*FOLDING, FILTER_KEY)

    @property
    def state(self) -> str:
        """The filter and the order of the table that a filter applies to."""
        _, body = self._filterable()
        return body.state if body is not None else ""

    @property
    def filter(self) -> str | None:
        """The filter of the table that the cursor is in; elsewhere, that of a filtered one in the same section."""
        _, body = self._filterable()
        return body.filter if body is not None else None

    def restore(self, other: SectionsBody) -> None:
        """Restore the folds and the cursor from an older form of the document."""
        known = {section.title: section for section in other.sections}
        titles = [section.title for section in self.sections]
        for section in self.sections:
            if (before := known.get(section.title)) is not None:
                section.open = before.open
        spot, body = other._spot, other._body()
        title = other.sections[spot.section].title
        if title in titles:
            number = titles.index(title)
            is_there = body is not None and spot.part < len(self.sections[number].parts)
            self._go_to(number, *((spot.part, other._offset(body)) if is_there else ()))

    @property
    def has_picture(self) -> bool:
        """Whether a part of it has one."""
        return any(part.body.has_picture for section in self.sections for part in section.parts)

    def fit_to(self, rows: int | None, canvas: Canvas | None) -> bool:
        """Draw every picture at most this many rows high, or in the full width; `canvas` is for the first ones."""
        bodies = [part.body for section in self.sections for part in section.parts if part.body.has_picture]
        # Each is fitted, also after one whose size has changed.
        changed = [
            body.fit_to(rows, canvas if number < _MAX_DRAWN else None) for number, body in enumerate(bodies)
        ]
        return any(changed)

    def lay_out(self, width: int, theme: MarkdownTheme) -> SectionRows:
        """Lay out every part.

        Raises:
            Stopped: the result is no longer needed.
        """
        room = max(1, width - indent_of(width))
        laid = [[part.body.lay_out(room, theme) for part in section.parts] for section in self.sections]
        self._rows = SectionRows(self, width, laid)
        return self._rows

    def execute(self, command: BodyCommand) -> Outcome:
        """Fold, unfold and copy."""
        if self._rows is None:
            return False
        outcome = self._execute(command)
        self._rows.changed()
        if not isinstance(outcome, BackgroundWork):
            return outcome
        return BackgroundWork(partial(self._prepare, outcome.prepare), outcome.label)

    def _prepare(self, prepare: Callable[[], Callable[[], None]]) -> Callable[[], None]:
        change = prepare()

        def both() -> None:
            change()
            if self._rows is not None:
                self._rows.changed()

        return both

    def find_places(self, needle: str) -> Sequence[Hashable]:
        """Return the places of the members and rows that contain the text, including folded ones."""
        rows = self._rows
        found: list[tuple[Hashable, ...]] = []
        if rows is None:
            return found
        for number, section in enumerate(self.sections):
            for place, part in enumerate(section.parts):
                check_stopped()
                if isinstance(part.body, CursorBody):
                    found += [(number, place, *_steps(path)) for path in part.body.find_places(needle)]
                else:
                    steps = (match.row // part.step for match in rows.laid[number][place].find(needle))
                    found += [(number, place, step) for step in dict.fromkeys(steps)]
        return found

    def reveal(self, place: Hashable) -> None:
        """Move the cursor to a place that was found, and unfold what hides it."""
        if not isinstance(place, tuple) or len(place) < 3:
            return
        number, part, *inside = place
        self.sections[number].open = True
        body = self.sections[number].parts[part].body
        if isinstance(body, CursorBody):
            body.reveal(tuple(inside) if isinstance(body, JsonTree) else inside[0])
            self._go_to(number, part, body.cursor)
        else:
            self._go_to(number, part, inside[0])
        if self._rows is not None:
            self._rows.changed()

    def cursor_place(self) -> Hashable:
        """Return the section, the part and the place in the part under the cursor."""
        spot, body = self._spot, self._body()
        inside = _steps(body.cursor_place()) if isinstance(body, CursorBody) else (spot.offset,)
        return (spot.section, HEADING if body is None else spot.part, *inside)

    def detail(self) -> Body | None:
        """Return a string of a tree that does not fit into its row, or the details of a row of a table."""
        inner = self._inner()
        body = inner.detail() if inner is not None else None
        return None if isinstance(body, TextBody) and len(body.lines) == 1 else body

    # -- inside -----------------------------------------------------------------------------------

    def _go_to(self, section: int, part: int = HEADING, offset: int = 0) -> None:
        self._spot = _Spot(section, part, offset)
        if isinstance(body := self._body(), CursorBody):
            body.cursor = min(offset, body.entries - 1)

    def _body(self) -> Body | None:
        """What the cursor is in; None on a heading, on which it is instead of a table that has no rows."""
        spot = self._spot
        section = self.sections[spot.section]
        parts = section.parts if section.open else ()
        body = parts[spot.part].body if 0 <= spot.part < len(parts) else None
        return None if isinstance(body, CursorBody) and not body.entries else body

    def _offset(self, body: Body | None) -> int:
        return body.cursor if isinstance(body, CursorBody) else self._spot.offset

    def _inner(self) -> CursorBody | None:
        """The tree or table that the cursor is in."""
        body = self._body()
        return body if isinstance(body, CursorBody) else None

    def _filterable(self) -> tuple[int, CursorBody | None]:
        """Return what a filter applies to, and which part it is; a filter may leave no row for the cursor."""
        inner = self._inner()
        if inner is not None:
            return self._spot.part, inner
        bodies = [part.body for part in self.sections[self._spot.section].parts]
        filtered = (
            (n, body) for n, body in enumerate(bodies) if isinstance(body, CursorBody) and body.filter
        )
        return next(filtered, (HEADING, None))

    def _execute(self, command: BodyCommand) -> Outcome:
        match command.name:
            case "filter":
                part, table = self._filterable()
                self._spot = _Spot(self._spot.section, part)
                return table.execute(command) if table is not None else False
            case "unfold_all":
                return BackgroundWork(self._unfold_all, "unfolding")
            case "fold_all":
                for each in self._trees():
                    each.execute(command)
                return True
        body, section = self._body(), self.sections[self._spot.section]
        if isinstance(body, CursorBody):
            outcome = body.execute(command)
            if outcome is not False or command.name != "fold":
                return outcome
        match command.name, body:
            case "fold", _ if body is not None:
                self._go_to(self._spot.section)
            case "copy", TextBody(text=text) | MarkdownBody(source=text):
                return CopyText(section.title.lower(), text)
            case _ if body is not None:
                return False
            case "open" | "toggle", _:
                section.open = not section.open
            case "unfold", _ if not section.open:
                section.open = True
            case "unfold", _:
                self.cursor += 1
            case "fold", _ if section.open:
                section.open = False
            case _:
                return False
        return True

    def _unfold_all(self) -> Callable[[], None]:
        works = [tree.execute(BodyCommand("unfold_all")) for tree in self._trees()]
        changes = [work.prepare() for work in works if isinstance(work, BackgroundWork)]

        def change() -> None:
            for section in self.sections:
                section.open = True
            for each in changes:
                each()

        return change

    def _trees(self) -> list[JsonTree]:
        bodies = (part.body for section in self.sections for part in section.parts)
        return [body for body in bodies if isinstance(body, JsonTree)]


def _steps(place: Hashable) -> tuple[Hashable, ...]:
    return place if isinstance(place, tuple) else (place,)


@dataclass(slots=True)
class _Spot:
    section: int
    part: int = HEADING
    offset: int = 0
