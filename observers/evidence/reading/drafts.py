"""Text that is collected for a block, with the place of each character in the source of the report."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape

from ua_tui.observers.evidence.report import BlockKind, Link

_PIECE = re.compile(r"[ \t\n\r\f\v]+|&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};?)")
_SPACES = re.compile(r"[ \t\n\r\f\v]+")


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
    """An element with an address; two elements with the same address are two anchors."""

    href: str


@dataclass(slots=True, eq=False)
class Place:
    """A cell of a table: where it is, how far it spans, and whether it is marked as a header."""

    table: int
    row: int
    column: int
    rows: int = 1
    columns: int = 1
    is_header: bool = False
    in_head: bool = False


@dataclass(slots=True, eq=False)
class Draft:
    """A block while it is read.

    `label` is its number in a list. `ids` are the fragments that lead to it. `code` has the ranges of the text that are
    code. `item`, `quote` and `figure` are numbers of what it is in, of which blocks may have the same; 0 is none.
    """

    kind: BlockKind = "paragraph"
    level: int = 0
    label: str = ""
    is_hidden: bool = False
    is_note: bool = False
    item: int = 0
    quote: int = 0
    figure: int = 0
    place: Place | None = None
    caption_of: int = 0
    ids: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    offsets: array[int] = field(default_factory=lambda: array("L"))
    section: str = ""
    is_bibliography: bool = False
    cites: tuple[str, ...] = ()
    _parts: list[str] = field(default_factory=list)
    _text: str | None = None
    _space: int = -1
    _anchor: Anchor | None = None
    _anchor_start: int = 0

    @property
    def text(self) -> str:
        """What was collected so far, without a space at its end."""
        if self._text is None:
            self._text = "".join(self._parts)
        return self._text

    @property
    def last(self) -> str:
        """The last character; a space if one follows; empty if there is none."""
        if self._space >= 0:
            return " "
        return self._parts[-1][-1] if self._parts else ""

    def add(
        self,
        source: str,
        start: int,
        end: int,
        table: Mapping[int, str] | None = None,
        *,
        has_entities: bool = True,
    ) -> None:
        """Add a range of the source, with white space as single spaces and entities decoded.

        `table` translates characters, each into one.
        """
        at = start
        for found in (_PIECE if has_entities else _SPACES).finditer(source, start, end):
            if found.start() > at:
                self._put(source[at : found.start()], at, table)
            at = found.end()
            if source[found.start()] == "&":
                self.add_as(unescape(found[0]), found.start())
            else:
                self.add_space(found.start())
        if at < end:
            self._put(source[at:end], at, table)

    def add_as(self, text: str, at: int) -> None:
        """Add a text that stands for what is at one place of the source."""
        for piece in re.split(r"([ \t\n\r\f\v]+)", text):
            if not piece.strip(" \t\n\r\f\v"):
                if piece:
                    self.add_space(at)
                continue
            self._add_waiting_space()
            self._parts.append(piece)
            self.offsets.extend([at] * len(piece))
            self._text = None

    def add_space(self, at: int) -> None:
        """Separate what follows from what is there."""
        if self.offsets and self._space < 0:
            self._space = at

    def set_anchor(self, anchor: Anchor | None) -> None:
        """Say which link what follows is in."""
        if anchor is self._anchor:
            return
        if self._anchor is not None and len(self.offsets) > self._anchor_start:
            self.links.append(Link(self._anchor_start, len(self.offsets), self._anchor.href))
        self._anchor = anchor
        self._anchor_start = len(self.offsets) + (self._space >= 0)

    def _put(self, text: str, at: int, table: Mapping[int, str] | None) -> None:
        self._add_waiting_space()
        self._parts.append(text.translate(table) if table else text)
        self.offsets.extend(range(at, at + len(text)))
        self._text = None

    def _add_waiting_space(self) -> None:
        if self._space >= 0:
            self._parts.append(" ")
            self.offsets.append(self._space)
            self._space = -1
            # A link does not begin with the space before it.
            if self._anchor is not None and self._anchor_start == len(self.offsets) - 1:
                self._anchor_start += 1
