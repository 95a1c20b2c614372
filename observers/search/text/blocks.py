"""Results in blocks of lines: labelled fields, and titles with an address and a text below them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.text.labels import label_in, labels_on_one_line
from ua_tui.observers.search.text.lines import (
    address_in,
    heading_in,
    is_bullet,
    is_numbering,
    is_rule,
    labelled_address_in,
    link_in,
    plain_title,
    title_in,
)
from ua_tui.observers.search.text.values import cleaned, is_open, linked, scalar

_FOLDED, _MOST_FOLDED = 60, 2000
_LONGEST_LINE = 4000
_LONGEST_PARAGRAPH = 5
_ANNOUNCES = (":", "：")
"""The end of a line that says what follows: it is neither a title nor the text of the result before."""
_ANNOUNCED = re.compile(r"\W{0,4}(?:web |search ){0,2}results?[^:：\n]{0,60}[:：]\s+(?=\S)", re.IGNORECASE)
_ONLY_LINKS = frozenset(
    [
        "read more",
        "more",
        "link",
        "source",
        "view",
        "visit",
        "open",
        "url",
        "website",
        "full article",
        "read article",
        "read full article",
        "阅读更多",
        "阅读全文",
        "查看原文",
        "原文",
        "链接",
        "来源",
        "続きを読む",
        "リンク",
        "더 보기",
        "lire la suite",
        "weiterlesen",
        "mehr",
        "leer más",
        "ler mais",
        "leggi tutto",
        "подробнее",
        "читать далее",
    ]
)


@dataclass(slots=True)
class Section:
    """The results under one heading: its kind, if it has one, and the offset of the first result in the text."""

    kind: str | None = None
    items: list[dict[str, Any]] = field(default_factory=list)
    start: int = 0
    bare: bool = True


def read_blocks(text: str) -> list[Section]:
    """The sections of results in a text; a result ends where the next one begins.

    Without any address, results are several titles and texts with a label each.
    """
    return _Reader(text).read()


class _Reader:
    """Reads lines in order.

    `_label` is the column of the last label of the current result, `_below` the next line that is not blank,
    `_waiting` a line of text that is the title if an address follows, `_above` the lines of its paragraph above it,
    `_marked` whether the current result began with a mark: a number, a heading or a link.
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
        self._following = self._below = ""
        self._gap = self._titled_by_label = self._marked = False

    def read(self) -> list[Section]:
        below = self._below_each_line()
        for line, following in zip_longest(self._lines, self._lines[1:], fillvalue=""):
            self._following, self._below = following, below.pop()
            self._read_line(line.rstrip())
            self._at += len(line)
        self._finish()
        found = [section for section in self._sections if section.items]
        if not found and len(self._described) > 1:
            return [Section(None, self._described, bare=False)]
        return found

    def _below_each_line(self) -> list[str]:
        """The next line that is not blank below each line, from the last line to the first."""
        below = [""]
        for line in reversed(self._lines):
            below.append(line.rstrip() or below[-1])
        return below[:-1]

    def _read_line(self, line: str) -> None:
        if not line:
            self._gap = True
            return
        if line.startswith("REMINDER") or is_numbering(line):
            self._finish()
            return
        is_long = len(line) > _LONGEST_LINE
        if not is_long and self._continue_value(line):
            return
        label = label_in(line)
        if is_long:
            # So long a line can only be labelled text or its continuation.
            self._labelled(*label) if label else self._add_text(line)
        elif not (label and label[1]) and (kind := heading_in(line)):
            self._finish()
            self._sections.append(Section(kind))
        elif not (label and self._on_one_line(line)):
            self._read_short(line, label)
        self._gap = False

    def _read_short(self, line: str, label: tuple[str, str] | None) -> None:
        is_linked = "://" in line
        if label:
            self._labelled(*label)
        elif self._titled_by_label and "url" in self._item and not self._may_begin():
            self._add_text(line)
        elif is_rule(line):
            self._finish()
        elif is_linked and (link := link_in(line)):
            self._linked(link)
        elif is_linked and (url := address_in(line)):
            self._address(url, line)
        elif is_linked and self._lacks_address() and (url := labelled_address_in(line)):
            self._labelled("url", url)
        elif not self._item and (announced := _announced_label_in(line)):
            self._labelled(*announced)
        elif title := title_in(line):
            self._titled(title, line)
        else:
            self._add_text(line)

    def _may_begin(self) -> bool:
        """Whether an address may begin a result here, as it began the first."""
        return self._gap and self._opener == "address"

    def _lacks_address(self) -> bool:
        return "title" in self._item and "url" not in self._item

    def _continue_value(self, line: str) -> bool:
        """Add a line that continues a folded or quoted YAML value."""
        column = self._label or ""
        value = self._item.get(column, "") if column in ("title", "snippet") else ""
        if not value or len(value) > _MOST_FOLDED:
            return False
        quoted = is_open(value)
        if not quoted and not (column == "title" and len(value) >= _FOLDED and line[:2].isspace()):
            return False
        if label_in(line):
            return False
        whole = f"{value.removesuffix(chr(92))} {line.strip()}"
        self._item[column] = scalar(whole) if quoted else whole
        return True

    def _on_one_line(self, line: str) -> bool:
        """Add a result whose labels are all on this line."""
        item = labels_on_one_line(line) if "://" in line else None
        if item is None:
            return False
        self._finish()
        self._begin = self._at
        self._item = {name: scalar(value) for name, value in item.items()}
        self._finish()
        return True

    def _linked(self, link: dict[str, Any]) -> None:
        """Begin the result of a link, or add the address of the current one if the link says nothing else."""
        if self._lacks_address() and link["title"].casefold().rstrip(" .…→»>") in _ONLY_LINKS:
            self._labelled("url", link["url"])
            return
        self._finish()
        self._begin, self._marked = self._at, True
        self._item = link

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
        if self._label == "snippet" and "url" in self._item and not self._may_begin():
            self._add_text(line)
            return
        if "url" in self._item:
            self._finish()
        if not self._item:
            self._begin = self._at
            self._opener = self._opener or "address"
        if "title" not in self._item and self._waiting and not self._gap:
            self._item["title"] = self._waiting
            above = self._above if not self._following.strip() else []
            if 0 < len(above) < _LONGEST_PARAGRAPH:
                # An address that ends a paragraph is below the title and the text.
                self._item |= {"title": above[0], "snippet": "\n".join([*above[1:], self._waiting])}
        self._waiting = None
        self._item["url"] = url
        self._label = None

    def _titled(self, title: str, line: str) -> None:
        in_text = self._label == "snippet" and not self._gap and "url" in self._item
        if in_text and not _has_address(self._following):
            self._add_text(line)
            return
        self._finish()
        self._begin, self._marked = self._at, True
        self._item["title"] = title.strip("*#=- ")

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
            before = self._waiting if not self._item and not self._gap else None
            above = [*self._above, before] if before else []
            self._finish()
            self._above = above[-_LONGEST_PARAGRAPH:]
            self._waiting = None if line.endswith(_ANNOUNCES) else plain_title(line)

    def _ends(self, line: str) -> bool:
        """Whether a line of text belongs to the next result."""
        if self._gap and "url" in self._item and line.endswith(_ANNOUNCES):
            return "snippet" in self._item or _begins_result(self._below)
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


def _announced_label_in(line: str) -> tuple[str, str] | None:
    """The label of the first result on the line that announces the results, such as `Search results: Title: …`."""
    found = _ANNOUNCED.match(line)
    return label_in(line[found.end() :]) if found else None


def _begins_result(line: str) -> bool:
    """Whether a line has the title or the address of a result."""
    label = label_in(line)
    return (
        (label is not None and label[0] in ("title", "url"))
        or address_in(line) is not None
        or link_in(line) is not None
        or title_in(line) is not None
    )


def _has_address(line: str) -> bool:
    """Whether a line is the address of a result, with or without a label."""
    if "://" not in line:
        return False
    label = label_in(line.rstrip())
    return label[0] == "url" if label else address_in(line.rstrip()) is not None
