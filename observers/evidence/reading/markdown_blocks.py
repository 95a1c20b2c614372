"""Reads Markdown as CommonMark with tables and footnotes: line by line, in time in proportion to its length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.toolkit.html_text import BLOCKS
from ua_tui.observers.evidence.reading.elements import COST_OF_LINE, Flow
from ua_tui.observers.evidence.reading.markdown_inline import InlineReader, Range, label_key
from ua_tui.observers.evidence.reading.markup import HtmlReader
from ua_tui.observers.evidence.reading.tables import cells_of, is_delimiter_row

_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|$)")
_DEEPEST = 20
_DEFINITION = re.compile(
    r"^ {0,3}\[(?!\^)((?:[^\[\]\\\n\r]|\\.){1,500}+)\]:[ \t]{0,20}+(?:<([^<>\n\r]{0,4000}+)>|([^\s<][^\s]{0,4000}+))"
    r"[ \t]{0,20}+(?:\"[^\"\n\r]{0,1000}+\"|'[^'\n\r]{0,1000}+'|\([^()\n\r]{0,1000}+\))?[ \t]{0,20}+$",
    re.MULTILINE,
)
_NOTE = re.compile(r" {0,3}\[\^([^\[\]\s]{1,100}+)\]:[ \t]*")
_NOTE_LABELS = re.compile(r"^[ >]{0,20}\[\^([^\[\]\s]{1,100}+)\]:", re.MULTILINE)
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_HEADING_END = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
_RULE = re.compile(r"(?:\*[ \t]*+){3,}+$|(?:-[ \t]*+){3,}+$|(?:_[ \t]*+){3,}+$")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_BULLET = re.compile(r"(?:[-+*]|(\d{1,9})([.)]))(?=[ \t]|$)")
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n[\w.-]{1,60}[ \t]*[:=]")
_HTML = re.compile(r"</?([A-Za-z][A-Za-z0-9-]{0,40})(?=[\s/>]|$)|<!--|<[!?]")
_HTML_LINE = re.compile(r"</?[A-Za-z][^<>]{0,4000}>[ \t]*$")
_LITERAL = frozenset({"script", "style", "pre", "textarea"})
_HTML_BLOCKS = BLOCKS | frozenset({"base", "col", "colgroup", "frame", "frameset", "head", "html", "link"})
_HTML_BLOCKS |= frozenset({"menuitem", "meta", "noframes", "param", "source", "title", "track"})
_HTML_BLOCKS -= frozenset({"br", "button", "select", "video"})
_MOST_LINES = 1_000
"""Lines of a paragraph that are read at once."""
_CHECKED = 256


@dataclass(slots=True)
class _Container:
    """A quotation (`indent` is -1), or an item whose text is indented by this much."""

    indent: int
    list_name: str = ""


@dataclass(slots=True)
class _Fence:
    mark: str
    indent: int
    depth: int


@dataclass(slots=True)
class _Html:
    """A block of HTML that is not complete; `until` is the text that ends it, empty for a blank line."""

    start: int
    until: str
    depth: int


class MarkdownReader:
    """Reads one document into its elements."""

    def __init__(self, source: str, end: int, flow: Flow, stop: Stop = NEVER) -> None:
        self._source = source
        self._end = end
        self._flow = flow
        self._stop = stop
        self._html_reader = HtmlReader(source, flow, stop)
        self._containers: list[_Container] = []
        self._paragraph: list[Range] = []
        self._fence: _Fence | None = None
        self._html: _Html | None = None
        self._is_code = False
        self._table = 0
        self._inline = InlineReader(source, flow, *_definitions(source[:end]))

    def read(self) -> None:
        """Read the document.

        Raises:
            Stopped: the flag was set.
        """
        at = _after_front_matter(self._source, self._end)
        number = 0
        while at < self._end and not self._flow.is_full:
            found = _LINE.match(self._source, at, self._end)
            assert found is not None
            number += 1
            if not number % _CHECKED:
                self._stop.check()
            self._flow.spend(COST_OF_LINE)
            self._line(at, found.end(1))
            at = found.end()
        self._close_to(0, self._end)

    def _line(self, start: int, end: int) -> None:
        at, depth = self._matched(start, end)
        if self._continues(at, start, end, depth):
            return
        is_blank = not self._source[at:end].strip()
        is_open = bool(self._paragraph)
        if depth < len(self._containers) and not is_blank:
            if is_open and self._is_lazy(at, end):
                self._paragraph.append(_content(self._source, at, end))
                return
            self._close_to(depth, start)
            is_open = False
        elif depth < len(self._containers) and any(each.indent < 0 for each in self._containers[depth:]):
            self._close_to(depth, start)
        if is_blank:
            self._end_leaf(start)
            return
        at, is_new = self._containers_at(at, end, can_interrupt=not is_open)
        if at < end and self._source[at:end].strip():
            self._leaf(at, end, is_open=is_open and not is_new)

    def _matched(self, start: int, end: int) -> tuple[int, int]:
        """The place after the marks of the containers that a line continues, and how many these are."""
        at = start
        for depth, container in enumerate(self._containers):
            width, text = _indent(self._source, at, end)
            if container.indent < 0:
                if width > 3 or self._source[text : text + 1] != ">" or text >= end:
                    return at, depth
                at = _after_quote_mark(self._source, text, end)
            elif text >= end:
                at = end
            elif width >= container.indent:
                at = _skip(self._source, at, end, container.indent)
            else:
                return at, depth
        return at, len(self._containers)

    def _continues(self, at: int, start: int, end: int, depth: int) -> bool:
        """Whether a line belongs to a block of code, of HTML, or to a table that is not complete."""
        if self._fence is not None:
            fence = self._fence
            if depth < fence.depth:
                self._end_leaf(start)
                return False
            width, text = _indent(self._source, at, end)
            line = self._source[text:end].rstrip()
            if width < 4 and len(line) >= len(fence.mark) and not line.strip(fence.mark[0]):
                self._end_leaf(start)
            else:
                self._flow.text(at, min(end + 1, self._end), has_entities=False)
            return True
        if self._html is not None:
            if depth < self._html.depth or (not self._html.until and not self._source[at:end].strip()):
                self._end_leaf(start)
                return False
            if self._html.until and self._html.until in self._source[at:end].lower():
                self._html_reader.read(self._html.start, end)
                self._html = None
            return True
        if self._is_code:
            width, text = _indent(self._source, at, end)
            if text >= end or (width >= 4 and depth == len(self._containers)):
                self._flow.text(at, min(end + 1, self._end), has_entities=False)
                return True
            self._end_leaf(start)
        if self._table:
            if depth == self._table - 1 and "|" in self._source[at:end] and not self._begins(at, end):
                self._row("td", at, end)
                return True
            self._end_leaf(start)
        return False

    def _begins(self, at: int, end: int) -> bool:
        """Whether a line begins another kind of block than a paragraph."""
        width, text = _indent(self._source, at, end)
        line = self._source[text:end]
        if width > 3 or not line:
            return False
        if line[0] == ">" or _HEADING.match(line) or _FENCE.match(line) or _RULE.match(line):
            return True
        if _NOTE.match(line):
            return True
        bullet = _BULLET.match(line)
        if bullet and line[bullet.end() :].strip():
            return bullet[1] in {None, "1"}
        return self._html_start(text, end, can_interrupt=False) is not None

    def _is_lazy(self, at: int, end: int) -> bool:
        """Whether a line continues a paragraph without the marks of its containers."""
        _, text = _indent(self._source, at, end)
        bullet = _BULLET.match(self._source, text, end)
        return not (bullet or self._begins(at, end) or _RULE.match(self._source, text, end))

    def _containers_at(self, at: int, end: int, *, can_interrupt: bool) -> tuple[int, bool]:
        """Begin the containers whose marks are at a place; the place after them, and whether there were any."""
        is_new = False
        while len(self._containers) < _DEEPEST:
            width, text = _indent(self._source, at, end)
            if width > 3 or text >= end:
                break
            after = self._container_at(at, text, end, can_interrupt=can_interrupt or is_new)
            if after < 0:
                break
            at, is_new = after, True
        return at, is_new

    def _container_at(self, at: int, text: int, end: int, *, can_interrupt: bool) -> int:
        """Begin the container whose mark is at a place; the place after the mark, -1 if there is none."""
        source = self._source
        if source[text] == ">":
            self._end_leaf(text)
            self._flow.start("blockquote", {}, text)
            self._containers.append(_Container(-1))
            return _after_quote_mark(source, text, end)
        if note := _NOTE.match(source, text, end):
            self._end_leaf(text)
            self._flow.start("ul", {}, text)
            note_id = {"id": f"^{label_key(note[1])}", "role": "doc-endnote", "value": note[1]}
            self._flow.start("li", note_id, text)
            self._containers.append(_Container(2, "ul"))
            return note.end()
        bullet = _BULLET.match(source, text, end)
        if bullet is None or _RULE.match(source[text:end]):
            return -1
        is_blank = not source[bullet.end() : end].strip()
        if not can_interrupt and (is_blank or bullet[1] not in {None, "1"}):
            return -1
        self._end_leaf(text)
        name = "ol" if bullet[1] else "ul"
        self._flow.start(name, {}, text)
        self._flow.start("li", {"value": bullet[1]} if bullet[1] else {}, text)
        width, content = _indent(source, bullet.end(), end)
        spaces = width if 1 <= width <= 4 and not is_blank else 1
        indent = _indent(source, at, end)[0] + bullet.end() - text + spaces
        self._containers.append(_Container(indent, name))
        return content if spaces == width else min(bullet.end() + spaces, end)

    def _leaf(self, at: int, end: int, *, is_open: bool) -> None:
        """Read the text of a line after the marks of its containers; `is_open` if it may continue a paragraph."""
        source = self._source
        width, text = _indent(source, at, end)
        if width > 3 and not is_open:
            self._flow.start("pre", {}, text)
            self._is_code = True
            self._flow.text(text, min(end + 1, self._end), has_entities=False)
            return
        if width <= 3:
            if is_open and self._paragraph and (underline := _UNDERLINE.match(source, text, end)):
                self._heading(1 if underline[1][0] == "=" else 2, text)
                return
            if self._block(text, end, is_open=is_open):
                return
        self._paragraph.append(_content(source, text, end))
        if len(self._paragraph) >= _MOST_LINES:
            self._end_leaf(end)

    def _block(self, text: int, end: int, *, is_open: bool) -> bool:
        """Read the line as another block than a paragraph, if it is one."""
        source = self._source
        line = source[text:end]
        if heading := _HEADING.match(line):
            self._end_leaf(text)
            closing = _HEADING_END.search(line[-200:], 0) if line.rstrip().endswith("#") else None
            cut = len(line) - min(len(line), 200) + closing.start() if closing else len(line)
            self._paragraph = [_content(source, text + heading.end(), text + max(cut, heading.end()))]
            self._heading(len(heading[1]), text)
            return True
        if _RULE.match(line):
            self._end_leaf(text)
            self._flow.start("hr", {}, text)
            return True
        if fence := _FENCE.match(line):
            self._end_leaf(text)
            self._flow.start("pre", {}, text)
            self._fence = _Fence(fence[1] or fence[2], 0, len(self._containers))
            return True
        until = self._html_start(text, end, can_interrupt=not is_open)
        if until is not None:
            self._end_leaf(text)
            if until and until in line[2:].lower():
                self._html_reader.read(text, end)
            else:
                self._html = _Html(text, until, len(self._containers))
            return True
        if not is_open and line[0] == "[" and _DEFINITION.match(line):
            return True
        return bool(is_open and self._paragraph and self._table_at(text, end))

    def _html_start(self, text: int, end: int, *, can_interrupt: bool) -> str | None:
        """What ends the block of HTML that begins at a place; None if none begins there."""
        source = self._source
        if source[text] != "<" or not (found := _HTML.match(source, text, end)):
            return None
        name = (found[1] or "").lower()
        if found[0] == "<!--":
            return "-->"
        if not name:
            return ">" if found[0] == "<!" else "?>"
        if name in _LITERAL:
            return f"</{name}>" if source[text + 1] != "/" else ""
        if name in _HTML_BLOCKS:
            return ""
        return "" if can_interrupt and _HTML_LINE.match(source, text, end) else None

    def _table_at(self, text: int, end: int) -> bool:
        """Begin a table if the line is the one below its header."""
        source = self._source
        header = self._paragraph[-1]
        if "|" not in source[slice(*header)] or not is_delimiter_row(source[text:end]):
            return False
        if len(cells_of(source, *header)) != len(cells_of(source, text, end)):
            return False
        self._paragraph.pop()
        self._end_leaf(header[0])
        self._table = len(self._containers) + 1
        self._flow.start("table", {}, text)
        self._flow.start("thead", {}, text)
        self._row("th", *header)
        self._flow.end("thead", text)
        return True

    def _row(self, name: str, start: int, end: int) -> None:
        self._flow.start("tr", {}, start)
        for cell in cells_of(self._source, start, end):
            self._flow.start(name, {}, cell[0])
            self._inline.read([cell], is_cell=True)
            self._flow.end(name, cell[1])
        self._flow.end("tr", end)

    def _heading(self, level: int, at: int) -> None:
        lines, self._paragraph = self._paragraph, []
        self._flow.start(f"h{level}", {}, at)
        self._inline.read(lines)
        self._flow.end(f"h{level}", at)

    def _end_leaf(self, at: int) -> None:
        """End the paragraph, code, HTML or table that is not complete."""
        if self._paragraph:
            lines, self._paragraph = self._paragraph, []
            self._flow.start("p", {}, lines[0][0])
            self._inline.read(lines)
            self._flow.end("p", lines[-1][1])
        if self._fence is not None or self._is_code:
            self._fence, self._is_code = None, False
            self._flow.end("pre", at)
        if self._html is not None:
            start, self._html = self._html.start, None
            self._html_reader.read(start, at)
        if self._table:
            self._table = 0
            self._flow.end("table", at)

    def _close_to(self, depth: int, at: int) -> None:
        """End the containers from a depth on."""
        self._end_leaf(at)
        while len(self._containers) > depth:
            container = self._containers.pop()
            if container.indent < 0:
                self._flow.end("blockquote", at)
            else:
                self._flow.end("li", at)
                self._flow.end(container.list_name, at)


def _definitions(text: str) -> tuple[Mapping[str, str], frozenset[str]]:
    """The addresses of link definitions by their labels, and the labels of footnotes."""
    references: dict[str, str] = {}
    for found in _DEFINITION.finditer(text):
        address = found[2] if found[2] is not None else found[3]
        references.setdefault(label_key(found[1]), unescape(address) if ";" in address else address)
    return references, frozenset(label_key(found[1]) for found in _NOTE_LABELS.finditer(text))


def _after_front_matter(source: str, end: int) -> int:
    found = _FRONT_MATTER.match(source, 0, end)
    if found is None:
        return 0
    close = re.compile(rf"^{re.escape(found[1])}[ \t]*\r?$", re.MULTILINE).search(
        source, found.end(), min(end, 64 << 10)
    )
    return close.end() if close else 0


def _content(source: str, start: int, end: int) -> Range:
    """A line without the white space before it; that after it may belong to code."""
    piece = source[start:end]
    return start + len(piece) - len(piece.lstrip(" \t")), end


def _indent(source: str, at: int, end: int) -> tuple[int, int]:
    """The width of the white space at a place, and the place after it."""
    width = 0
    while at < end:
        if source[at] == " ":
            width += 1
        elif source[at] == "\t":
            width += 4 - width % 4
        else:
            break
        at += 1
    return width, at


def _skip(source: str, at: int, end: int, columns: int) -> int:
    """The place after white space of a width."""
    width = 0
    while at < end and width < columns and source[at] in " \t":
        width += 1 if source[at] == " " else 4 - width % 4
        at += 1
    return at


def _after_quote_mark(source: str, at: int, end: int) -> int:
    after = at + 1
    return after + 1 if after < end and source[after] in " \t" else after
