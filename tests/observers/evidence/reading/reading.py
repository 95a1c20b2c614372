"""Short forms of what was read from a report, for the tests of the reader."""

from __future__ import annotations

from ua_tui.observers.evidence.reading.document import read_report
from ua_tui.observers.evidence.report import Report


def page(text: str, path: str = "a.html") -> Report:
    """Read a report."""
    return read_report(text.encode(), path)


def blocks(text: str, path: str = "a.html") -> list[tuple[str, str]]:
    """The kind and text of each block that a reader sees."""
    return [(block.kind, block.text) for block in page(text, path).blocks if not block.is_hidden]


def texts(text: str, path: str = "a.html") -> list[str]:
    """The text of each block that a reader sees."""
    return [block for _, block in blocks(text, path)]


def links(text: str, path: str = "a.html") -> list[tuple[str, str]]:
    """The text and address of each link outside of the list of sources."""
    return [
        (block.text[link.start : link.end], link.url)
        for block in page(text, path).blocks
        for link in block.links
        if not block.is_bibliography
    ]


def cites(text: str, path: str = "a.html") -> list[tuple[str, tuple[str, ...]]]:
    """Each sentence outside of headings and lists of sources, with the hosts or paths that it cites."""
    return [
        (sentence.text, tuple(shown(url) for url in sentence.cites))
        for sentence in page(text, path).sentences
        if sentence.block.kind != "heading" and not sentence.block.is_bibliography
    ]


def shown(url: str) -> str:
    """An address without its scheme."""
    return url.removeprefix("https://")
