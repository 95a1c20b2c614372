"""Finds the links in the rows of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from textual.message import Message
from textual.strip import Strip

from ua_tui.core.concurrency.cancellation import checked
from ua_tui.core.text import clean_line
from ua_tui.tui.viewers.document import Rows

MAX_LINKS = 500


@dataclass
class LinkClicked(Message):
    """A link was clicked or chosen; `url` is as untrusted as the text around it."""

    url: str


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link: its text on one line, its untrusted URL, and the row in which it begins."""

    text: str
    url: str
    row: int


def links_in(rows: Rows) -> list[FoundLink]:
    """Return the first 500 addresses in order, each once and with the first text that is not an address.

    A link that is wrapped into the next row counts once.

    Raises:
        Stopped: the result is no longer needed.
    """
    found: dict[str, FoundLink] = {}
    for link in _links(rows):
        # An address that is wrapped has spaces where its rows end.
        is_address = "".join(link.text.split()) == link.url
        text = "" if is_address else " ".join(clean_line(link.text, 200).split())
        before = found.get(link.url)
        if before is None:
            if len(found) == MAX_LINKS:
                break
            found[link.url] = replace(link, text=text)
        elif not before.text:
            found[link.url] = replace(before, text=text)
    return list(found.values())


def first_from(links: Sequence[FoundLink], row: int) -> int:
    """Return the place of the link that comes first from a row on; that of the last link if none does."""
    return next((place for place, link in enumerate(links) if link.row >= row), len(links) - 1)


def _links(rows: Rows) -> Iterator[FoundLink]:
    links: Callable[[], Iterator[tuple[int, str, str]]] | None = getattr(rows, "links", None)
    if links is not None:
        yield from (FoundLink(text, url, row) for row, text, url in links())
        return
    current: FoundLink | None = None
    for row, text, url in _parts(rows):
        if current is not None and (url == current.url or not (url or text.strip())):
            current = replace(current, text=current.text + text)
            continue
        if current is not None:
            yield current
        current = FoundLink(text, url, row) if url else None
    if current is not None:
        yield current


def _parts(rows: Rows) -> Iterator[tuple[int, str, str]]:
    """Yield row, text and URL of each piece of text; a row ends with a space."""
    for y in checked(range(len(rows))):
        row = rows.row(y)
        if not isinstance(row, Strip):
            continue
        for text, style, _ in row:
            url = style.meta.get("url") if style is not None else None
            yield y, text, url if isinstance(url, str) else ""
        yield y, " ", ""
