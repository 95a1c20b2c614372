"""How sections are laid out: which row is a heading, which one belongs to which part, where the cursor can be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len
from rich.segment import Segment
from textual.content import Content, Span
from textual.strip import Strip

from tui.render.format import tail_cut
from tui.viewers.bodies.json_tree import JsonTree, TreeRows
from tui.viewers.bodies.picture import PictureRows
from tui.viewers.view.cursor import Order
from tui.viewers.view.document import Body, Match, Row, Rows, find_in_rows

__all__ = ["HEADING", "Index", "Part", "Section", "SectionRows", "indent_of"]

HEADING = -1
"""In place of the number of a part: the heading of the section."""
_GAP = -2
_INDENT = 2
_INDENT_FROM = 30


@dataclass(frozen=True, slots=True)
class Part:
    """A body of a section.

    `apart` puts an empty row above it. `step` is how many rows the cursor goes at a time; where it is more than
    one the cursor is drawn on the first row of the body only, as it would spoil a picture.
    """

    body: Body
    apart: bool = False
    step: int = 1


@dataclass(slots=True)
class Section:
    """Parts under a heading; `facts` stand at the right of it, `role` colours it."""

    title: str
    parts: Sequence[Part]
    facts: str = ""
    role: str = "heading"
    open: bool = True


class SectionRows:
    """The rows of the sections; they follow every change of what is folded."""

    head = 0

    def __init__(self, sections: Sequence[Section], width: int, laid: Sequence[Sequence[Rows]]) -> None:
        self.laid = laid
        self._sections = sections
        self._width = width
        self._indent = indent_of(width)

    @cached_property
    def index(self) -> Index:
        """What stands where, until something is folded."""
        return Index(self._sections, self.laid)

    @cached_property
    def pictures(self) -> Sequence[PictureRows]:
        """The pictures that are drawn by the graphics of the terminal, seen or folded away."""
        return [rows for section in self.laid for rows in section if isinstance(rows, PictureRows)]

    def place_of(self, picture: PictureRows) -> tuple[int, int] | None:
        """Column and row of the first cell of a picture; None while it is folded away."""
        for (section, part), block in self.index.of.items():
            if part >= 0 and self.laid[section][part] is picture:
                return (self._indent, block.row + len(picture.facts))
        return None

    def changed(self) -> None:
        """Take up what was folded or unfolded."""
        self.__dict__.pop("index", None)

    def __len__(self) -> int:
        """The number of rows."""
        return self.index.rows

    def row(self, y: int) -> Row:
        """Row `y`: a heading, nothing, or a row of a part moved to the right."""
        block = self.index.with_row(y)
        match block.part:
            case -1:
                return self._heading(self._sections[block.section])
            case -2:
                return Content("")
            case part:
                return self._shifted(self.laid[block.section][part].row(y - block.row))

    def find(self, needle: str) -> list[Match]:
        """Every place of `needle` that is seen."""
        return find_in_rows(self, needle)

    def span(self, entry: int) -> tuple[int, int]:
        """The first row of an entry, and how many it takes."""
        block = self.index.with_entry(entry)
        inside = (entry - block.entry) * block.step
        return (block.row + inside, max(1, min(block.step, block.rows - inside)))

    def entry_at(self, y: int) -> int | None:
        """The entry that is drawn with a cursor on row `y`."""
        block = self.index.with_row(y)
        inside = y - block.row
        if not block.entries or (block.step > 1 and inside):
            return None
        return block.entry + min(inside, block.entries - 1)

    def order_at(self, x: int, y: int) -> Order | None:
        """A click on a heading folds its section, one on the mark of a member that member."""
        block = self.index.with_row(y)
        if block.part == HEADING:
            return Order("toggle")
        rows = self.laid[block.section][block.part] if block.part >= 0 else None
        return rows.order_at(x - self._indent, y - block.row) if isinstance(rows, TreeRows) else None

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

    def _shifted(self, row: Row) -> Row:
        if not self._indent:
            return row
        if isinstance(row, Content):
            return Content(" " * self._indent) + row
        return Strip([Segment(" " * self._indent), *row])


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
    """The blocks that are seen, by row and by entry."""

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
                entries = part.body.entries if isinstance(part.body, JsonTree) else steps
                self._add(number, place, rows, entries, part.step)
        self._first_rows = [block.row for block in self._blocks]
        self._first_entries = [block.entry for block in self._blocks]

    def with_row(self, y: int) -> _Block:
        """The block of a row."""
        return self._blocks[max(0, bisect_right(self._first_rows, y) - 1)]

    def with_entry(self, entry: int) -> _Block:
        """The block of an entry."""
        return self._blocks[max(0, bisect_right(self._first_entries, entry) - 1)]

    def _add(self, section: int, part: int, rows: int, entries: int, step: int = 1) -> None:
        block = _Block(section, part, self.rows, rows, self.entries, entries, step)
        self._blocks.append(block)
        if part != _GAP:
            self.of[(section, part)] = block
        self.rows += rows
        self.entries += entries


def indent_of(width: int) -> int:
    """How far the parts stand to the right of their heading in a width."""
    return _INDENT if width >= _INDENT_FROM else 0
