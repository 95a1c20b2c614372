"""What a viewer makes of a file: a document whose bodies lay themselves out as rows of a given width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from textual.content import Content, Span
from textual.strip import Strip

from core.events.units import size
from tui.render.markdown import MarkdownTheme

__all__ = [
    "ROLES",
    "Body",
    "Document",
    "Glanced",
    "JoinedBody",
    "ListRows",
    "Match",
    "Row",
    "Rows",
    "find_in_rows",
    "joined",
    "styled",
]

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
)
"""The style names that spans of a row may carry; the view colours them by its component classes."""

Row = Content | Strip
"""One screen row: text with spans of roles, or a strip that is styled already."""

MATCH_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Match:
    """A place where searched text stands: row and character range in it."""

    row: int
    start: int
    end: int


class Rows(Protocol):
    """Screen rows of one width, made when they are asked for."""

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def row(self, y: int) -> Row:
        """Row `y`, never wider than the width it was laid out for."""
        ...

    def find(self, needle: str) -> list[Match]:
        """Every place of `needle`, ignoring case, from top to bottom."""
        ...


class Body(Protocol):
    """Content that can be laid out for any width; laying out may be slow and runs in a thread."""

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """The rows for this width; `theme` styles what becomes strips here."""
        ...


@runtime_checkable
class Glanced(Body, Protocol):
    """A body whose first rows can be had before all of them."""

    def glance(self, width: int, theme: MarkdownTheme) -> Rows | None:
        """The first rows, quickly; None when all of them are quick."""
        ...


@dataclass(frozen=True, slots=True)
class Document:
    """A file as a viewer shows it.

    `kind` and `facts` are short words for the title line. `rendered` is None when there is nothing nicer
    than `raw`. `start` and `end` are the byte range shown out of `size`. `notice` is one line the reader
    should know of. `all_rendered` says that `rendered` shows all of the file although `raw` is only its
    beginning. `packed` is the size on the disk of a file that is compressed.
    """

    path: Path
    kind: str
    size: int
    raw: Body
    rendered: Body | None = None
    facts: tuple[str, ...] = ()
    notice: str | None = None
    start: int = 0
    end: int = 0
    packed: int | None = None
    all_rendered: bool = False

    @property
    def told_size(self) -> str:
        """The size in words; of a compressed file also that on the disk."""
        if self.packed is None:
            return size(self.size)
        return f"{self.path.suffix.removeprefix('.').lower()}, {size(self.packed)} → {size(self.size)}"

    @property
    def best(self) -> Body:
        """The rendered body where there is one, else the raw one."""
        return self.raw if self.rendered is None else self.rendered

    @property
    def whole(self) -> bool:
        """Whether all of the file is shown."""
        return self.start == 0 and self.end >= self.size


@dataclass(frozen=True, slots=True)
class ListRows:
    """Rows that exist already."""

    rows: Sequence[Row] = field(default_factory=tuple)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def row(self, y: int) -> Row:
        """Row `y`."""
        return self.rows[y]

    def find(self, needle: str) -> list[Match]:
        """Every place of `needle` that does not run over the end of a row."""
        return find_in_rows(self, needle)


@dataclass(frozen=True, slots=True)
class JoinedBody:
    """Several bodies, one below the other."""

    bodies: tuple[Body, ...]

    def lay_out(self, width: int, theme: MarkdownTheme) -> Rows:
        """Lay out every part for the same width."""
        return _JoinedRows(tuple(body.lay_out(width, theme) for body in self.bodies))

    def glance(self, width: int, theme: MarkdownTheme) -> Rows | None:
        """The parts up to the first one that is long, and the first rows of that."""
        rows: list[Rows] = []
        for body in self.bodies:
            first = body.glance(width, theme) if isinstance(body, Glanced) else None
            rows.append(body.lay_out(width, theme) if first is None else first)
            if first is not None:
                return _JoinedRows(tuple(rows))
        return None


class _JoinedRows:
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

    def find(self, needle: str) -> list[Match]:
        return [
            Match(first + match.row, match.start, match.end)
            for first, part in self._placed()
            for match in part.find(needle)
        ][:MATCH_LIMIT]

    def _placed(self) -> Iterator[tuple[int, Rows]]:
        first = 0
        for part in self._parts:
            yield first, part
            first += len(part)


def find_in_rows(rows: Rows, needle: str) -> list[Match]:
    """Search row by row; a match broken over two rows is not found."""
    wanted = needle.casefold()
    found: list[Match] = []
    if not wanted:
        return found
    for y in range(len(rows)):
        row = rows.row(y)
        text = (row.plain if isinstance(row, Content) else row.text).casefold()
        at = text.find(wanted)
        while at >= 0 and len(found) < MATCH_LIMIT:
            found.append(Match(y, at, at + len(wanted)))
            at = text.find(wanted, at + len(wanted))
    return found


def styled(text: str, role: str) -> Content:
    """Text that carries one role all along."""
    return Content(text, [Span(0, len(text), role)] if text else [])


def joined(parts: Iterable[tuple[str, str]]) -> Content:
    """A row of pieces of text, each in its role."""
    texts: list[str] = []
    spans: list[Span] = []
    at = 0
    for text, role in parts:
        if role and text:
            spans.append(Span(at, at + len(text), role))
        at += len(text)
        texts.append(text)
    return Content("".join(texts), spans)
