"""Documents: their bodies lay themselves out as rows of a given width."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from rich.segment import Segment
from textual.content import Content, Span
from textual.strip import Strip

from ua_tui.tui.graphics.capabilities import Canvas
from ua_tui.tui.render.markdown.renderer import MarkdownTheme

ROLES = (
    "dim",
    "strong",
    "emphasis",
    "heading",
    "key",
    "string",
    "number",
    "literal",
    "keyword",
    "name",
    "comment",
    "link",
    "good",
    "warn",
    "bad",
    "accent",
    "added",
    "added-sign",
    "added-words",
    "removed",
    "removed-sign",
    "removed-words",
)
"""The style names that spans of a row may have; the view colours them with its component classes."""

Row = Content | Strip
"""One screen row: text with spans of roles, or a styled strip."""

MATCH_LIMIT = 10_000


class Match(NamedTuple):
    """An occurrence of the needle of a search: its row and its character range in the row."""

    row: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Landmark:
    """A place to jump to: its row; of a heading also its text and its level, from 1."""

    row: int
    text: str = ""
    level: int = 1


class Rows(ABC):
    """Screen rows of one width, made on demand.

    Some also have `links`, if these are not in the text: for each the row in which it begins, its text and its
    untrusted address.
    """

    @property
    def landmarks(self) -> Sequence[Landmark]:
        """The places to jump to, such as headings; most rows have none."""
        return ()

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    def positions(self) -> Mapping[Any, tuple[int, int] | None]:
        """The pictures in the rows, each with the column and row of its first cell; None while it is folded away."""
        return {}

    @abstractmethod
    def row(self, y: int) -> Row:
        """Row `y`, never wider than the width it was laid out for."""

    def find(self, needle: str) -> list[Match]:
        """Every occurrence of `needle`, ignoring case: within one row, unless rows find it faster, or in more."""
        wanted = re.compile(re.escape(needle.casefold()))
        found = (
            Match(y, *each.span())
            for y in range(len(self))
            for each in wanted.finditer(row_text(self.row(y)).casefold())
        )
        return list(islice(found, MATCH_LIMIT)) if needle else []


class Body(ABC):
    """Content that can be laid out for any width; the layout may be slow and runs in a thread."""

    @property
    def has_picture(self) -> bool:
        """Whether it has a picture."""
        return False

    def fit_to(self, rows: int | None, canvas: Canvas | None) -> bool:
        """Draw pictures at most this many rows high from the next layout on, or in the full width of the view.

        They are encoded for `canvas`, the graphics of the terminal, or drawn in half blocks without one. Returns False
        if that changes nothing.
        """
        return False

    @abstractmethod
    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Return the rows for this width; `theme` styles those that are strips.

        Raises:
            Stopped: the flag was set; only by a body whose layout may take seconds.
        """


@dataclass(frozen=True, slots=True)
class ListRows(Rows):
    """Rows from a sequence."""

    rows: Sequence[Row] = field(default_factory=tuple)
    landmarks: Sequence[Landmark] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def row(self, y: int) -> Row:
        """Row `y`."""
        return self.rows[y]


@dataclass(frozen=True, slots=True)
class JoinedBody(Body):
    """Several bodies, one below the other."""

    bodies: tuple[Body, ...]

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Lay out every body for the same width, unless the flag is set."""
        return _JoinedRows(tuple(body.lay_out(width, theme) for body in self.bodies))


class _JoinedRows(Rows):
    def __init__(self, parts: tuple[Rows, ...]) -> None:
        self._parts = parts
        self._length = sum(len(part) for part in parts)

    def __len__(self) -> int:
        return self._length

    def row(self, y: int) -> Row:
        for first, part in self._placed():
            if y < first + len(part):
                return part.row(y - first)
        raise IndexError(y)

    @property
    def landmarks(self) -> list[Landmark]:
        return [
            replace(landmark, row=first + landmark.row)
            for first, part in self._placed()
            for landmark in part.landmarks
        ]

    def _placed(self) -> Iterator[tuple[int, Rows]]:
        first = 0
        for part in self._parts:
            yield first, part
            first += len(part)


class ShiftedRows(Rows):
    """Rows with cells at their left."""

    def __init__(self, rows: Rows, cells: int) -> None:
        self._rows = rows
        self._cells = cells

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def row(self, y: int) -> Row:
        """Row `y`."""
        return shifted(self._rows.row(y), " " * self._cells)

    @property
    def landmarks(self) -> Sequence[Landmark]:
        """The headings."""
        return self._rows.landmarks


def shifted(row: Row, margin: str) -> Row:
    """Return a row behind a margin."""
    if not margin:
        return row
    return Content(margin) + row if isinstance(row, Content) else Strip([Segment(margin), *row])


def row_text(row: Row) -> str:
    """The text of a row."""
    return row.plain if isinstance(row, Content) else row.text


def styled(text: str, role: str) -> Content:
    """A row in one role."""
    return Content(text, [Span(0, len(text), role)] if text else [])


def joined(parts: Iterable[tuple[str, str]]) -> Content:
    """A row of several texts, each in its own roles, separated by spaces."""
    texts: list[str] = []
    spans: list[Span] = []
    at = 0
    for text, role in parts:
        spans += (Span(at, at + len(text), each) for each in role.split() if text)
        at += len(text)
        texts.append(text)
    return Content("".join(texts), spans)
