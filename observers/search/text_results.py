"""Search results written as text: labelled blocks, lists of links, tables, and elements in angle brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from observers.decoding.urls import is_web_url
from observers.search.keys import KINDS, fold

__all__ = ["Section", "sections_in_prose"]

_MAX_PROSE = 4 << 20
_LABELS = {
    label: column
    for column, labels in {
        "title": "title, name, headline",
        "url": "url, link, href, source url, url source",
        "snippet": "description, content, summary, snippet, snippets, text, highlights, code/highlights, abstract",
        "date": "published, published date, publication date, date, date published, published at",
        "age": "age",
        "author": "author, authors",
        "source": "source",
        "publisher": "publisher",
        "site": "site, site name, domain",
        "score": "score, relevance score",
        "result_id": "id",
        "raw_content": "raw content",
        "rank": "position, rank",
        "engines": "engine, engines",
        "category": "category",
        "language": "language",
        "favicon": "favicon",
        "image": "image, image url, thumbnail",
        "doi": "doi",
        "pdf": "pdf, pdf url",
        "price": "price",
        "rating": "rating",
        "location": "location, address",
        "company": "company",
        "salary": "salary",
        "duration": "duration",
        "views": "views",
        "journal": "journal, venue",
        "cited": "citations, cited by",
    }.items()
    for label in labels.split(", ")
}
_LEAD = r"^[^\w\[<>|]{0,12}(?:\[?\d{1,3}[\]).:]\s{0,4})?[^\w\[<>|]{0,12}"
_ANY_LABEL = "|".join(sorted(map(re.escape, _LABELS), key=len, reverse=True))
_LABEL = re.compile(
    rf"{_LEAD}(?P<label>{_ANY_LABEL})\**\s*:\**[ \t]*(?P<value>.*)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^[ \t]{0,12}(?:#{1,4} +)?\*{0,3}\[?\d{1,3}[\]).:]{1,2}\*{0,3} +(?P<title>\S.*)$")
_HEADING = re.compile(r"^(?:#{1,4} +|\*\*(?=.+\*\*$))(?P<title>\S.*)$")
_ITEM = r"(?:[-*•]|\[?\d{1,3}[\]).:]{1,2}) +"
_LINK = re.compile(
    rf"^[ \t]{{0,12}}(?:#{{1,4}} +)?(?:{_ITEM})?\*{{0,3}}\[(?P<title>(?:[^\[\]]|\[[^\[\]]*\])+)\]"
    r"\(<?(?P<url>https?://[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?[^)]*\)\*{0,3}(?: ?[-–—:] ?(?P<snippet>.+))?$"
)
_TRAILING = re.compile(
    rf"^[ \t]{{0,12}}{_ITEM}(?P<title>\S.*?) ?(?:[-–—:|] ?|\(|<)(?P<url>https?://[^\s<>]+?)[)>]?$"
)
_BARE_URL = re.compile(r"^[^\w\[]{0,12}(?:\[?\d{1,3}[\]).:]{0,2} +)?<?(?P<url>https?://[^\s<>]+)>?$")
_RULE = re.compile(r"^\s*([-=_*])\1{2,}\s*$")
_SECTION = re.compile(
    r"^\W*(?P<name>[a-z]+(?: and forums)?)(?: search)?(?: results)?(?: \(\d+[^)]*\))?\s*:?\W*$", re.IGNORECASE
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\[?\d{1,3}[\]).:]+)\s+")
_CELLS = re.compile(r"(?<!\\)\|")
_CELL_LINK = re.compile(r"^\[(?P<title>.*)\]\(<?(?P<url>https?://\S+?)>?\)$")
_ELEMENTS = ("item", "entry", "result", "document", "search_result")
_PART = re.compile(r"<([a-z][\w:-]{0,40})\b([^<>]{0,2000})>(?:([^<]*)</\1>)?", re.IGNORECASE)
_HREF = re.compile(r"\bhref=\"([^\"]+)\"")
_AUTHOR = re.compile(r"<author>\s*<name>([^<]*)</name>.{0,2000}?</author>", re.DOTALL)
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_IN_QUOTES = {"'": re.compile(r"'(?:[^']|'')*+'"), '"': re.compile(r'"(?:[^"\\]|\\.)*+"')}
_QUOTED_IN = {"'": re.compile(r"'(')"), '"': re.compile(r'\\(["\\/])')}
_FOLDED, _MOST_FOLDED = 60, 2000
_LONGEST_LINE = 4000
_LONGEST_HEADING = 60
_NO_VALUE = ("", "N/A", "None", "null")


@dataclass(slots=True)
class Section:
    """The results under one heading: its kind, if it has one, and the offset of the first result in the text."""

    kind: str | None = None
    items: list[dict[str, Any]] = field(default_factory=list)
    start: int = 0
    bare: bool = True


def sections_in_prose(text: str) -> list[Section]:
    """The sections of results in a text, one per vertical; items have `title`, `url` and other fields."""
    if len(text) > _MAX_PROSE:
        return []
    found = _elements(text) or _inline(text) or list(_table(text))
    if found:
        return [Section(None, found, 0, bare=False)]
    return _Reader(text).read()


def _elements(text: str) -> list[dict[str, Any]]:
    """The results in elements such as `<result>`, whose child elements are the fields."""
    items = []
    for name in _ELEMENTS:
        start = text.find(f"<{name}")
        while start >= 0 and (end := text.find(f"</{name}>", start)) >= 0:
            items.append(_element(text[start + 1 + len(name) : end]))
            start = text.find(f"<{name}", end)
    return [_cleaned(item) for item in items if is_web_url(item.get("url"))]


def _element(inner: str) -> dict[str, Any]:
    item: dict[str, Any] = {}
    # The name of an author would else be taken for that of the result.
    if authors := ", ".join(name.strip() for name in _AUTHOR.findall(inner)):
        inner = _AUTHOR.sub("", inner)
    for name, attributes, text in _PART.findall(_with_plain_sections(inner)):
        address = _HREF.search(attributes)
        item.setdefault(_LABELS.get(name.lower(), name), (address[1] if address else text).strip())
    if authors:
        item.setdefault("author", authors)
    if not is_web_url(item.get("url")):
        item["url"] = next((item[key] for key in ("source", "result_id") if is_web_url(item.get(key))), None)
    return item


def _with_plain_sections(inner: str) -> str:
    """The text with CDATA sections replaced by escaped characters."""
    pieces = []
    done = 0
    while (start := inner.find(_CDATA, done)) >= 0:
        first = start + len(_CDATA)
        if (end := inner.find(_CDATA_END, first)) < 0:
            break
        pieces += [inner[done:start], inner[first:end].replace("<", "&lt;")]
        done = end + len(_CDATA_END)
    return "".join((*pieces, inner[done:]))


def _inline(text: str) -> list[dict[str, Any]]:
    """Results written on one line: `snippet: ..., title: ..., link: ...`."""
    items = []
    for part in text.split("snippet: ")[1:]:
        snippet, _, rest = part.partition(", title: ")
        title, _, rest = rest.partition(", link: ")
        url = rest.split(maxsplit=1)[0].rstrip(",[]") if rest.strip() else ""
        if is_web_url(url):
            items.append({"title": title, "url": url, "snippet": snippet})
    return items


def _table(text: str) -> Iterator[dict[str, Any]]:
    """The rows of Markdown tables that have a column of URLs or links."""
    names: list[str] = []
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            names = []
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELLS.split(line.strip().strip("|"))]
        if not names:
            names = [cell.strip("* ").lower() for cell in cells]
            continue
        item: dict[str, Any] = {}
        for name, cell in zip(names, cells, strict=False):
            column = _LABELS.get(name, name)
            link = _CELL_LINK.match(cell)
            if link:
                item.setdefault("url", link["url"])
            value = link["title"] if link else cell
            if value and column and not (column == "url" and "url" in item):
                item[column] = value.strip("<>") if column == "url" else value
        if is_web_url(item.get("url")):
            yield item


class _Reader:
    """Reads lines in order; a result ends where the next one begins."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._sections = [Section()]
        self._item: dict[str, Any] = {}
        self._more: dict[str, list[str]] = {}
        self._begin = self._at = 0
        self._label: str | None = None
        self._opener: str | None = None
        self._waiting: str | None = None
        self._gap = self._titled_by_label = False

    def read(self) -> list[Section]:
        for line in self._lines:
            self._read_line(line.rstrip())
            self._at += len(line)
        self._finish()
        return [section for section in self._sections if section.items]

    def _read_line(self, line: str) -> None:
        if not line:
            self._gap = True
            return
        if len(line) > _LONGEST_LINE:
            self._long(line)
            return
        if line.startswith("REMINDER"):
            self._finish()
            return
        # Most lines are plain text: what an expression needs is searched for first.
        if self._continue_value(line):
            return
        label = _LABEL.match(line) if ":" in line else None
        linked = "://" in line
        if (
            len(line) <= _LONGEST_HEADING
            and (match := _SECTION.match(line))
            and fold(match["name"]) in KINDS
            and not (label and label["value"])
        ):
            self._finish()
            self._sections.append(Section(KINDS[fold(match["name"])]))
        elif label:
            self._labelled(_LABELS[label["label"].lower()], label["value"].strip())
        elif self._titled_by_label and "url" in self._item:
            self._add_text(line)
        elif _RULE.match(line):
            self._finish()
        elif linked and ((match := _LINK.match(line)) or (match := _TRAILING.match(line))):
            self._finish()
            snippet = match.groupdict().get("snippet")
            self._item = {"title": match["title"].strip("* "), "url": match["url"]} | (
                {"snippet": snippet} if snippet else {}
            )
        elif linked and (match := _BARE_URL.match(line)):
            self._address(match["url"], line)
        elif (match := _NUMBERED.match(line)) or (match := _HEADING.match(line)):
            self._titled(match["title"], line)
        else:
            self._add_text(line)
        self._gap = False

    def _continue_value(self, line: str) -> bool:
        """Add a line that continues a folded or quoted YAML value."""
        column = self._label or ""
        value = self._item.get(column, "") if column in ("title", "snippet") else ""
        if not value or len(value) > _MOST_FOLDED:
            return False
        quoted = _is_open(value)
        if not quoted and not (column == "title" and len(value) >= _FOLDED and line[:2].isspace()):
            return False
        if _LABEL.match(line):
            return False
        whole = f"{value.removesuffix(chr(92))} {line.strip()}"
        self._item[column] = _scalar(whole) if quoted else whole
        return True

    def _long(self, line: str) -> None:
        """Handle a line that is so long that it can only be labelled text or its continuation."""
        if label := _LABEL.match(line):
            self._labelled(_LABELS[label["label"].lower()], label["value"].strip())
        else:
            self._add_text(line)
        self._gap = False

    def _labelled(self, column: str, value: str) -> None:
        item = self._item
        value = value.strip("<>") if column == "url" else _scalar(value)
        if column == "url" and (link := _CELL_LINK.match(value)):
            value = link["url"]
        if column == "url" and value == item.get("url"):
            return
        if column in ("title", "url"):
            self._opener = self._opener or column
            again = column in item and (column == "url" or self._opener == "title" or "url" in item)
            if again or (column == self._opener == "title" and "url" in item):
                self._finish()
        item = self._item
        if not item:
            self._begin = self._at
        if column != "title" and "title" not in item and self._waiting and not self._gap:
            item["title"] = self._waiting
        self._waiting = None
        self._titled_by_label = self._titled_by_label or column == "title"
        item[f"{column}_more" if column in item else column] = value
        self._label = column

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
        self._waiting = None
        self._item["url"] = url
        self._label = None

    def _titled(self, title: str, line: str) -> None:
        if self._label == "snippet" and not self._gap and "url" in self._item:
            self._add_text(line)
            return
        self._finish()
        self._begin = self._at
        self._item["title"] = title.strip("*# ")

    def _add_text(self, line: str) -> None:
        """Handle a line of plain text: it continues the snippet, or may be the next title."""
        text, item = line.strip(), self._item
        if self._label in ("snippet", "raw_content"):
            self._more.setdefault(self._label, []).append(text)
        elif self._titled_by_label and "url" in item:
            return
        elif ("url" in item or ("title" in item and not self._gap)) and not self._ends(line):
            item.setdefault("snippet", "")
            self._more.setdefault("snippet", []).append(text)
        else:
            self._finish()
            self._waiting = _BULLET.sub("", line).strip("* ")

    def _ends(self, line: str) -> bool:
        """Whether a line of text belongs to the next result."""
        if self._gap and ("snippet" in self._item or self._label is not None):
            return True
        return "url" in self._item and _BULLET.match(line) is not None and not line[:1].isspace()

    def _finish(self) -> None:
        if not self._item:
            self._label = self._waiting = None
            return
        for name, lines in self._more.items():
            self._item[name] = "\n".join([self._item[name], *lines]).strip()
        item, self._item, self._label, self._waiting = _cleaned(self._item), {}, None, None
        self._more = {}
        self._titled_by_label = False
        if not is_web_url(item.get("url")) and is_web_url(item.get("source")):
            item["url"] = item.pop("source")
        if is_web_url(item.get("url")):
            section = self._sections[-1]
            if not section.items:
                section.start = self._begin
            section.bare = section.bare and item.keys() == {"url"}
            section.items.append(item)


def _scalar(value: str) -> str:
    """A YAML value without its quotes or block indicator."""
    if value in (">", ">-", "|", "|-"):
        return ""
    if len(value) > 1 and value[0] in _IN_QUOTES and _IN_QUOTES[value[0]].fullmatch(value):
        return _QUOTED_IN[value[0]].sub(lambda found: found[1], value[1:-1])
    return value


def _is_open(value: str) -> bool:
    """Whether a text begins with a quote that is not closed."""
    return value[0] in _IN_QUOTES and _IN_QUOTES[value[0]].match(value) is None


def _cleaned(item: dict[str, Any]) -> dict[str, Any]:
    if str(item.get("snippet", "")).endswith(("---", "===")):
        item["snippet"] = item["snippet"].rstrip("-=").rstrip()
    return {key: value for key, value in item.items() if value not in _NO_VALUE}
