"""Writes sanitised HTML into the page: with its claims marked, its pictures embedded, and its headings lowered a level.

A report keeps every character of its text: what marks a claim is in attributes, which the style sheet shows.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, takewhile
from operator import itemgetter
from urllib.parse import unquote

import msgspec

from ua_tui.core.claims.records import Claim
from ua_tui.tui.export.convert import PICTURE
from ua_tui.tui.export.marks import Range, find_ranges

Pictures = Mapping[str, str]
"""The data addresses of pictures by the addresses that a report has for them."""

TAG = re.compile(r'(<(?:[^>"]|"[^"]*")*+>)')
NAME = re.compile(r"</?([a-z0-9]+)")
_HEADING = re.compile(r"(</?)h([1-6])\b")
_SOURCE = re.compile(r'\bsrc="([^"]*)"')
_ALTERNATIVE = re.compile(r'\balt="([^"]*)"')
INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "del", "dfn", "em", "i", "ins", "kbd", "mark", "q", "rp", "rt",
    "ruby", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
})  # fmt: skip
"""The elements inside a line of text."""


@dataclass(frozen=True)
class Look:
    """How a claim is shown: its style, what is said of it on hover and focus, and its mark if it is doubtful."""

    style: str
    tip: str
    mark: str = ""


def write_prose(
    text: str,
    pictures: Pictures,
    deeper: int,
    claims: Sequence[Claim] = (),
    look_of: Callable[[int], Look] | None = None,
) -> tuple[str, frozenset[int]]:
    """Write sanitised HTML with headings `deeper` levels down; gives the claims that were found in it, too.

    The first element of a claim has the id `m` and its number, and leads to the id `e` and its number if it is
    doubtful.

    Raises:
        Stopped: the result is no longer needed.
    """
    pieces = TAG.split(text)
    shown = list(_visible(pieces))
    lines = ["".join(each[2] for each in line) for _, line in groupby(shown, itemgetter(0))]
    ranges = find_ranges(lines, claims) if claims else {}
    writer = _Writer(pictures, deeper, look_of)
    at = iter(shown)
    for number, piece in enumerate(pieces):
        if number % 2:
            writer.tag(piece)
        elif piece:
            line, column, content = next(at)
            writer.text(piece, content, column, ranges.get(line, ()))
    return "".join(writer.parts), frozenset(writer.placed)


def _visible(pieces: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The text between tags without entities, with the number of its line and its place there."""
    line = column = 0
    for number, piece in enumerate(pieces):
        if number % 2:
            name = NAME.match(piece)
            if column and (name is None or name[1] not in INLINE):
                line, column = line + 1, 0
        elif piece:
            content = html.unescape(piece)
            yield line, column, content
            column += len(content)


class _Writer(msgspec.Struct, eq=False):
    """Writes a text part by part, and knows whether it is in a link."""

    pictures: Pictures
    deeper: int
    look_of: Callable[[int], Look] | None
    parts: list[str] = []
    placed: set[int] = set()
    is_in_link: bool = False

    def text(self, piece: str, content: str, column: int, ranges: Sequence[Range]) -> None:
        """Write the text between two tags, given as it is written and as it is read."""
        end = column + len(content)
        first = bisect_right(ranges, column, key=lambda each: each.end)
        inside = list(takewhile(lambda each: each.start < end, islice(ranges, first, None)))
        if not inside:
            self.parts.append(piece)
            return
        done = column
        for each in inside:
            start, stop = max(each.start, column), min(each.end, end)
            self.parts.append(html.escape(content[done - column : start - column], quote=False))
            self._claim(each.claim, content[start - column : stop - column])
            done = stop
        self.parts.append(html.escape(content[done - column :], quote=False))

    def _claim(self, number: int, content: str) -> None:
        written = html.escape(content, quote=False)
        if self.look_of is None or not content.strip():
            self.parts.append(written)
            return
        look = self.look_of(number)
        attributes = {"class": f"q {look.style}", "title": look.tip}
        tag = "span"
        if number not in self.placed:
            self.placed.add(number)
            attributes |= {"id": f"m{number}", "data-mark": look.mark}
            # No link is inside another.
            if not self.is_in_link and look.mark:
                tag, attributes = "a", attributes | {"href": f"#e{number}"}
            elif not self.is_in_link:
                attributes["tabindex"] = "0"
        given = "".join(f' {name}="{html.escape(value)}"' for name, value in attributes.items() if value)
        self.parts.append(f"<{tag}{given}>{written}</{tag}>")

    def tag(self, tag: str) -> None:
        """Write a tag."""
        if tag.startswith("<img"):
            tag = self._picture(tag)
        elif tag.startswith(("<a ", "<a>", "</a>")):
            self.is_in_link = tag != "</a>"
        elif self.deeper:
            tag = _HEADING.sub(lambda found: f"{found[1]}h{min(int(found[2]) + self.deeper, 6)}", tag)
        self.parts.append(tag)

    def _picture(self, tag: str) -> str:
        source, alternative = _SOURCE.search(tag), _ALTERNATIVE.search(tag)
        alt = html.unescape(alternative[1]) if alternative else ""
        address = unquote(html.unescape(source[1]).removeprefix(PICTURE)) if source else ""
        if data := self.pictures.get(address):
            return f'<img src="{html.escape(data)}" alt="{html.escape(alt)}">'
        return f'<span class="missing">[Picture: {html.escape(alt) or "not included"}]</span>'
