"""Finds the links in the rows of a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from textual.strip import Strip

from core.concurrency.cancellation import Stop
from core.text import clean_line
from tui.viewers.document import Rows

__all__ = ["MAX_LINKS", "FoundLink", "links_in"]

MAX_LINKS = 500
_TEXT = 200


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link: its text on one line, its untrusted URL, and the row in which it begins."""

    text: str
    url: str
    row: int


def links_in(rows: Rows, stop: Stop) -> list[FoundLink]:
    """Return the first 500 links in order; a link that is wrapped into the next row counts once.

    Raises:
        Stopped: the flag was set.
    """
    found: list[FoundLink] = []
    current: FoundLink | None = None
    for row, text, url in _parts(rows, stop):
        if current is not None and (url == current.url or not (url or text.strip())):
            current = replace(current, text=current.text + text)
            continue
        if current is not None:
            found.append(current)
        if len(found) == MAX_LINKS:
            current = None
            break
        current = FoundLink(text, url, row) if url else None
    if current is not None:
        found.append(current)
    return [replace(link, text=" ".join(clean_line(link.text, _TEXT).split())) for link in found]


def _parts(rows: Rows, stop: Stop) -> Iterator[tuple[int, str, str]]:
    """Yield row, text and URL of each piece of text; a row ends with a space."""
    for y in range(len(rows)):
        if not y & 255:
            stop.check()
        row = rows.row(y)
        if not isinstance(row, Strip):
            continue
        for text, style, _ in row:
            url = style.meta.get("url") if style is not None else None
            yield y, text, url if isinstance(url, str) else ""
        yield y, " ", ""
