"""Reads the text of an HTML page in time that is in proportion to its length, so that it needs no worker process.

The result is to be searched, not to be shown: the viewers convert a page with all of its forms.
"""

from __future__ import annotations

import re
from html import unescape

import msgspec

from ua_tui.core.toolkit.html_text import BLOCKS, separate

_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9]*")
_LINK = re.compile(r"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_UNREAD = frozenset({"script", "style", "svg", "noscript", "template", "iframe", "object", "canvas", "math"})
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACE_AROUND = {"td": " ", "th": " ", "br": "\n", "li": "\n", "tr": "\n"}
_LONGEST_TAG = 16 << 10
_LONGEST_TITLE = 1_000
_MOST_LINKS = 500
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\n{3,}")
_AROUND = re.compile(r" ?\n ?")
_PIECE = 64 << 10


class HtmlPage(msgspec.Struct, frozen=True):
    """What a page has to read: its headings begin with the marks of Markdown; `links` are web addresses."""

    title: str
    text: str
    links: tuple[str, ...]


def read_html(source: str) -> HtmlPage:
    """Read the title, the text and the links of a page; what is damaged is read as far as possible."""
    reader = _Reader(separate(source))
    reader.read()
    return HtmlPage(
        " ".join(unescape(reader.title).split()), _tidy("".join(reader.parts)), tuple(reader.links)
    )


class _Reader:
    """One way through the source of a page."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._unended: set[str] = set()
        self.title = ""
        self.parts: list[str] = []
        self.links: dict[str, None] = {}

    def read(self) -> None:
        source, at = self._source, 0
        while True:
            start = source.find("<", at)
            self._add(at, start if start >= 0 else len(source))
            if start < 0:
                return
            name = _NAME.match(source, start + 1)
            if name is not None:
                at = self._tag(name[0].lower(), name.end())
            elif source.startswith("<!--", start):
                at = self._after("-->", start + 4)
            elif source.startswith(("<!", "<?"), start):
                at = self._after(">", start + 2)
            else:
                self.parts.append("<")
                at = start + 1

    def _tag(self, name: str, at: int) -> int:
        source = self._source
        end = source.find(">", at, at + _LONGEST_TAG)
        if end < 0:
            self.parts.append(" ")
            return at
        if name in _HEADINGS:
            self.parts.append(f"\n\n{_HEADINGS[name]} ")
        elif (element := name.removeprefix("/")) in BLOCKS:
            self.parts.append(_SPACE_AROUND.get(element, "\n\n"))
        elif name == "a" and len(self.links) < _MOST_LINKS:
            self._link(source[at:end])
        elif name == "title":
            after = self._find("</title", end + 1)
            self.title = self.title or source[end + 1 : min(after, end + _LONGEST_TITLE)]
            return after
        elif name in _UNREAD and source[end - 1] != "/":
            return self._find(f"</{name}", end + 1)
        return end + 1

    def _after(self, mark: str, start: int) -> int:
        found = self._find(mark, start)
        return found + len(mark) if self._source.startswith(mark, found) else start

    def _find(self, mark: str, start: int) -> int:
        """The place of the next `mark`; `start` if there is none."""
        at = start if mark not in self._unended else -1
        while at >= 0:
            at = self._source.find(mark[:2], at)
            if self._source[at : at + len(mark)].lower() == mark:
                return at
            at = at + 1 if at >= 0 else -1
        # Of many marks without an end, only the first one is searched for to the end of the page.
        self._unended.add(mark)
        return start

    def _link(self, attributes: str) -> None:
        found = _LINK.search(attributes)
        url = unescape(found[1] or found[2] or found[3] or "").strip() if found else ""
        if url.lower().startswith(("https://", "http://")):
            self.links[url] = None

    def _add(self, start: int, end: int) -> None:
        for at in range(start, end, _PIECE):
            self.parts.append(unescape(self._source[at : min(at + _PIECE, end)]))


def _tidy(text: str) -> str:
    """Put one space between words and one empty line between paragraphs, in pieces that end with a line."""
    done: list[str] = []
    at = 0
    while at < len(text):
        end = text.find("\n\n", at + _PIECE, at + 2 * _PIECE) + 2
        end = end if end >= 2 else at + 2 * _PIECE
        piece = _AROUND.sub("\n", _SPACES.sub(" ", text[at:end]))
        done.append(_LINES.sub("\n\n", piece))
        at = end
    return "".join(done).strip()
