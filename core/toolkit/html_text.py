"""Keeps the texts of adjacent HTML elements apart, where converters and a removal of the tags would join them.

A browser puts block elements, table cells and lines into different places, and style sheets do so with links and spans.
It shows an index smaller, and higher or lower than the text.
"""

from __future__ import annotations

import re
from html import unescape

BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "h1",
    "h2", "h3", "h4", "h5", "h6", "hgroup", "iframe", "legend", "li", "main", "menu", "nav", "object", "ol",
    "optgroup", "option", "p", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "tfoot",
    "th", "thead", "tr", "ul", "video",
))  # fmt: skip
"""The elements that a browser shows in a place of their own."""
_JOINING = frozenset({"sub", "sup", "code", "kbd", "samp", "var", "wbr", "bdi", "bdo", "ruby", "rt", "rp"})
_CODES = frozenset({"code", "kbd", "samp"})
_LITERAL = frozenset({"pre", "code", "kbd", "samp", "textarea", "script", "style", "title"})
_STYLED_APART = frozenset({"a", "span", "cite", "time", "small", "label", "abbr", "data", "output"})
_TAG = re.compile(r"<(/?)([A-Za-z][^\s<>/\0]*)[^<>\0]*>")
_INDEX = re.compile(r"<(sub|sup)(?:\s[^<>]*)?>([^<>]{1,100})</\1\s*>", re.IGNORECASE)
_INDICES = {
    "sub": str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎"),
    "sup": str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ"),
}
# Nothing of these is text, and they may be most of a page. What a page says of itself for search engines is kept.
_UNREAD = re.compile(r"<!--|<(script|style|svg)(?=[\s>/])[^<>]*>", re.IGNORECASE)
_ENDS_OF_UNREAD = {
    name: re.compile(rf"</{name}[^<>]*>", re.IGNORECASE) for name in ("script", "style", "svg")
} | {"": re.compile("-->")}
_EMPHASIS = re.compile(r"</?(?:b|strong|i|em|u|ins|mark|big|font)(?:\s[^<>]*)?>", re.IGNORECASE)
_WORDS = re.compile(r"\d+\s+\w")
_ENDS = ".!?…:"
_CLOSING = "\"'”’»)]"


def write_indices(html: str, low: str = "_") -> str:
    """Write indices as characters: H₂O and x² instead of H2O and x2; a_max and 2^ab where there are none.

    `low` is the mark of a low index without characters.
    """

    def write(found: re.Match[str]) -> str:
        name = found[1].lower()
        written = unescape(found[2]).strip().translate(_INDICES[name])
        if any(each.isascii() for each in written):
            return (low if name == "sub" else "^") + found[2]
        return written

    return _INDEX.sub(write, html)


def without_scripts(html: str) -> str:
    """Remove scripts, style sheets, drawings and comments; one that does not end stays.

    The time is in proportion to the length of the text.
    """
    parts: list[str] = []
    done = at = 0
    unended: set[str] = set()
    while found := _UNREAD.search(html, at):
        name = (found[1] or "").lower()
        is_empty = found[0].endswith("/>")
        end = None if is_empty or name in unended else _ENDS_OF_UNREAD[name].search(html, found.end())
        if end is None:
            unended |= set() if is_empty else {name}
            at = found.end()
            continue
        if not any(each in found[0].lower() for each in ("ld+json", "settings+json")):
            parts.append(html[done : found.start()])
            done = end.end()
        at = end.end()
    parts.append(html[done:])
    return "".join(parts)


def without_emphasis(html: str) -> str:
    """Remove the tags of bold, slanted and other emphasised words; the words stay."""
    return _EMPHASIS.sub("", html)


def separate(html: str, space: str = " ") -> str:
    """Put a space between texts that only tags stand between, if a browser would show them apart.

    The time is in proportion to the length of the text.
    """
    parts: list[str] = []
    run = _Run()
    before = ""
    literal = 0
    done = 0
    for match in _TAG.finditer(html):
        text = html[done : match.start()]
        if text:
            is_literal = literal and not run.is_between_codes
            parts += run.tags if is_literal or not run.separates(before, text) else run.with_space(space)
            parts.append(text)
            before, run = text[-2:], _Run()
        slash, name = match[1], match[2].lower()
        if name in _LITERAL:
            literal = max(0, literal - 1) if slash else literal + 1
        run.add(match[0], name, is_end=bool(slash), is_literal=bool(literal))
        done = match.end()
    text = html[done:]
    parts += run.with_space(space) if text and not literal and run.separates(before, text) else run.tags
    parts.append(text)
    return "".join(parts)


class _Run:
    """Tags without a text between them."""

    __slots__ = (
        "_first_is_end",
        "_has_link_end",
        "_has_next_link",
        "_is_literal",
        "_last_is_end",
        "_names",
        "_spot",
        "tags",
    )

    def __init__(self) -> None:
        self.tags: list[str] = []
        self._names: set[str] = set()
        self._spot = 0
        self._is_literal = True
        self._first_is_end = self._last_is_end = self._has_link_end = self._has_next_link = False

    def add(self, tag: str, name: str, *, is_end: bool, is_literal: bool) -> None:
        """Add the next tag; `is_literal` if what follows it is code."""
        if not self.tags:
            self._first_is_end = is_end
        self._last_is_end = is_end
        self._is_literal = self._is_literal and is_literal
        self.tags.append(tag)
        if name == "a":
            self._has_next_link = self._has_next_link or (self._has_link_end and not is_end)
            self._has_link_end = self._has_link_end or is_end
        # White space between two blocks is dropped; at the edge of an emphasis it would be part of that.
        if name in BLOCKS or (is_end and self._names.isdisjoint(BLOCKS)):
            self._spot = len(self.tags)
        self._names.add(name)

    @property
    def is_between_codes(self) -> bool:
        """Whether one code element ends and another begins."""
        is_between = self._first_is_end and not self._last_is_end and not self._is_literal
        return is_between and self._names <= _CODES

    def with_space(self, space: str) -> list[str]:
        """Return the tags with a space where it belongs to neither text."""
        return [*self.tags[: self._spot], space, *self.tags[self._spot :]]

    def separates(self, before: str, after: str) -> bool:
        """Whether a browser shows these texts apart, and nothing else separates them."""
        if not before or not self.tags or before[-1].isspace() or after[0].isspace():
            return False
        if not self._names.isdisjoint(BLOCKS) or self.is_between_codes:
            return True
        if not self._names.isdisjoint(_JOINING):
            return False
        if self._has_next_link:
            return True
        end = before[-1] if before[-1] not in _CLOSING else before[0]
        are_siblings = self._first_is_end and not self._last_is_end and self._names <= _STYLED_APART
        if not after[0].isupper():
            # A name and a date beside each other; digits alone after a digit may belong to the same number.
            number = after[0].isdigit() and (end.islower() or (end.isdigit() and _WORDS.match(after)))
            return are_siblings and bool(number)
        return end in _ENDS or (are_siblings and (end.islower() or end.isdigit()))
