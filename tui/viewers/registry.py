"""The viewers, in the order they are asked, and the way from a path to a document.

A viewer is one module with one `VIEWER`; adding it to `VIEWERS` is its registration. `load` runs in a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath

from tui.viewers.bodies.text import TextBody
from tui.viewers.cancellation import NEVER, Stop
from tui.viewers.reader import Piece, decode, looks_binary, read_piece
from tui.viewers.view.document import Body, Document

__all__ = [
    "LARGE_LIMIT",
    "PAGE",
    "PREVIEW_LIMIT",
    "WHOLE_LIMIT",
    "Declined",
    "Sample",
    "View",
    "Viewer",
    "load",
    "load_page",
    "viewers",
]

LARGE_LIMIT = 64 * 1024 * 1024
PREVIEW_LIMIT = 256 * 1024
PAGE = 256 * 1024
WHOLE_LIMIT = 4 * 1024 * 1024


class Sample:
    """The beginning of a file (or all of it), as viewers look at it."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.path = piece.path
        self.name = piece.name.lower()
        self.suffix = PurePath(piece.name).suffix.lower()
        self.data = piece.data
        self.complete = piece.complete

    @cached_property
    def binary(self) -> bool:
        """Whether the bytes are something other than text."""
        return looks_binary(self.data)

    @cached_property
    def text(self) -> str:
        """The bytes as cleaned text."""
        return decode(self.data)

    @cached_property
    def beginning_end(self) -> int:
        """How many bytes `beginning` stands for."""
        if len(self.data) <= WHOLE_LIMIT:
            return len(self.data)
        return len(_whole_lines(replace(self.piece, data=self.data[:PAGE])).data)

    @cached_property
    def beginning(self) -> str:
        """The text, or the first page of it when it is too long to be laid out at once."""
        return self.text if self.beginning_end == len(self.data) else decode(self.data[: self.beginning_end])


class Declined(Exception):
    """A viewer found on a closer look that a file is none of its own; another one shows it."""


@dataclass(frozen=True, slots=True)
class View:
    """What a viewer makes of a sample; see `Document` for the fields."""

    kind: str
    raw: Body
    rendered: Body | None = None
    facts: tuple[str, ...] = ()
    notice: str | None = None
    all_rendered: bool = False


@dataclass(frozen=True, slots=True)
class Viewer:
    """One kind of file.

    `wants` looks at name and content, cheaply. `view` may raise `Declined`, and ValueError or RecursionError
    for a file that is damaged; the next viewer that wants it is asked then, and the reader is told of the
    damage. `whole` viewers need all of a file and are not asked for a part of one. `limit` is how many bytes at most
    are read for it where a file is shown in full, `glimpse` where only its beginning is.
    """

    name: str
    wants: Callable[[Sample], bool]
    view: Callable[[Sample], View]
    whole: bool = False
    limit: int = WHOLE_LIMIT
    glimpse: int = PREVIEW_LIMIT


def viewers() -> tuple[Viewer, ...]:
    """All viewers, the most particular first; the last one wants every file."""
    from tui.viewers.types import binary, code, html, images, log, markdown, media, pdf, search_results, text
    from tui.viewers.types import csv as delimited
    from tui.viewers.types import json as json_text
    from tui.viewers.types import jsonl as json_lines

    return (
        images.VIEWER,
        pdf.VIEWER,
        media.VIEWER,
        binary.VIEWER,
        search_results.VIEWER,
        json_text.VIEWER,
        json_lines.VIEWER,
        html.VIEWER,
        markdown.VIEWER,
        delimited.VIEWER,
        log.VIEWER,
        code.VIEWER,
        text.VIEWER,
    )


def load(path: Path, limit: int = PREVIEW_LIMIT, stop: Stop = NEVER) -> Document:
    """Read at most `limit` bytes of a file and choose its viewer. Runs in a thread.

    A viewer that can do with more (`Viewer.limit` with `WHOLE_LIMIT`, else `Viewer.glimpse`) is given that much.
    A file larger than the limit is read only up to its first page, as no viewer that needs the whole of it can be
    used; `load_page` reads on.

    Raises:
        FileUnviewable: the path is gone, not readable, or not a regular file.
        Stopped: the flag was set.
    """
    piece = read_piece(path, min(limit, PAGE), stop=stop)
    sample = Sample(_whole_lines(piece))
    if not piece.complete:
        full, wanting = limit >= WHOLE_LIMIT, [viewer for viewer in viewers() if viewer.wants(sample)]
        limit = max([limit, *(viewer.limit if full else viewer.glimpse for viewer in wanting)])
        if PAGE < piece.size <= limit:
            sample = Sample(_whole_lines(read_piece(path, limit, stop=stop)))
    spoiled: str | None = None
    for viewer in viewers():
        stop.check()
        if (viewer.whole and not sample.complete) or not viewer.wants(sample):
            continue
        try:
            view = viewer.view(sample)
        except Declined:
            continue
        except (ValueError, RecursionError):
            # A part of a file may end anywhere: only of a whole one it can be said that it is damaged.
            if sample.complete:
                spoiled = spoiled or f"Not valid {viewer.name}; shown as it is."
            continue
        break
    return _document(sample, view, spoiled)


def load_page(path: Path, offset: int, *, at_line: bool = False) -> Document:
    """Read one page of plain text or bytes from the middle of a large file. Runs in a thread.

    With `at_line` text begins behind the first line break of the page, if there is one.
    """
    piece = read_piece(path, PAGE, offset)
    if at_line and offset and not looks_binary(piece.data):
        skipped = piece.data.find(b"\n") + 1
        piece = replace(piece, data=piece.data[skipped:], offset=offset + skipped)
    sample = Sample(_whole_lines(piece))
    for viewer in viewers():
        if viewer.whole or not viewer.wants(sample):
            continue
        try:
            view = viewer.view(sample)
        except (Declined, ValueError, RecursionError):
            continue
        break
    if isinstance(view.raw, TextBody) and piece.offset:
        # How many lines come before is not known.
        view.raw.numbers = False
    return _document(sample, View(view.kind, view.raw), None)


def _document(sample: Sample, view: View, spoiled: str | None) -> Document:
    piece = sample.piece
    return Document(
        path=piece.path,
        kind=view.kind,
        size=piece.size,
        raw=view.raw,
        rendered=view.rendered,
        facts=view.facts,
        packed=piece.packed,
        notice=view.notice or spoiled,
        start=piece.offset,
        end=piece.offset + sample.beginning_end,
        all_rendered=view.all_rendered,
    )


def _whole_lines(piece: Piece) -> Piece:
    """Cut a piece that goes on behind its last line break, so that no line and no character is torn."""
    if piece.reaches_end or looks_binary(piece.data):
        return piece
    end = piece.data.rfind(b"\n") + 1
    if not end:
        end = len(piece.data)
        while end > len(piece.data) - 4 and end > 1 and piece.data[end - 1] & 0xC0 == 0x80:
            end -= 1
        if piece.data[end - 1] >= 0xC0:
            end -= 1
    return replace(piece, data=piece.data[: end or len(piece.data)])
