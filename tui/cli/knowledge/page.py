"""Hits of the knowledge base as lines of text: wrapped and marked for a terminal, plain for everything else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ua_tui.core.knowledge.folders import folder_path, is_here
from ua_tui.core.knowledge.search.plain_passage import plain_passage
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.output import page_width, wrapped

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.core.knowledge.records import Hit

_INDENT = "    "


class HitPage:
    """Writes hits for a terminal of `width` cells, or without a width in lines of any length and without marks."""

    def __init__(self, database: KnowledgePlace, width: int | None) -> None:
        self._database = database
        self._width = width

    @classmethod
    def of_output(cls, database: KnowledgePlace) -> Self:
        """Return a page for standard output."""
        return cls(database, page_width(100))

    def lines(self, hit: Hit) -> Iterator[str]:
        """Give the lines of a hit: its title, what it is, its address, the passage, and its file."""
        yield from self._paragraph(
            clean_line(hit.title or hit.url or "(no title)", 300), indent="", bold=True
        )
        yield from self._paragraph(" · ".join(clean_line(fact, 120) for fact in self._facts(hit)))
        # An address or a path in one piece can be clicked and copied.
        if hit.url:
            yield _INDENT + clean_line(hit.url, 2000)
        if hit.passage:
            yield from self._passage(hit)
        yield _INDENT + clean_line(self._place(hit), 4000)

    def _facts(self, hit: Hit) -> Iterator[str]:
        yield hit.kind.replace("_", " ")
        if hit.site:
            yield hit.site
        # A source may state the time, too.
        yield hit.date.partition("T")[0] or f"{datetime.fromtimestamp(hit.made_at).astimezone():%Y-%m-%d}"
        # Copies of a page have its address, too.
        if hit.copies > hit.same_address:
            yield f"same text, {hit.copies + 1:,} sources"
        if hit.same_address:
            yield f"same address, {hit.same_address + 1:,} results"
        yield f"demo {Path(hit.session).name}" if hit.demo else Path(hit.session).name
        if hit.session_title:
            yield hit.session_title

    def _place(self, hit: Hit) -> str:
        """The path of the file, or of the session's folder for what is only in the journal."""
        if not is_here(self._database, hit.session):
            return f"{hit.session}/{hit.path}".rstrip("/")
        path = folder_path(self._database, hit.session) / hit.path
        try:
            return str(path.relative_to(Path.cwd()))
        except (OSError, ValueError):
            return str(path)

    def _paragraph(self, text: str, *, indent: str = _INDENT, bold: bool = False) -> Iterator[str]:
        return wrapped([(text, bold)], self._width, indent)

    def _passage(self, hit: Hit) -> Iterator[str]:
        passage, marks = plain_passage(hit.passage, hit.marks)
        if self._width is None:
            yield _INDENT + clean_line(passage, 2000)
            return
        pieces, at = [], 0
        for start, end in marks:
            pieces += [(passage[at:start], False), (passage[start:end], True)]
            at = end
        pieces.append((passage[at:], False))
        yield from wrapped([(_on_one_line(text), bold) for text, bold in pieces], self._width, _INDENT)


def _on_one_line(text: str) -> str:
    from ua_tui.core.text import clean

    return clean(text).replace("\n", " ").replace("\t", " ")
