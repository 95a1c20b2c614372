"""Several bodies as one document, in sections that fold: one cursor walks through trees, texts and pictures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from tui.graphics.capabilities import Canvas
from tui.render.markdown import MarkdownTheme
from tui.viewers.bodies.json_tree import JsonTree
from tui.viewers.bodies.markdown import MarkdownBody
from tui.viewers.bodies.picture import Drawn
from tui.viewers.bodies.text import TextBody
from tui.viewers.cancellation import Stop
from tui.viewers.view.cursor import Copy, Key, Order, Outcome, Work
from tui.viewers.view.document import Body, Rows
from tui.viewers.view.section_rows import HEADING, Part, Section, SectionRows, indent_of

__all__ = ["Part", "Section", "SectionsBody"]

_MOST_DRAWN = 16
"""Pictures by the graphics of the terminal; the rest are half blocks, as it has room for few."""
_FOLDING = (Key("←→", "fold", "fold"), Key("E", "unfold all", "unfold_all"), Key("F", "fold all", "fold_all"))


class SectionsBody:
    """The sections one below the other. Trees fold as they do alone, and a heading folds its section."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = tuple(sections)
        self._spot = _Spot(0, HEADING, 0)
        self._rows: SectionRows | None = None

    # The cursor is kept as a place in a part: what changes above it does not move it.

    @property
    def cursor(self) -> int:
        """The entry the cursor is on."""
        if self._rows is None:
            return 0
        spot, places = self._spot, self._rows.index
        block = places.of.get((spot.section, spot.part)) or places.of.get((spot.section, HEADING))
        if block is None:
            return 0
        return block.entry + max(0, min(spot.offset, block.entries - 1))

    @cursor.setter
    def cursor(self, entry: int) -> None:
        if self._rows is not None and 0 <= entry < self._rows.index.entries:
            block = self._rows.index.with_entry(entry)
            self._spot = _Spot(block.section, block.part, entry - block.entry)

    @property
    def entries(self) -> int:
        """The number of headings and of rows that are not empty."""
        return 0 if self._rows is None else self._rows.index.entries

    @property
    def keys(self) -> Sequence[Key]:
        """Those of the tree the cursor is in, else folding alone."""
        tree = self._tree()
        return _FOLDING if tree is None else tree.keys

    @property
    def state(self) -> str:
        """Nothing: there is no order and no filter."""
        return ""

    def follow(self, other: SectionsBody) -> None:
        """Take over from an older form of the document what is folded, and the cursor."""
        known = {section.title: section for section in other.sections}
        titles = [section.title for section in self.sections]
        for section in self.sections:
            if (before := known.get(section.title)) is not None:
                section.open = before.open
        if not other.sections:
            return
        title = other.sections[other._spot.section].title
        if title in titles:
            number, part = titles.index(title), other._spot.part
            there = part < len(self.sections[number].parts)
            self._spot = _Spot(number, part, other._spot.offset) if there else _Spot(number, HEADING, 0)

    def lay_out(self, width: int, theme: MarkdownTheme) -> SectionRows:
        """Lay out every part; sections that are folded too, as they are searched."""
        return self._laid(width, theme, None)

    def draw(self, width: int, theme: MarkdownTheme, canvas: Canvas) -> SectionRows:
        """Lay out every part, and make the first pictures ready for the graphics of the terminal."""
        return self._laid(width, theme, canvas)

    def _laid(self, width: int, theme: MarkdownTheme, canvas: Canvas | None) -> SectionRows:
        room = max(1, width - indent_of(width))
        drawn = 0

        def rows_of(body: Body) -> Rows:
            nonlocal drawn
            if canvas is None or drawn >= _MOST_DRAWN or not isinstance(body, Drawn):
                return body.lay_out(room, theme)
            drawn += 1
            return body.draw(room, theme, canvas)

        laid = [[rows_of(part.body) for part in section.parts] for section in self.sections]
        self._rows = SectionRows(self.sections, width, laid)
        return self._rows

    def steer(self, order: Order) -> Outcome:
        """Fold, unfold and copy."""
        if self._rows is None or not self.sections:
            return False
        outcome = self._steer(order)
        self._rows.changed()
        return outcome

    def find_entries(self, needle: str, stop: Stop) -> Sequence[Hashable]:
        """The places of the members and rows that have the text, folded ones too."""
        rows = self._rows
        found: list[tuple[int, ...]] = []
        if rows is None:
            return found
        for number, section in enumerate(self.sections):
            for place, part in enumerate(section.parts):
                stop.check()
                if isinstance(part.body, JsonTree):
                    for path in part.body.find_entries(needle, stop):
                        assert isinstance(path, tuple)
                        found.append((number, place, *path))
                else:
                    steps = (match.row // part.step for match in rows.laid[number][place].find(needle))
                    found += [(number, place, step) for step in dict.fromkeys(steps)]
        return found

    def reveal(self, place: Hashable) -> None:
        """Put the cursor on a place that was found, unfolding what hides it."""
        if not isinstance(place, tuple) or len(place) < 3:
            return
        number, part, *inside = place
        self.sections[number].open = True
        body = self.sections[number].parts[part].body
        if isinstance(body, JsonTree):
            body.reveal(tuple(inside))
            self._spot = _Spot(number, part, body.cursor)
        else:
            self._spot = _Spot(number, part, inside[0])
        if self._rows is not None:
            self._rows.changed()

    def row_place(self) -> Hashable:
        """The section, the part and the place in it under the cursor."""
        spot, tree = self._spot, self._tree()
        if tree is not None:
            inside = tree.row_place()
            assert isinstance(inside, tuple)
            return (spot.section, spot.part, *inside)
        return (spot.section, spot.part, spot.offset)

    def detail(self) -> Body | None:
        """A string of a tree that has no room in its row."""
        tree = self._tree()
        body = tree.detail() if tree is not None else None
        return body if isinstance(body, TextBody) and len(body.lines) > 1 else None

    # -- inside -----------------------------------------------------------------------------------

    def _tree(self) -> JsonTree | None:
        """The tree the cursor is in, with its own cursor there."""
        spot = self._spot
        if not self.sections or spot.part < 0 or not self.sections[spot.section].open:
            return None
        parts = self.sections[spot.section].parts
        body = parts[spot.part].body if spot.part < len(parts) else None
        if not isinstance(body, JsonTree) or not body.entries:
            return None
        body.cursor = min(spot.offset, body.entries - 1)
        return body

    def _steer(self, order: Order) -> Outcome:
        match order.name:
            case "unfold_all":
                return Work(self._unfold_all, "unfolding")
            case "fold_all":
                here = self._tree()
                for each in self._trees():
                    each.steer(order)
                if here is not None:
                    self._spot.offset = here.cursor
                return True
        tree = self._tree()
        if tree is not None:
            outcome = tree.steer(order)
            self._spot.offset = tree.cursor
            if isinstance(outcome, Work):
                return Work(lambda stop: self._following(tree, outcome.prepare(stop)), outcome.word)
            if outcome is not False or order.name != "fold":
                return outcome
        section = self.sections[self._spot.section]
        if self._spot.part >= 0 and section.open:
            return self._steer_text(order)
        match order.name:
            case "open" | "toggle":
                section.open = not section.open
            case "unfold" if not section.open:
                section.open = True
            case "unfold":
                self.cursor += 1
            case "fold" if section.open:
                section.open = False
            case _:
                return False
        return True

    def _steer_text(self, order: Order) -> Outcome:
        spot = self._spot
        section = self.sections[spot.section]
        match order.name, section.parts[spot.part].body:
            case "fold", _:
                self._spot = _Spot(spot.section, HEADING, 0)
                return True
            case "copy", TextBody(text=text) | MarkdownBody(source=text):
                return Copy(section.title.lower(), text)
            case _:
                return False

    def _unfold_all(self, stop: Stop) -> Callable[[], None]:
        everything = Order("unfold_all")
        self._tree()
        changes: list[Callable[[], None]] = []
        for tree in self._trees():
            outcome = tree.steer(everything)
            if isinstance(outcome, Work):
                changes.append(self._following(tree, outcome.prepare(stop)))

        def change() -> None:
            for section in self.sections:
                section.open = True
            for each in changes:
                each()

        return change

    def _following(self, tree: JsonTree, change: Callable[[], None]) -> Callable[[], None]:
        def both() -> None:
            here = self._tree() is tree
            change()
            if here:
                self._spot.offset = tree.cursor
            if self._rows is not None:
                self._rows.changed()

        return both

    def _trees(self) -> list[JsonTree]:
        bodies = (part.body for section in self.sections for part in section.parts)
        return [body for body in bodies if isinstance(body, JsonTree)]


@dataclass(slots=True)
class _Spot:
    section: int
    part: int
    offset: int
