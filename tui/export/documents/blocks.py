"""Marks doubtful claims in sanitised HTML, and reads it as the blocks of a document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from typing import Literal
from urllib.parse import unquote

import msgspec

from ua_tui.core.claims.records import Claim
from ua_tui.tui.export.convert import PICTURE
from ua_tui.tui.export.marks import COVER, mark_markdown
from ua_tui.tui.export.prose import INLINE, NAME, TAG

_STYLES = {
    "b": "b", "strong": "b", "th": "b", "dt": "b", "em": "i", "i": "i", "cite": "i", "dfn": "i", "var": "i",
    "caption": "i", "figcaption": "i", "code": "c", "kbd": "c", "samp": "c", "s": "s", "del": "s", "sup": "^",
    "sub": "_",
}  # fmt: skip
_LINK = re.compile(r"<a\b.*?</a>", re.DOTALL)
_MARKUP = re.compile(rf"{TAG.pattern}|&\#?[a-z0-9]{{1,40}}+;", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\n\r\f]+")
# What XML cannot have.
_ODD = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MOST_COLUMNS = 20
"""Columns of a table; the rows of a wider one are paragraphs."""


class Run(msgspec.Struct, frozen=True, omit_defaults=True):
    """Text of one style: b(old), i(talic), c(ode), s(truck), ^ raised, _ lowered, m(ark); `href` is where it leads."""

    text: str
    style: str = ""
    href: str = ""


Runs = list[Run]


class Block(msgspec.Struct):
    """A part of a document.

    `level` is that of a heading, from 1, else how many lists the block is in. `marker` is the number or dot of an
    item. `rows` are those of a table, of which the first `heads` are headings. `picture` is the address of a
    picture, then its data; `size` its width and height in points.
    """

    kind: Literal["title", "heading", "text", "quotation", "code", "picture", "rule", "table"]
    runs: Runs = msgspec.field(default_factory=list)
    level: int = 0
    marker: str = ""
    rows: list[list[Runs]] = msgspec.field(default_factory=list)
    heads: int = 0
    picture: str = ""
    size: tuple[float, float] = (0, 0)


def text_of(runs: Sequence[Run]) -> str:
    """The text without its styles."""
    return "".join(run.text for run in runs)


def run(text: str, style: str = "", href: str = "") -> Run:
    """Make a run of any text: what XML cannot have becomes U+FFFD."""
    return Run(_ODD.sub("\ufffd", text), style, _ODD.sub("\ufffd", href))


def read_blocks(text: str) -> list[Block]:
    """Read sanitised HTML, as `convert` makes it."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.blocks


def mark_claims(text: str, claims: Sequence[Claim], mark: Callable[[Claim], str]) -> str:
    """Write `mark` behind each doubtful claim in sanitised HTML, as `mark_markdown` does.

    Raises:
        Stopped: the result is no longer needed.
    """
    return mark_markdown(
        text,
        claims,
        lambda at: f'<span class="m">{mark(claims[at])}</span>',
        lambda html: _MARKUP.sub(_cover, html),
        _LINK,
    )


def _cover(markup: re.Match[str]) -> str:
    """What stands for a tag or an entity: the end of a paragraph for a tag that is not inside a line of text."""
    name = NAME.match(markup[0])
    if name is None or name[1] in INLINE:
        return COVER * len(markup[0])
    return ("" if name[1] == "br" else "\n\n").ljust(len(markup[0]))


def parts_of(block: Block) -> Iterator[Runs]:
    """The texts of a block: its own, or those of the cells of a table."""
    yield block.runs
    for row in block.rows:
        yield from row


class _Reader(HTMLParser):
    """Collects runs until a block begins or ends; in a table they are those of a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self._runs: Runs = []
        self._inline: list[tuple[str, str, str]] = [("", "", "")]
        self._lists: list[int] = []
        self._marker = ""
        self._heading = self._quotes = self._code = self._tables = 0
        self._is_plain = False
        self._rows: list[list[Runs]] = []
        self._cell: Runs | None = None
        self._spans: tuple[int, int] = (1, 1)
        self._heads = 0
        self._is_head = False
        self._held: dict[int, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        given = {name: value or "" for name, value in attrs}
        if tag == "br":
            self._add("\n")
            return
        if tag == "img":
            self._flush()
            alt = [run(given["alt"])] if given.get("alt") else []
            picture = unquote(given.get("src", "").removeprefix(PICTURE))
            self.blocks.append(Block("picture", alt, picture=picture))
            return
        if tag not in INLINE:
            self._flush()
        # Only ours have a class.
        is_mark = tag == "span" and "class" in given
        if tag in _STYLES or tag == "a" or is_mark:
            _, style, href = self._inline[-1]
            own = "m" if is_mark else _STYLES.get(tag, "")
            self._inline.append((tag, style if own in style else style + own, given.get("href", href)))
        match tag:
            case "q":
                self._add("“")
            case "hr" if self._cell is None:
                self.blocks.append(Block("rule"))
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._heading = int(tag[1])
            case "blockquote":
                self._quotes += 1
            case "pre":
                self._code += 1
            case "p":
                self._is_plain = "class" in given
            case "ul" | "dd":
                self._lists.append(0)
            case "ol":
                self._lists.append(_number(given.get("start", ""), 1))
            case "li" if self._lists:
                self._marker = f"{self._lists[-1]}." if self._lists[-1] else "•"
                self._lists[-1] += bool(self._lists[-1])
            case "table" | "tr" | "td" | "th":
                self._begin_table_part(tag, given)

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        if tag == "q":
            self._add("”")
        if tag not in INLINE:
            self._flush()
        if tag == self._inline[-1][0]:
            self._inline.pop()
        # Sanitised HTML is balanced.
        match tag:
            case "dd" | "ol" | "ul":
                self._lists.pop()
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._heading = 0
            case "blockquote":
                self._quotes -= 1
            case "p":
                self._is_plain = False
            case "pre":
                self._code -= 1
            case "td" | "th" if self._tables == 1 and self._cell is not None:
                row, (across, down) = self._rows[-1], self._spans
                if down > 1:
                    self._held |= {len(row) + column: down - 1 for column in range(across)}
                row += [self._cell, *([] for _ in range(across - 1))]
                self._cell = None
            case "tr" if self._tables == 1 and self._rows:
                self._pad()
                if self._is_head and self._heads == len(self._rows) - 1:
                    self._heads += 1
            case "table":
                self._tables -= 1
                if not self._tables:
                    self._table()

    def handle_data(self, data: str) -> None:
        """Add a text."""
        if not self._code and not self._is_plain:
            data = _SPACES.sub(" ", data)
            if not self._runs or self._runs[-1].text[-1:] in " \n":
                data = data.removeprefix(" ")
        self._add(data)

    def close(self) -> None:
        """End the last block."""
        super().close()
        self._flush()

    def _add(self, text: str) -> None:
        if text:
            _, style, href = self._inline[-1]
            self._runs.append(run(text, style, href))

    def _begin_table_part(self, tag: str, given: dict[str, str]) -> None:
        match tag:
            case "table":
                self._tables += 1
            case "tr" if self._tables == 1:
                self._rows.append([])
                self._is_head = True
            case "td" | "th" if self._tables == 1 and self._rows:
                self._pad()
                self._cell = []
                self._is_head &= tag == "th"
                spans = (_number(given.get(name, ""), 1) for name in ("colspan", "rowspan"))
                self._spans = (min(next(spans), MOST_COLUMNS), next(spans))

    def _pad(self) -> None:
        """Leave the places free that cells of rows above reach into."""
        row = self._rows[-1]
        while self._held.get(len(row), 0):
            self._held[len(row)] -= 1
            row.append([])

    def _flush(self) -> None:
        runs, self._runs = self._runs, []
        while runs and not runs[-1].text.strip():
            runs.pop()
        if not runs:
            return
        runs[-1] = msgspec.structs.replace(runs[-1], text=runs[-1].text.rstrip())
        marker, self._marker = self._marker, ""
        if self._cell is not None:
            self._cell += [run("\n")] if self._cell else []
            self._cell += [run(f"{marker} "), *runs] if marker else runs
        elif self._heading:
            self.blocks.append(Block("heading", runs, self._heading))
        else:
            kind = "code" if self._code else "quotation" if self._quotes else "text"
            self.blocks.append(Block(kind, runs, len(self._lists), marker))  # type: ignore[arg-type]

    def _table(self) -> None:
        rows, self._rows = [row for row in self._rows if any(map(text_of, row))], []
        heads, self._heads, self._held = min(self._heads, len(rows)), 0, {}
        width = max(map(len, rows), default=0)
        if width <= MOST_COLUMNS:
            for row in rows:
                row += [[] for _ in range(width - len(row))]
            self.blocks += [Block("table", rows=rows, heads=heads)] if rows else []
            return
        for row in rows:
            joined = [each for cell in row if cell for each in (run(" | "), *cell)]
            self.blocks.append(Block("text", joined[1:]))


def _number(text: str, least: int) -> int:
    return max(least, int(text)) if text.isascii() and text.isdecimal() and len(text) < 7 else least
