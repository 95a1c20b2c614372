"""JSON and JSON Lines of any size as a tree that folds; each level is parsed when it is unfolded."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content, Span

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.json_values import (
    Finder,
    Level,
    Value,
    kind_of,
    preview,
    readable_level,
    shown_scalar,
    text_of,
)
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
from ua_tui.tui.viewers.document import Body, joined, styled

_SLOW_BYTES = 512 * 1024
_FIRST_ROWS = 60
_FEW_ITEMS = 3
_MAX_ROWS = 100_000
_WORD = re.compile(r"[^\W\d]\w*")

Path = tuple[int, ...]
"""The places of members from the root down to a value."""


FOLDING = (
    KeyHint("←→", "fold", "fold"),
    KeyHint("E", "unfold all", "unfold_all"),
    KeyHint("F", "fold all", "fold_all"),
)
"""The keys of what folds."""


class Branch:
    """The members of an unfolded object or list; a folded member is stored as its bytes only."""

    __slots__ = ("_runs", "children", "names", "parent", "place", "root", "values")

    def __init__(self, level: Level, parent: Branch | None = None, place: int = 0) -> None:
        self.names, self.values = level
        self.parent = parent
        self.place = place
        self.root: Branch = self if parent is None else parent.root
        self.children: dict[int, Branch] = {}
        """The unfolded members by their places."""
        self._runs: _Runs | None = None

    @property
    def path(self) -> Path:
        """The places of the members that lead here; empty for the root."""
        places = []
        branch = self
        while branch.parent is not None:
            places.append(branch.place)
            branch = branch.parent
        return tuple(reversed(places))

    def unfold(self, place: int, level: Level | None = None) -> Branch | None:
        """Unfold a member; None if it has no members of its own, or is damaged."""
        if place not in self.children:
            level = level or readable_level(self.values[place])
            if level is None:
                return None
            self.children[place] = Branch(level, self, place)
            self.root._runs = None
        return self.children[place]

    def fold(self, place: int) -> bool:
        """Fold a member; False if it was folded."""
        self.root._runs = None
        return self.children.pop(place, None) is not None

    @property
    def rows(self) -> int:
        """The number of rows below the root, whose members are all shown."""
        return self._all_runs().firsts[-1]

    def at(self, row: int) -> tuple[Branch, int]:
        """Return the branch and the place in it that a row below the root shows."""
        runs = self._all_runs()
        number = bisect_right(runs.firsts, row) - 1
        branch, start = runs.starts[number]
        return branch, start + row - runs.firsts[number]

    def row_of(self, place: int) -> int:
        """Return the row of a member, counted below the root."""
        runs = self.root._all_runs()
        return next(
            first + place - start
            for (branch, start), first, end in zip(runs.starts, runs.firsts, runs.firsts[1:], strict=False)
            if branch is self and start <= place < start + end - first
        )

    def _all_runs(self) -> _Runs:
        """What the rows show, until something is folded or unfolded."""
        if self._runs is None:
            self._runs = runs = _Runs([0], [])
            waiting = [(self, 0, iter(sorted(self.children)))]
            while waiting:
                branch, start, unfolded = waiting.pop()
                place = next(unfolded, None)
                end = len(branch.values) if place is None else place + 1
                if end > start:
                    runs.starts.append((branch, start))
                    runs.firsts.append(runs.firsts[-1] + end - start)
                if place is not None:
                    child = branch.children[place]
                    waiting += [(branch, end, unfolded), (child, 0, iter(sorted(child.children)))]
        return self._runs


class _Runs(NamedTuple):
    """Members that follow each other: the first row of each run and the number of rows; its branch and first place."""

    firsts: list[int]
    starts: list[tuple[Branch, int]]


class JsonTree(CursorBody):
    """The members of a JSON document, one on each row.

    `level` are the outermost members; those of a list are counted from `first_number`. Small branches are unfolded at
    first, up to about a screen.
    """

    keys = (*FOLDING, KeyHint("c", "copy value", "copy"), KeyHint("C", "copy key path", "copy_place"))

    def __init__(self, level: Level, *, first_number: int = 0) -> None:
        self.first_number = first_number
        self.root = Branch(level)
        self._unfold_first()

    @property
    def entries(self) -> int:
        """The number of rows."""
        return self.root.rows

    def lay_out(self, width: int, theme: MarkdownTheme) -> JsonRows:
        """Return the rows for this width."""
        return JsonRows(self, width)

    def at_cursor(self) -> tuple[Branch, int] | None:
        """Return the branch and the place in it that the cursor is on."""
        return self.root.at(min(self.cursor, self.root.rows - 1)) if self.root.rows else None

    def execute(self, command: BodyCommand) -> Outcome:
        """Fold, unfold or copy."""
        at = self.at_cursor()
        if at is None:
            return False
        branch, place = at
        match command.name:
            case "open" | "toggle":
                return branch.fold(place) or self._unfold(branch, place)
            case "unfold":
                if place not in branch.children:
                    return self._unfold(branch, place)
                self.cursor += 1
                return True
            case "fold":
                if branch.fold(place):
                    return True
                if branch.parent is None:
                    return False
                self.cursor = branch.parent.row_of(branch.place)
                return True
            case "fold_all":
                outermost = next(iter((*branch.path, place)))
                self.root = Branch((self.root.names, self.root.values))
                self.cursor = outermost
                return True
            case "unfold_all":
                return BackgroundWork(self._unfold_all, "unfolding")
            case "copy":
                text = text_of(branch.values[place], (1024 * 1024))
                return CopyText("value", text) if text is not None else False
            case "copy_place":
                return CopyText("key path", self.path_text((*branch.path, place)))
            case _:
                return False

    def find_places(self, needle: str) -> Sequence[Hashable]:
        """Return the paths of the members whose name or value contains the text."""
        finder = Finder(needle)
        found: list[Path] = []
        searched = 0
        stack: list[Iterator[tuple[Path, str, Value]]] = [_members(self.root, ())]
        while stack and len(found) < 10_000 and searched < (1 << 30):
            check_stopped()
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                continue
            path, name, value = step
            searched += len(memoryview(value))
            inside = finder.in_value(value)
            level = readable_level(value) if inside else None
            if (name and finder.needle in name.casefold()) or (inside and level is None):
                found.append(path)
            if level is not None:
                stack.append(_members(Branch(level), path))
        return found

    def reveal(self, place: Hashable) -> None:
        """Unfold the branches around a path, and move the cursor to it."""
        if not isinstance(place, tuple) or not place:
            return
        branch = self.root
        for step in place[:-1]:
            inner = branch.unfold(step)
            if inner is None:
                return
            branch = inner
        self.cursor = branch.row_of(place[-1])

    def cursor_place(self) -> Hashable:
        """Return the path under the cursor."""
        at = self.at_cursor()
        return (*at[0].path, at[1]) if at is not None else ()

    def detail(self) -> Body | None:
        """Return the path, and the full string if it is longer than its row."""
        at = self.at_cursor()
        if at is None:
            return None
        branch, place = at
        head = self.path_text((*branch.path, place))
        value = branch.values[place]
        if kind_of(value) != "string":
            return TextBody(head, style=_style_detail)
        text = text_of(value, 20_000)
        if text is None:
            text = f"{shown_scalar(value, 2000)[0]}\n(c copies all of it)"
        elif len(text) < 60 and "\n" not in text:
            return TextBody(head, style=_style_detail)
        return TextBody(f"{head}\n{text.expandtabs(4)}", style=_style_detail)

    def path_text(self, path: Path) -> str:
        """Return a path as it is written in code: `results[3].extra["a b"]`."""
        parts: list[str] = []
        branch: Branch | None = self.root
        for place in path:
            if branch is None:
                break
            if branch.names is None:
                parts.append(f"[{place + (self.first_number if branch is self.root else 0)}]")
            else:
                name = branch.names[place]
                if _WORD.fullmatch(name):
                    parts.append(f".{name}" if parts else name)
                else:
                    parts.append(f'["{name}"]')
            branch = branch.children.get(place)
        return clean_line("".join(parts), 1000)

    # -- unfolding --------------------------------------------------------------------------------

    def _unfold(self, branch: Branch, place: int) -> Outcome:
        value = branch.values[place]
        if len(memoryview(value)) <= _SLOW_BYTES:
            return branch.unfold(place) is not None

        def prepare() -> Callable[[], None]:
            level = readable_level(value)

            def change() -> None:
                if level is not None:
                    branch.unfold(place, level)

            return change

        return BackgroundWork(prepare, "unfolding")

    def _unfold_first(self) -> None:
        """Unfold level by level what fits on a screen, as services wrap the data of a tool in several objects.

        The items of an inner list of several stay folded: each is a row that previews its content.
        """
        branches = [self.root]
        while branches and self.root.rows <= _FIRST_ROWS:
            folded = [
                (branch, place, level)
                for branch in branches
                if branch is self.root or branch.names is not None or len(branch.values) <= _FEW_ITEMS
                for place, value in enumerate(branch.values[:_FIRST_ROWS])
                if len(memoryview(value)) <= _SLOW_BYTES or (branch is self.root and len(branch.values) == 1)
                if (level := readable_level(value)) is not None
            ]
            branches = []
            for branch, place, level in folded:
                if len(folded) == 1 or self.root.rows + len(level[1]) <= _FIRST_ROWS:
                    branches += filter(None, [branch.unfold(place, level)])

    def _unfold_all(self) -> Callable[[], None]:
        path = self.cursor_place()
        root = Branch((self.root.names, self.root.values))
        rows, branches = len(root.values), [root]
        while branches and rows < _MAX_ROWS:
            level: list[Branch] = []
            for branch in branches:
                for place in range(len(branch.values)):
                    check_stopped()
                    if rows >= _MAX_ROWS:
                        break
                    inner = branch.unfold(place)
                    if inner is not None:
                        rows += len(inner.values)
                        level.append(inner)
            branches = level

        def change() -> None:
            self.root = root
            self.reveal(path)

        return change


def _members(branch: Branch, path: Path) -> Iterator[tuple[Path, str, Value]]:
    names = branch.names
    for place, value in enumerate(branch.values):
        yield (*path, place), names[place] if names is not None else "", value


class JsonRows(CursorRows):
    """The rows of a JSON tree; they follow every change of the tree."""

    _body: JsonTree

    def __len__(self) -> int:
        """The number of rows."""
        return max(1, self._body.root.rows)

    def row(self, y: int) -> Content:
        """Return row `y`: its indentation, a mark if it folds, its name and its value."""
        if y >= self._body.root.rows:
            return styled("(no members)" if self._body.root.names is not None else "(no items)", "dim")
        branch, place = self._body.root.at(y)
        value = branch.values[place]
        kind = kind_of(value)
        folds = kind in {"object", "list"}
        unfolded = place in branch.children
        parts: list[tuple[str, str]] = [(" " * self._indent(branch), "")]
        parts.append((("▾ " if unfolded else "▸ ") if folds else "  ", "dim"))
        if branch.names is None:
            first = self._body.first_number if branch is self._body.root else 0
            digits = len(str(len(branch.values) - 1 + first))
            parts.append((f"{place + first:>{digits}}  ", "dim"))
        else:
            parts += [
                (tail_cut(clean_line(branch.names[place]), max(8, self._width // 2)), "key"),
                (": ", "dim"),
            ]
        room = max(4, self._width - sum(cell_len(text) for text, _ in parts))
        if folds:
            count, members = preview(value, 0 if unfolded else room)
            if count is None:
                return joined([*parts, (tail_cut(members, room), "bad")])
            brackets = "{}" if kind == "object" else "[]"
            counted = f"{brackets[0]}{count or '…'}{brackets[1]}" if count != "0" else brackets
            parts.append((tail_cut(counted, room), "dim"))
            if not unfolded and members:
                parts.append((tail_cut(f"  {members}", max(0, room - cell_len(counted))), "dim"))
        else:
            text, length = shown_scalar(value, room)
            if length:
                length = f"  {length}" if room > len(length) + 12 else ""
                text, _ = shown_scalar(value, max(4, room - len(length) - 3))
            parts.append((tail_cut(text, max(1, room - len(length))), {"bad": "bad"}.get(kind, kind)))
            parts.append((length, "dim"))
        return joined(parts)

    def command_at(self, x: int, y: int) -> BodyCommand | None:
        """Return the command of a click on a mark, or left of it, which folds."""
        if y >= self._body.root.rows:
            return None
        branch, _ = self._body.root.at(y)
        return BodyCommand("toggle") if x <= self._indent(branch) + 1 else None

    def _indent(self, branch: Branch) -> int:
        return min(2 * len(branch.path), max(0, self._width // 2))


def _style_detail(number: int, line: str) -> list[Span]:
    return [Span(0, len(line), "dim")] if number == 0 else []
