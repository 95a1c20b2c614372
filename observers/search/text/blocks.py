"""Results in blocks of lines: labelled fields, and titles with an address and a text below them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from html import escape, unescape

import msgspec

from ua_tui.core.json_values import JsonObject
from ua_tui.observers.decoding.lenient import JSON
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.sanitise import NO_VALUE
from ua_tui.observers.search.text.lines import (
    ONLY_LINKS,
    PAGE,
    address_in,
    column_of,
    heading_in,
    is_divider,
    label_in,
    link_in,
    plain_title,
    title_in,
)

_FOLDED, _MOST_FOLDED = 60, 2000
_ANNOUNCES = (":", "：")
"""The end of a line that says what follows: it is neither a title nor the text of the result before."""
_BULLETS = ("- ", "* ", "• ")
_OPEN_TEXTS = ("snippet", "raw_content")
_IDENTIFIERS = frozenset(("result_id", "arxiv_id", "doi", "pmid"))
_ABOUT_RESULTS = re.compile(r"\b(?:results?|search|summar\w+)\b", re.IGNORECASE)


class Section(msgspec.Struct):
    """The results under one heading: its kind, if it has one, and the offset of the first result in the text."""

    kind: str | None = None
    items: list[JsonObject] = []
    start: int = 0
    bare: bool = True


def read_blocks(text: str) -> list[Section]:
    """The sections of results in a text; a result ends where the next one begins.

    Without any address, results are several titles and texts with a label each.
    """
    return _Reader().read(text)


class _Reader:
    """Reads lines in order.

    `_label` is the column of the last label of the current result, `_texts` the lines of its texts by the column,
    `_said` its text without a label, and `_paragraph` the lines of which the first is the title if an address follows.
    """

    def __init__(self) -> None:
        self._sections = [Section()]
        self._described: list[JsonObject] = []
        self._begin = self._at = 0
        self._gap = False
        # The title above the fields of a result, when a blank line is between them.
        self._heading: str | None = None
        self._clear()

    def _clear(self) -> None:
        self._item: JsonObject = {}
        self._texts: dict[str, list[str]] = {}
        self._said: list[str] = []
        self._paragraph: list[str] = []
        self._label: str | None = None
        self._titled_by_label = False

    def read(self, text: str) -> list[Section]:
        for line in text.splitlines(keepends=True):
            self._read_line(line.rstrip())
            self._gap = not line.strip()
            self._at += len(line)
        self._finish()
        found = [section for section in self._sections if section.items]
        if not found and len(self._described) > 1:
            return [Section(None, self._described, bare=False)]
        return found

    def _read_line(self, line: str) -> None:
        if not line:
            return
        label = label_in(line)
        if is_divider(line):
            self._finish()
            self._heading = None
        elif (kind := heading_in(line)) and not (label and label[1]):
            self._finish()
            self._sections.append(Section(kind))
        elif label:
            self._add_label(*label)
        elif len(line) > 4000 or (self._titled_by_label and "url" in self._item):
            # So long a line can only continue a text, and what has labels has one for each field.
            self._add_text(line)
        elif "://" in line and (link := link_in(line)):
            is_only_link = link["title"].casefold().rstrip(" .…→»>") in ONLY_LINKS
            if is_only_link and "title" in self._item and "url" not in self._item:
                self._add_label("url", link["url"])
            else:
                self._begin_item(link)
        elif "://" in line and (url := address_in(line)):
            self._add_address(url, line)
        elif title := title_in(line):
            self._begin_item({"title": title})
            self._heading = title if line.startswith("##") and not _ABOUT_RESULTS.search(title) else None
        else:
            self._add_text(line)

    def _begin_item(self, item: JsonObject) -> None:
        self._finish()
        self._item, self._begin = item, self._at

    def _add_label(self, column: str, value: str) -> None:
        if column == PAGE and "url" not in self._item and "title" in self._item:
            column = "url"
        if column == "url":
            link = link_in(value)
            value = link["url"] if link else value.strip("<>")
            if value == self._item.get("url"):
                return
        # A field behind a blank line begins another result if it is the first of each.
        is_first = self._gap and column == next(iter(self._item), None)
        if is_first or (column in ("title", "url") and column in self._item):
            self._finish()
        if not self._item:
            self._begin = self._at
        if column != "title" and "title" not in self._item:
            above = self._paragraph[-1] if self._paragraph and not self._gap else ""
            if above and "**" not in above:
                self._item["title"] = plain_title(above)
            elif self._heading:
                self._item["title"] = self._heading
        self._paragraph = []
        self._titled_by_label = self._titled_by_label or column == "title"
        self._label = f"{column}_more" if column in self._item else column
        self._item[self._label] = "" if value in (">", ">-", "|", "|-") else value

    def _add_address(self, url: str, line: str) -> None:
        if "url" in self._item:
            if self._label == "snippet":
                self._add_text(line)
                return
            self._finish()
        if not self._item:
            self._begin = self._at
        if self._paragraph and not self._gap and "title" not in self._item:
            self._item["title"] = plain_title(self._paragraph[0])
            self._said = self._paragraph[1:]
        self._item["url"] = url
        self._paragraph, self._label = [], None

    def _add_text(self, line: str) -> None:
        """Handle a line of plain text: it continues a field, is the text of a result, or may be the next title."""
        text, item = line.strip(), self._item
        if self._label in _OPEN_TEXTS:
            self._texts.setdefault(self._label, []).append(text)
        elif self._label == "title" and line[:2].isspace() and _FOLDED <= len(item["title"]) <= _MOST_FOLDED:
            # YAML folds long values.
            item["title"] += f" {text}"
        elif self._titled_by_label and "url" in item and not (self._said or self._gap):
            return
        elif ("url" in item or ("title" in item and not self._gap)) and not self._ends(line):
            self._said.append(text)
        else:
            above = [] if item or self._gap else self._paragraph
            self._finish()
            is_title = len(above) < 5 and not line.endswith(_ANNOUNCES)
            self._paragraph = [*above, text] if is_title else []

    def _ends(self, line: str) -> bool:
        """Whether a line of text no longer belongs to the result above it."""
        if line.startswith(_BULLETS):
            return "url" in self._item
        items = self._sections[-1].items
        is_described = self._said or "snippet" in self._item or (items and "snippet" not in items[-1])
        return self._gap and bool(is_described or line.endswith(_ANNOUNCES))

    def _finish(self) -> None:
        item = self._item
        for column, lines in self._texts.items():
            item[column] = "\n".join([item[column], *lines]).strip()
        if self._said:
            item.setdefault("snippet", "\n".join(self._said))
        item |= {column: _unquoted(item[column]) for column in ("title", "snippet") if column in item}
        item = {column: value for column, value in item.items() if value not in NO_VALUE}
        if not is_web_url(item.get("url")) and is_web_url(item.get("source")):
            item["url"] = item.pop("source")
        if is_web_url(item.get("url")):
            section = self._sections[-1]
            if not section.items:
                section.start = self._begin
            section.bare = section.bare and item.keys() == {"url"}
            section.items.append(item)
            self._heading = None
        elif "title" in item and (
            (self._titled_by_label and "snippet" in item) or not _IDENTIFIERS.isdisjoint(item)
        ):
            self._described.append(item)
        self._clear()


def _unquoted(value: str) -> str:
    """A value without the quotes of YAML."""
    if value[:1] == value[-1:] == "'" and len(value) > 1:
        return value[1:-1].replace("''", "'")
    if value[:1] == value[-1:] == '"':
        with suppress(ValueError):
            return str(JSON.decode(value))
    return value


_NAMES = "item|entry|result|document|search_result|search-result|web_page|webpage|hit"
_OPENING = re.compile(rf"<(?:{_NAMES})(?=[\s>])", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{_NAMES})>", re.IGNORECASE)
_PART = re.compile(r"<([a-z][\w:-]{0,40})\b([^<>]{0,2000})>([^<]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b([a-z][\w:-]{0,40})=(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_CDATA = re.compile(r"<!\[CDATA\[((?:[^<]|<(?!!\[CDATA\[))*?)\]\]>")
_AUTHOR = re.compile(r"<author>\s*<name>([^<]*)</name>", re.IGNORECASE)


def sections_in_text(text: str) -> list[Section]:
    """The sections of results in a text, one per vertical; items have `title`, `url` and other fields."""
    if len(text) > (4 << 20):
        return []
    found = list(_elements_in(text)) or list(_rows_in(text))
    return [Section(None, found, 0, bare=False)] if found else read_blocks(text)


def _elements_in(text: str) -> Iterator[JsonObject]:
    """The results of a text that are elements with an address: what is before each closing tag."""
    text = _CDATA.sub(lambda section: escape(section[1], quote=False), text)
    for whole in _CLOSING.split(text)[:-1] if "</" in text else ():
        openings = list(_OPENING.finditer(whole))
        if openings and is_web_url((item := _element(whole[openings[-1].start() :])).get("url")):
            yield item


def _element(text: str) -> JsonObject:
    item: JsonObject = {}
    # The name of an author would else be taken for that of the result.
    for number, (name, attributes, text_after) in enumerate(_PART.findall(_AUTHOR.sub(r"<author>\1", text))):
        own = {
            key.lower(): (double or single).strip() for key, double, single in _ATTRIBUTE.findall(attributes)
        }
        if number == 0:
            item |= {column_of(key) or key: unescape(value) for key, value in own.items()}
        column = "snippet" if number == 0 else column_of(name) or name
        value = own.get("href", text_after) if column == "url" else text_after
        # What is left may be HTML, which is read like that of other results.
        value = value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()
        if column == "author" and column in item:
            item[column] += f", {value}"
        elif value:
            item.setdefault(column, value)
    if not is_web_url(item.get("url")):
        item["url"] = next((item[key] for key in ("source", "result_id") if is_web_url(item.get(key))), None)
    return item


def _rows_in(text: str) -> Iterator[JsonObject]:
    """The rows of the tables of Markdown in a text that have a column of addresses or links."""
    names: list[str] = []
    for line in text.splitlines() if "://" in text else ():
        if not line.lstrip().startswith("|"):
            names = []
            continue
        cells = [
            cell.strip().replace("\0", "|")
            for cell in line.replace("\\|", "\0").strip().strip("|").split("|")
        ]
        if not names:
            names = [column_of(cell) or cell.strip("* ").lower() for cell in cells]
            continue
        item: JsonObject = {}
        for column, cell in zip(names, cells, strict=False):
            if link := link_in(cell):
                item = link | item
            elif cell and not (column == "url" and "url" in item):
                item[column] = cell.strip("<>") if column == "url" else cell
        if is_web_url(item.get("url")):
            yield item
