"""The links of a document, read off its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from textual.strip import Strip

from core.text import clean_line
from tui.viewers.cancellation import Stop
from tui.viewers.document import Rows

__all__ = ["MOST_LINKS", "FoundLink", "links_in"]

MOST_LINKS = 500
_TEXT = 200


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link: its text on one line, where it leads, which is untrusted, and the row it begins on."""

    text: str
    url: str
    row: int


def links_in(rows: Rows, stop: Stop) -> list[FoundLink]:
    """Return the links in the order they stand there, the first 500; one that goes on in the next row is one.

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
        if len(found) == MOST_LINKS:
            current = None
            break
        current = FoundLink(text, url, row) if url else None
    if current is not None:
        found.append(current)
    return [replace(link, text=" ".join(clean_line(link.text, _TEXT).split())) for link in found]


def _parts(rows: Rows, stop: Stop) -> Iterator[tuple[int, str, str]]:
    """Give row, text and address of each piece of text; rows end in a blank, as words do."""
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
