"""Reads the visible text of HTML: paragraphs, lists, tables, captions, preformatted text and the text of pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml import etree  # type: ignore[import-untyped]  # ships no types

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.toolkit.html_text import hides
from ua_tui.observers.check.blocks import INVISIBLE, LONGEST, Block, BlockKind, Cell, Document, with_addresses

_UNSEEN = frozenset({
    "script", "style", "template", "head", "title", "noscript", "iframe", "object", "select", "option",
    "textarea", "input", "button", "rt", "rp", "del", "math", "defs", "metadata", "desc",
})  # fmt: skip
_INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "dfn", "em", "font", "i", "img", "ins",
    "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tspan", "tt", "u",
    "var", "wbr", "label", "br",
})  # fmt: skip
_KINDS: Mapping[str, BlockKind] = {
    "li": "item", "dt": "item", "dd": "item", "caption": "caption", "figcaption": "caption", "text": "picture",
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "blockquote": "quote", "td": "row", "th": "row",
}  # fmt: skip
_MOST_TAGS = 600_000
"""Beginnings and ends of elements that are read, in about 3 seconds: 2 million characters have at most 400,000."""
_DEEPEST_TREE = 2_048
"""Elements in one another where the parser ends, without saying so."""
_PERIOD = re.compile(r"\b(?:1[89]|20)\d\d\b|[QHTS][1-4]\b")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_MARK = re.compile(r"[\[(]?\^?(?:\d{1,3}|(?<=\^)[\w-]{1,20})[\])]?")
_WRITTEN = re.compile(r"[\w.,;:!?%)\"'\u2019\u201d]")
"""What a number follows without a space if it is no figure but the number of a source."""
_LONGEST_LEAD = 120
"""Characters of a paragraph that only says how to read the table below it: a sentence."""
_MOST_CELLS = 60
"""Cells of a table row that are read, and columns that a cell may cover."""
_QUOTED = ""
"""What stands for the address in the range of an element for quotations."""

Span = tuple[int, int, str]


def read_html(data: bytes | str, document: Document) -> None:
    """Read HTML into a document; what cannot be read becomes a notice.

    Raises:
        Stopped: the result is no longer needed.
    """
    is_text = isinstance(data, str)
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    encoding = None if not is_text and b"charset" in raw[:2_048].lower() else "utf-8"
    parser = etree.HTMLParser(encoding=encoding, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        parser.feed(raw)
        root = parser.close()
    except (etree.LxmlError, ValueError, AssertionError) as error:
        document.notices.append(f"The document could not be parsed: {type(error).__name__}.")
        return
    if root is None:
        return
    document.title = " ".join(root.findtext(".//title", "").split())
    _Reader(document).read(root)


class _Reader:
    """Walks through the elements without recursion and collects the visible text in blocks."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.parts: list[str] = []
        self.length = self.total = self.count = 0
        self.is_open = False
        self.section = ""
        self.kinds: list[BlockKind] = ["paragraph"]
        self.spans: list[Span] = []
        self.open: list[tuple[int, str]] = []
        self.tables: list[Table] = []
        self.plain: dict[Any, bool] = {}

    def read(self, root: Any) -> None:
        walker = etree.iterwalk(root, events=("start", "end"))
        depth = 0
        for number, (event, element) in enumerate(walker):
            depth += 1 if event == "start" else -1
            if depth == _DEEPEST_TREE:
                self.document.notices.append("Parts that are nested too deeply were not checked.")
            if number % 1_000 == 0:
                check_stopped()
            tag = element.tag if isinstance(element.tag, str) else ""
            is_seen = tag not in _UNSEEN and not hides(element, self.plain)
            if event == "start" and is_seen and tag == "pre":
                self._lines(element)
            if event == "start" and (not is_seen or tag == "pre"):
                walker.skip_subtree()
            elif event == "start":
                self._start(tag, element)
                self._add(element.text)
            else:
                if is_seen and tag != "pre":
                    self._end(tag, element)
                self._add(element.tail)
            if number > _MOST_TAGS:
                self.document.notices.append(f"Only the first {_MOST_TAGS:,} tags were checked.")
                break
            if self.total > LONGEST:
                self.document.notices.append(f"Only the first {LONGEST:,} characters were checked.")
                break
        self._flush()
        while self.tables:
            self._end_table()

    def _add(self, text: str | None) -> None:
        """Add text to what is collected, with single spaces."""
        self.total += len(text or "")
        if not (seen := (text or "").translate(INVISIBLE)):
            return
        if words := " ".join(seen.split()):
            is_apart = self.length and (self.is_open or seen[0].isspace())
            self.parts.append(f" {words}" if is_apart else words)
            self.length += len(self.parts[-1])
        self.is_open = seen[-1].isspace() or (self.is_open and not words)

    def _lines(self, element: Any) -> None:
        """Read preformatted text, line by line."""
        self._flush()
        for line in "".join(element.itertext()).split("\n"):
            self._append("code", " ".join(line.translate(INVISIBLE).split()), [])

    def _start(self, tag: str, element: Any) -> None:
        if tag == "a":
            self.open.append((self.length, str(element.get("href") or "")))
        elif tag == "q":
            self._add("“")
            self.open.append((self.length, _QUOTED))
        elif tag == "br":
            self._add(" ")
        elif tag not in _INLINE or (tag == "cite" and self.kinds[-1] == "quote"):
            # Who is quoted stands below a quotation.
            self._flush()
            self.kinds.append("caption" if tag in ("cite", "footer") else _KINDS.get(tag, self.kinds[-1]))
            if tag == "table":
                self.count += 1
                self.tables.append(Table(self.count))
            elif tag == "tr" and self.tables:
                self.tables[-1].rows.append([])

    def _end(self, tag: str, element: Any) -> None:
        if tag in ("a", "q") and self.open:
            start, url = self.open.pop()
            if tag == "q":
                self.spans.append((start, self.length, _QUOTED))
                self._add("”")
            elif url:
                self._close_link(element, start, url)
        elif tag == "sup" and len(element) == 0 and (element.text or "").isdigit() and self.parts:
            # Raised digits do not join the number before them.
            self.parts[-1] = self.parts[-1].translate(_SUPERSCRIPTS)
        elif tag not in _INLINE or (tag == "cite" and self.kinds[-1] == "caption"):
            table = self.tables[-1] if self.tables else None
            if table is not None and tag in ("td", "th", "caption"):
                text, spans = self._taken()
                table.take(tag, text, spans, element.get("colspan", "1"), element.get("rowspan", "1"))
            self._flush()
            if table is not None and tag == "table":
                self._end_table()
            if len(self.kinds) > 1:
                self.kinds.pop()

    def _close_link(self, element: Any, start: int, url: str) -> None:
        """Keep a link; the number of a footnote, which is no figure, is taken out of the text."""
        whole = "".join(self.parts) if self.length - start < 24 else ""
        text = whole[start:]
        parent = element.getparent()
        is_behind = _WRITTEN.match(whole, start - 1, start) and not text[:1].isspace()
        is_mark = is_behind or (parent is not None and parent.tag == "sup")
        if _MARK.fullmatch(text.strip()) and (is_mark or not text.strip().isdigit()):
            self.parts = [whole[:start]]
            self.length = start
            self.is_open |= text[0].isspace()
        self.spans.append((start, self.length, url))

    def _taken(self) -> tuple[str, list[Span]]:
        """The collected text, and the ranges in it, none of which begins with a space."""
        text, last = "".join(self.parts), self.length
        spans = [(min(a, last), min(b, last), url) for a, b, url in self.spans]
        self.parts, self.length, self.spans, self.is_open = [], 0, [], False
        self.open = [(0, url) for _, url in self.open]
        return text, [(a + (a < b and text[a] == " "), b, url) for a, b, url in spans]

    def _flush(self) -> None:
        if self.tables and self.kinds[-1] == "row":
            # A paragraph in a cell.
            self._add(" ")
        elif self.parts or self.spans:
            self._append(self.kinds[-1], *self._taken())

    def _end_table(self) -> None:
        last = self.document.blocks[-1] if self.document.blocks else None
        is_lead = last is not None and last.kind == "paragraph" and len(last.text) < _LONGEST_LEAD
        lead = last.text if last is not None and is_lead and not any(map(str.isdigit, last.text)) else ""
        self.document.blocks += self.tables.pop().blocks(self.section, lead)

    def _append(self, kind: BlockKind, text: str, spans: Sequence[Span]) -> None:
        if not text and not spans:
            return
        self.document.blocks.append(_block(kind, text, spans, section=self.section))
        if kind == "heading":
            self.section = text
            self.document.title = self.document.title or text


@dataclass(frozen=True, slots=True)
class _CellText:
    text: str
    is_header: bool
    width: int
    height: int
    spans: Sequence[Span]


@dataclass
class Table:
    """A table as it is read, row by row."""

    number: int
    caption: str = ""
    rows: list[list[_CellText]] = field(default_factory=list)

    def take(
        self, tag: str, text: str, spans: Sequence[Span] = (), width: str = "1", height: str = "1"
    ) -> None:
        """Keep the text of a cell or of the caption."""
        if tag == "caption":
            self.caption = text
            return
        if not self.rows:
            self.rows.append([])
        columns, rows = (min(int(each), _MOST_CELLS) if each.isdecimal() else 1 for each in (width, height))
        self.rows[-1].append(_CellText(text, tag == "th", columns, rows, spans))

    def blocks(self, section: str = "", lead: str = "") -> Iterator[Block]:
        """The caption and the rows, each cell with the headings of its column and with what spans several rows.

        `lead` is the sentence before the table, which may have its scale: "All figures in thousands."
        """
        headers: dict[int, str] = {}
        # For each column in which row a cell from above ends, and what it says.
        above: dict[int, tuple[int, str]] = {}
        shared: dict[str, Any] = {"section": section, "table": self.number, "caption": self.caption or lead}
        if self.caption:
            yield _block("caption", self.caption, (), section=section)
        for number, row in enumerate(filter(None, self.rows)):
            is_heading = all(cell.is_header for cell in row)
            written = _PERIOD.sub("", " ".join(cell.text for cell in row))
            is_first = row is self.rows[0] and not any(map(str.isdigit, written))
            text, column = "", 0
            cells: list[Cell] = []
            spans: list[Span] = []
            beside = " ".join(label for _, (end, label) in sorted(above.items()) if end > number and label)
            for cell in row[:_MOST_CELLS]:
                while above.get(column, (0, ""))[0] > number:
                    column += 1
                start = len(text) + bool(text)
                if cell.text:
                    text = f"{text} {cell.text}" if text else cell.text
                    header = "" if is_heading else f"{headers.get(column, '')} {beside}".strip()
                    cells.append(Cell(start, len(text), header))
                    spans += [(start + a, start + b, url) for a, b, url in cell.spans]
                for each in range(column, min(column + max(cell.width, 1), _MOST_CELLS)):
                    if is_heading or is_first:
                        headers[each] = f"{headers.get(each, '')} {cell.text}".strip()
                    if cell.height > 1:
                        label = cell.text if each == column and not (is_heading or is_first) else ""
                        above[each] = number + cell.height, label
                column += max(cell.width, 1)
            if text:
                kind: BlockKind = "heading" if is_heading else "row"
                yield _block(kind, text, spans, cells=cells, **shared)


def _block(kind: BlockKind, text: str, spans: Sequence[Span], **more: Any) -> Block:
    links = [each for each in spans if each[2] != _QUOTED]
    quoted = [each[:2] for each in spans if each[2] == _QUOTED]
    return with_addresses(Block(kind=kind, text=text, links=links, quoted=quoted, **more))
