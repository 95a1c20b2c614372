"""What a viewer is: it receives a `Sample` of a file and returns a `View` of it.

A `Viewer` is a constant of a module in `tui/viewers/types`; `ua_tui.tui.viewers.registry` finds it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath

from ua_tui.core.events.units import size
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.reader import Piece, decode, looks_binary

PREVIEW_LIMIT = 256 * 1024
"""Bytes read for a preview."""
FULL_LIMIT = 4 * 1024 * 1024
"""Bytes read for a file on a screen of its own; longer text is shown page by page."""
LARGE_LIMIT = 64 * 1024 * 1024
"""Bytes read for formats that open large files without laying all of them out."""
PAGE = 256 * 1024
"""Bytes of one page of a file that is too long to be laid out at once."""


class Sample:
    """The beginning of a file, or all of it."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.path = piece.path
        self.name = piece.name.lower()
        self.suffix = PurePath(piece.name).suffix.lower()
        self.data = piece.data
        self.complete = piece.complete

    @cached_property
    def binary(self) -> bool:
        """Whether the bytes are not text."""
        return looks_binary(self.data)

    @cached_property
    def text(self) -> str:
        """The bytes as cleaned text."""
        return decode(self.data)

    @cached_property
    def beginning_end(self) -> int:
        """The number of bytes in `beginning`."""
        if len(self.data) <= FULL_LIMIT:
            return len(self.data)
        return len(replace(self.piece, data=self.data[:PAGE]).cut_to_lines().data)

    @cached_property
    def beginning(self) -> str:
        """The text, or only its first page if it is too long to be laid out at once."""
        return self.text if self.beginning_end == len(self.data) else decode(self.data[: self.beginning_end])


class Declined(Exception):
    """A viewer found, on reading a file, that the file is not of its format; the next viewer is asked."""


@dataclass(frozen=True, slots=True)
class View:
    """What a viewer returns for a sample.

    Args:
        kind: the format, for the title line.
        raw: the content as it is written.
        rendered: a more readable form of it; None if there is none.
        facts: short properties for the title line.
        notice: one line about a problem or a limitation.
        all_rendered: whether `rendered` shows the complete file although `raw` is only its beginning.
        title: what the content calls itself; empty if only the file has a name.
    """

    kind: str
    raw: Body
    rendered: Body | None = None
    facts: tuple[str, ...] = ()
    notice: str | None = None
    all_rendered: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(View):
    """A file as a viewer shows it.

    Args:
        path: the file.
        size: the size of the content in bytes.
        start: the first byte shown.
        end: the byte after the last one shown.
        packed: the size on disk of a compressed file; None for any other file.
    """

    path: Path
    size: int
    start: int = 0
    end: int = 0
    packed: int | None = None

    @property
    def size_text(self) -> str:
        """The size, for a compressed file with the size on disk."""
        if self.packed is None:
            return size(self.size)
        return f"{self.path.suffix.removeprefix('.').lower()}, {size(self.packed)} → {size(self.size)}"

    @property
    def is_text(self) -> bool:
        """Whether the content is text, which can be read raw and edited."""
        return isinstance(self.raw, TextBody)

    @property
    def best(self) -> Body:
        """The rendered body, or the raw one if there is no other."""
        return self.raw if self.rendered is None else self.rendered

    @property
    def complete(self) -> bool:
        """Whether the complete file is shown."""
        return self.start == 0 and self.end >= self.size


@dataclass(frozen=True, slots=True)
class Viewer:
    """The viewer of one file format.

    Args:
        name: the format, as error messages name it.
        accepts: judges by name and content whether a file has the format; it must be quick.
        view: makes the view, in a thread. It may raise `Declined`, and ValueError or RecursionError if the file is
            damaged; the next viewer that accepts the file is asked, and the damage is reported.
        priority: viewers of a higher priority are asked first. Formats recognised by their first bytes have 100,
            binary files 90, special cases of another format 60, formats recognised by a file name 50.
        limit: how many bytes are read at most if the file is shown on a screen of its own.
        preview_limit: how many bytes are read at most for a preview.
    """

    name: str
    accepts: Callable[[Sample], bool]
    view: Callable[[Sample], View]
    priority: int = 50
    limit: int = FULL_LIMIT
    preview_limit: int = PREVIEW_LIMIT
