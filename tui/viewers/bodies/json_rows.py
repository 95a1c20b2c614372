"""The open part of a JSON tree: which row shows which value, counted and never listed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from tui.viewers.bodies.json_values import Level, Value, open_level

__all__ = ["Branch", "Path"]

Path = tuple[int, ...]
"""Places of members from the root down to a value."""


class Branch:
    """The members of an open object or list. A closed member costs nothing but its bytes."""

    __slots__ = ("_firsts", "_open", "_order", "names", "parent", "place", "rows", "values")

    def __init__(self, level: Level, parent: Branch | None = None, place: int = 0) -> None:
        self.names, self.values = level
        self.parent = parent
        self.place = place
        self.rows = len(self.values)
        self._open: dict[int, Branch] = {}
        self._order: list[int] = []
        self._firsts: list[int] | None = None

    @property
    def depth(self) -> int:
        """How many branches are around this one."""
        return sum(1 for _ in self._around())

    @property
    def path(self) -> Path:
        """The places of the members that lead here; empty for the root."""
        places = [self.place] if self.parent is not None else []
        places += [each.place for each in self._around() if each.parent is not None]
        return tuple(reversed(places))

    def child(self, place: int) -> Branch | None:
        """The branch of a member that is open."""
        return self._open.get(place)

    def unfold(self, place: int, level: Level | None = None) -> Branch | None:
        """Open a member; None when it has no members of its own.

        Raises:
            ValueError: it is not JSON.
            RecursionError: it is nested too deeply.
        """
        if (there := self._open.get(place)) is not None:
            return there
        found = level or open_level(self.values[place])
        if found is None:
            return None
        made = self._open[place] = Branch(found, self, place)
        insort(self._order, place)
        self._grow(made.rows)
        return made

    def fold(self, place: int) -> bool:
        """Close a member; False when it was closed."""
        closed = self._open.pop(place, None)
        if closed is None:
            return False
        self._order.remove(place)
        self._grow(-closed.rows)
        return True

    def fold_all(self) -> None:
        """Close every member."""
        self._open.clear()
        self._order.clear()
        self._grow(len(self.values) - self.rows)

    def at(self, row: int) -> tuple[Branch, int]:
        """The branch and the place in it that row `row` below this one shows."""
        branch = self
        while True:
            firsts = branch._first_rows()
            number = bisect_right(firsts, row) - 1
            if number < 0:
                return branch, row
            place = branch._order[number]
            child = branch._open[place]
            inside = row - firsts[number]
            if inside >= child.rows:
                return branch, place + 1 + inside - child.rows
            branch, row = child, inside

    def row_of(self, place: int) -> int:
        """The row of a member, counted below the root."""
        branch, row = self, self._row_inside(place)
        while branch.parent is not None:
            row += branch.parent._row_inside(branch.place) + 1
            branch = branch.parent
        return row

    def _row_inside(self, place: int) -> int:
        number = bisect_left(self._order, place)
        if not number:
            return place
        before = self._order[number - 1]
        return self._first_rows()[number - 1] + self._open[before].rows + place - before - 1

    def _first_rows(self) -> list[int]:
        if self._firsts is None:
            self._firsts = []
            below = 0
            for place in self._order:
                self._firsts.append(place + 1 + below)
                below += self._open[place].rows
        return self._firsts

    def _grow(self, rows: int) -> None:
        for branch in (self, *self._around()):
            branch.rows += rows
            branch._firsts = None

    def _around(self) -> Iterator[Branch]:
        branch = self.parent
        while branch is not None:
            yield branch
            branch = branch.parent

    def value(self, place: int) -> Value:
        """The bytes of a member."""
        return self.values[place]
