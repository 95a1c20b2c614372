"""The links of a page, written as references: `[words]` in the text, and their addresses after it.

Each form is Markdown, so that other programs read it, too. A link is `[words][7]` if its words do not name its address:
other links have the same words, or the words have brackets themselves. A number at every link would be one more word in
the text, and an address between its words is as long as a line.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ua_tui.core.net.urls import canonical_url
from ua_tui.core.text import is_unsafe
from ua_tui.core.toolkit.articles import Reference

MAX_LINKS = 500
"""Further links become plain text."""
# Stands for an address while a text is made. Converters neither escape nor split it.
_MARK = "\u241d"
_MARKED = re.compile(rf"(?:\[((?:[^\[\]\\\n]|\\.)*))?\]\({_MARK}([0-9]{{1,4}})\)")
_FORGED = re.compile(rf"{_MARK}|&#(?:x0*241d|0*9245)(?![0-9a-f]);?", re.IGNORECASE)
_ENCODED = str.maketrans({" ": "%20", "<": "%3C", ">": "%3E"})
# Digits are our own labels; a box to tick and a note have a form of their own.
_NO_LABEL = re.compile(r"[0-9]+|[xX]|\^.*|.*[\\`].*")
# What would make another construct of the brackets before it.
_CHANGES_LINK = frozenset("([:")


class LinkCollector:
    """Collects the links of one page: `mark` before its text is made, `references` afterwards."""

    def __init__(self, page: str) -> None:
        self._page = canonical_url(page)
        self._numbers: dict[str, int] = {}

    @staticmethod
    def unmarked(html: str) -> str:
        """Return HTML without the character that marks links, so that no page can forge one."""
        return _FORGED.sub("\ufffd", html)

    def mark(self, address: str | None) -> str | None:
        """Return what to write instead of an address; None for a link that leads to no other page."""
        url = _web_address(address or "")
        if url is None or canonical_url(url) == self._page:
            return None
        if url not in self._numbers and len(self._numbers) == MAX_LINKS:
            return None
        return f"{_MARK}{self._numbers.setdefault(url, len(self._numbers))}"

    def references(self, text: str) -> tuple[str, tuple[Reference, ...]]:
        """Return a text with its links as references, and these in the order of the text."""
        urls = list(self._numbers)
        found: dict[str, Reference] = {}
        numbers: dict[str, str] = {}

        def write(match: re.Match[str]) -> str:
            words, number = match[1], int(match[2])
            if number >= len(urls):
                return match[0]
            url = urls[number]
            if (
                words
                and _is_label(words, text[match.end() : match.end() + 1])
                and found.setdefault(_normal(words), Reference(words, url)).url == url
            ):
                return f"[{words}]"
            label = numbers.setdefault(url, str(len(numbers) + 1))
            found.setdefault(label, Reference(label, url))
            return f"[{words}][{label}]" if words is not None else f"][{label}]"

        return _MARKED.sub(write, text), tuple(found.values())


def _is_label(words: str, following: str) -> bool:
    if len(words) > 200 or words != words.strip() or following in _CHANGES_LINK:
        return False
    return _NO_LABEL.fullmatch(words) is None


def _normal(label: str) -> str:
    """A label as Markdown compares it."""
    return " ".join(label.split()).lower().upper()


def _web_address(address: str) -> str | None:
    """Return an address that may stand in an article; None if it is not a web address."""
    url = address.strip().translate(_ENCODED)
    if len(url) > 1_000 or "\\" in url or not url.isprintable() or is_unsafe(url):
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises an error for an invalid port
    except ValueError:
        return None
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    return url if is_web else None
