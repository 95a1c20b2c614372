"""Results in blocks of lines: labelled fields, and titles with an address and a text below them."""

from __future__ import annotations

from typing import Any

import msgspec

from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.text.labels import ONLY_LINKS, cleaned, is_open, label_in, linked, scalar
from ua_tui.observers.search.text.lines import (
    address_in,
    heading_in,
    is_bullet,
    is_numbering,
    is_rule,
    link_in,
    plain_title,
    title_in,
)

_FOLDED, _MOST_FOLDED = 60, 2000
_LONGEST_LINE = 4000
_LONGEST_PARAGRAPH = 5
_ANNOUNCES = (":", "：")
"""The end of a line that says what follows: it is neither a title nor the text of the result before."""


class Section(msgspec.Struct):
    """The results under one heading: its kind, if it has one, and the offset of the first result in the text."""

    kind: str | None = None
    items: list[dict[str, Any]] = msgspec.field(default_factory=list)
    start: int = 0
    bare: bool = True


def read_blocks(text: str) -> list[Section]:
    """The sections of results in a text; a result ends where the next one begins.

    Without any address, results are several titles and texts with a label each.
    """
    return _Reader(text).read()


class _Reader:
    """Reads lines in order.

    `_label` is the column of the last label of the current result, `_waiting` a line of text that is the title if an
    address follows, `_above` the lines of its paragraph above it, `_marked` whether the current result began with a
    mark: a number, a heading or a link.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._sections = [Section()]
        self._described: list[dict[str, Any]] = []
        self._item: dict[str, Any] = {}
        self._more: dict[str, list[str]] = {}
        self._begin = self._at = 0
        self._label: str | None = None
        self._opener: str | None = None
        self._waiting: str | None = None
        self._above: list[str] = []
        self._number = 0
        self._gap = self._titled_by_label = self._marked = False

    def read(self) -> list[Section]:
        for number, line in enumerate(self._lines, start=1):
            self._number = number
            self._read_line(line.rstrip())
            self._at += len(line)
        self._finish()
        found = [section for section in self._sections if section.items]
        if not found and len(self._described) > 1:
            return [Section(None, self._described, bare=False)]
        return found

    def _read_line(self, line: str) -> None:
        if not line:
            self._gap = True
            return
        if self._continue_value(line):
            return
        if line.startswith("REMINDER") or is_numbering(line) or is_rule(line):
            self._finish()
        elif label := label_in(line):
            kind = None if label[1] else heading_in(line)
            if kind:
                self._announced(kind)
            else:
                self._labelled(*label)
        elif len(line) <= _LONGEST_LINE and (kind := heading_in(line)):
            self._announced(kind)
        elif len(line) > _LONGEST_LINE or (self._titled_by_label and "url" in self._item):
            # So long a line can only continue a text, and what has labels has one for each field.
            self._add_text(line)
        elif "://" in line and (link := link_in(line)):
            is_only_link = link["title"].casefold().rstrip(" .…→»>") in ONLY_LINKS
            if is_only_link and "title" in self._item and "url" not in self._item:
                self._labelled("url", link["url"])
            else:
                self._begins_at_mark(link)
        elif "://" in line and (url := address_in(line)):
            self._address(url, line)
        elif title := title_in(line):
            self._titled(title, line)
        else:
            self._add_text(line)
        self._gap = False

    def _line_below(self, most_blank: int) -> str:
        """The next line, behind so many blank ones at most."""
        last = min(self._number + most_blank, len(self._lines) - 1)
        return next((line for at in range(self._number, last + 1) if (line := self._lines[at].rstrip())), "")

    def _continue_value(self, line: str) -> bool:
        """Add a line that continues a folded or quoted YAML value."""
        label = self._label or ""
        value = self._item.get(label, "") if label in ("title", "snippet") else ""
        if not value or len(value) > _MOST_FOLDED or len(line) > _LONGEST_LINE or label_in(line):
            return False
        quoted = is_open(value)
        if not quoted and not (label == "title" and len(value) >= _FOLDED and line[:2].isspace()):
            return False
        whole = f"{value.removesuffix(chr(92))} {line.strip()}"
        self._item[label] = scalar(whole) if quoted else whole
        return True

    def _announced(self, kind: str) -> None:
        self._finish()
        self._sections.append(Section(kind))

    def _begins_at_mark(self, item: dict[str, Any]) -> None:
        self._finish()
        self._begin, self._marked = self._at, True
        self._item = item

    def _labelled(self, column: str, value: str) -> None:
        if column == "url":
            value = value.strip("<>")
            value = link[1] if (link := linked(value)) else value
            if value == self._item.get("url"):
                return
        else:
            value = scalar(value)
        if column in ("title", "url"):
            self._opener = self._opener or column
        if self._begins_another(column):
            self._finish()
        item = self._item
        if not item:
            self._begin = self._at
        if column != "title" and "title" not in item and self._waiting and not self._gap:
            item["title"] = self._waiting
        self._waiting = None
        self._titled_by_label = self._titled_by_label or column == "title"
        if column == "snippet" and item.get(column) == "" and (text := self._more.pop(column, None)):
            # The lines before were something else than the text that has its label.
            item[column], value = value, "\n".join(text)
        item[f"{column}_more" if column in item else column] = value
        self._label = column

    def _begins_another(self, column: str) -> bool:
        """Whether the label of a column is not one of the item that was begun, but of the next."""
        item = self._item
        match column:
            case "title":
                return ("title" in item) + ("url" in item) + (self._opener == "title") >= 2
            case "url":
                return "url" in item
            case _:
                return self._gap and column == next(iter(item), None)

    def _address(self, url: str, line: str) -> None:
        if self._label == "snippet" and "url" in self._item:
            self._add_text(line)
            return
        if "url" in self._item:
            self._finish()
        if not self._item:
            self._begin = self._at
        if "title" not in self._item and self._waiting and not self._gap:
            self._item["title"] = self._waiting
            if self._above and not self._line_below(0):
                # An address that ends a paragraph is below the title and the text.
                self._item |= {
                    "title": self._above[0],
                    "snippet": "\n".join([*self._above[1:], self._waiting]),
                }
        self._item["url"] = url
        self._waiting = self._label = None

    def _titled(self, title: str, line: str) -> None:
        in_text = self._label == "snippet" and not self._gap and "url" in self._item
        if in_text and not _has_address(self._line_below(0)):
            self._add_text(line)
        else:
            self._begins_at_mark({"title": title.strip("*#=- ")})

    def _add_text(self, line: str) -> None:
        """Handle a line of plain text: it continues the snippet, or may be the next title."""
        text, item = line.strip(), self._item
        if self._label in ("snippet", "raw_content"):
            self._more.setdefault(self._label, []).append(text)
        elif self._titled_by_label and "url" in item and not (self._gap and self._begins_snippet(line)):
            return
        elif ("url" in item or ("title" in item and not self._gap)) and not self._ends(line):
            item.setdefault("snippet", "")
            self._more.setdefault("snippet", []).append(text)
        else:
            before = [self._waiting] if self._waiting and not item and not self._gap else []
            above = [*self._above, *before]
            self._finish()
            self._above = above if before and len(above) < _LONGEST_PARAGRAPH else []
            self._waiting = None if line.endswith(_ANNOUNCES) else plain_title(line)

    def _ends(self, line: str) -> bool:
        """Whether a line of text belongs to the next result."""
        if self._gap and "url" in self._item and line.endswith(_ANNOUNCES):
            return "snippet" in self._item or "://" in self._line_below(len(self._lines))
        if self._gap and ("snippet" in self._item or self._label is not None):
            return not self._begins_snippet(line)
        return "url" in self._item and is_bullet(line)

    def _begins_snippet(self, line: str) -> bool:
        """Whether a text below the fields of a result is its snippet: the results have a mark, and texts like it."""
        items = self._sections[-1].items
        return (
            (self._marked or self._titled_by_label)
            and "snippet" not in self._item
            and (not items or "snippet" in items[-1])
            and not is_bullet(line)
        )

    def _finish(self) -> None:
        if not self._item:
            self._label = self._waiting = None
            return
        for name, lines in self._more.items():
            self._item[name] = "\n".join([self._item[name], *lines]).strip()
        item, self._item, self._label, self._waiting = cleaned(self._item), {}, None, None
        self._more = {}
        is_labelled, self._titled_by_label, self._marked = self._titled_by_label, False, False
        if not is_web_url(item.get("url")) and is_web_url(item.get("source")):
            item["url"] = item.pop("source")
        if is_web_url(item.get("url")):
            section = self._sections[-1]
            if not section.items:
                section.start = self._begin
            section.bare = section.bare and item.keys() == {"url"}
            section.items.append(item)
        elif is_labelled and "title" in item and item.get("snippet"):
            self._described.append(item)


def _has_address(line: str) -> bool:
    """Whether a line is the address of a result, with or without a label."""
    label = label_in(line)
    return "://" in line and (label[0] == "url" if label else address_in(line) is not None)
