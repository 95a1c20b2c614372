"""Search result artifacts as a table of results: title, source, date, address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from rich.cells import cell_len
from textual.content import Content, Span

from core.text import clean, clean_line
from tui.format import middle_cut, tail_cut
from tui.markdown import MarkdownTheme
from tui.viewers.document import Body, JoinedBody, Match, find_in_rows
from tui.viewers.json_text import json_body
from tui.viewers.markdown_body import MarkdownBody
from tui.viewers.registry import Declined, Sample, View, Viewer
from tui.viewers.text_body import TextBody

__all__ = ["VIEWER", "Hit", "ResultsBody", "hits_in"]

_LISTS = ("results", "articles", "news_results", "organic_results")
_TABLE_FROM = 96
_GAP = 2


class Hit(msgspec.Struct, frozen=True):
    """One result; every field may be empty."""

    title: str
    source: str
    date: str
    url: str
    snippet: str = ""


def hits_in(value: Any) -> list[Hit] | None:
    """The results of an artifact, or None when it is no list of search results."""
    if not isinstance(value, dict) or not ({"tool", "query", "type"} & value.keys()):
        return None
    found = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if found is None or not all(isinstance(item, dict) for item in found):
        return None
    if found and not any({"url", "link", "title"} & item.keys() for item in found):
        return None
    return [_hit(item) for item in found]


def _hit(item: dict[str, Any]) -> Hit:
    def word(*keys: str, limit: int = 400) -> str:
        value = next((item[key] for key in keys if isinstance(item.get(key), str | int | float)), "")
        return clean_line(str(value), limit)

    url = word("url", "link", limit=2000)
    title = word("title", "name")
    source = word("source", "publisher", "site")
    return Hit(
        title=title if title and title != url else "",
        source=source or _host(url),
        date=word("date", "published_date", "published")[:24],
        url=url,
        snippet=word("snippet", "content", "description", limit=600),
    )


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


class ResultsBody:
    """Results as a table where there is room, else as two-line cards."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = hits

    def lay_out(self, width: int, theme: MarkdownTheme) -> ResultRows:
        """Choose the form and the column widths."""
        return ResultRows(self.hits, width)


class ResultRows:
    """The rows of search results."""

    def __init__(self, hits: Sequence[Hit], width: int) -> None:
        self._hits = hits
        self._width = width
        self._wide = width >= _TABLE_FROM
        self._number = len(str(len(hits)))
        self._date = min(16, max((cell_len(hit.date) for hit in hits), default=0))
        self._source = min(24, max((cell_len(hit.source) for hit in hits), default=0))
        self._title = max((cell_len(_told(hit)) for hit in hits), default=20)
        self._address = max((cell_len(_bare(hit.url)) for hit in hits), default=20)

    def __len__(self) -> int:
        """Two rows of heading and one a result as a table, three rows a result as cards."""
        return len(self._hits) + 2 if self._wide else max(1, len(self._hits) * 3 - 1)

    def row(self, y: int) -> Content:
        """Row `y`."""
        if not self._hits and y >= len(self) - 1:
            return Content("No results.", [Span(0, 11, "dim")])
        return self._table_row(y) if self._wide else self._card_row(y)

    def find(self, needle: str) -> list[Match]:
        """Every place of `needle` that is seen."""
        return find_in_rows(self, needle)

    def _table_row(self, y: int) -> Content:
        fixed = self._number + self._source + self._date + _GAP * (2 + bool(self._source) + bool(self._date))
        room = max(20, self._width - fixed)
        title_width = min(self._title, max(room * 3 // 5, room - self._address))
        address_width = min(self._address, room - title_width)
        columns = [
            (self._number, ">", "dim"),
            (title_width, "<", ""),
            (self._source, "<", ""),
            (self._date, "<", "dim"),
        ]
        columns.append((address_width, "<", "link"))
        if y == 0:
            cells = ["#", "Title", "Source", "Date", "Address"]
            return _cells(columns, cells, role="strong")
        if y == 1:
            rule = "─" * min(self._width, fixed + title_width + address_width)
            return Content(rule, [Span(0, len(rule), "dim")])
        hit = self._hits[y - 2]
        return _cells(columns, [str(y - 1), _told(hit), hit.source, hit.date, _bare(hit.url)])

    def _card_row(self, y: int) -> Content:
        index, part = divmod(y, 3)
        hit = self._hits[index]
        indent = self._number + _GAP
        room = max(4, self._width - indent)
        match part:
            case 0:
                title = tail_cut(_told(hit), room)
                return _assemble([(f"{index + 1:>{self._number}}  ", "dim"), (title, "strong")])
            case 1:
                told = " · ".join(part for part in (tail_cut(hit.source, 24), hit.date) if part)
                told = told + "  " if told else ""
                address = middle_cut(_bare(hit.url), max(4, room - cell_len(told)))
                return _assemble([(" " * indent, ""), (told, "dim"), (address, "link")])
            case _:
                return Content("")


def _told(hit: Hit) -> str:
    return hit.title or hit.snippet or hit.url


def _bare(url: str) -> str:
    return url.removeprefix("https://").removeprefix("http://").removeprefix("www.").removesuffix("/")


def _cells(columns: Sequence[tuple[int, str, str]], cells: Sequence[str], role: str = "") -> Content:
    parts: list[tuple[str, str]] = []
    for (width, align, own_role), cell in zip(columns, cells, strict=True):
        if not width:
            continue
        cut = middle_cut(cell, width) if own_role == "link" else tail_cut(cell, width)
        blank = " " * (width - cell_len(cut))
        if parts:
            parts.append((" " * _GAP, ""))
        parts += [
            (blank if align == ">" else "", ""),
            (cut, role or own_role),
            (blank if align != ">" else "", ""),
        ]
    return _assemble(parts)


def _assemble(parts: Sequence[tuple[str, str]]) -> Content:
    spans: list[Span] = []
    at = 0
    for text, role in parts:
        if role and text:
            spans.append(Span(at, at + len(text), role))
        at += len(text)
    return Content("".join(text for text, _ in parts), spans)


def _view(sample: Sample) -> View:
    value = msgspec.json.decode(sample.data)
    hits = hits_in(value)
    if hits is None:
        raise Declined
    raw = json_body(sample.data)
    bodies: list[Body] = []
    heading = "\n".join(
        f"{name.capitalize()}: {clean_line(str(value[name]), 300)}"
        for name in ("query", "tool")
        if isinstance(value.get(name), str) and value[name]
    )
    if heading:
        bodies.append(TextBody(heading + "\n\n", style=_style_heading))
    if isinstance(answer := value.get("answer"), str) and answer.strip():
        bodies.append(MarkdownBody(clean(answer)))
        bodies.append(TextBody("\n\n"))
    bodies.append(ResultsBody(hits))
    count = f"{len(hits):,} result{'' if len(hits) == 1 else 's'}"
    return View("Search results", raw, JoinedBody(tuple(bodies)), (count,))


def _style_heading(number: int, line: str) -> list[Span]:
    return [Span(0, line.find(":") + 1, "dim")]


def _wants(sample: Sample) -> bool:
    if sample.suffix != ".json":
        return False
    return any(f'"{key}"'.encode() in sample.data for key in _LISTS)


VIEWER = Viewer("search results", _wants, _view, whole=True)
