"""Search result artifacts as a table of results, with what was found below."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec
from rich.cells import cell_len
from textual.content import Content, Span

from core.events.tool_names import tool_name
from core.events.units import quantity
from core.text import clean, clean_line
from tui.render.format import middle_cut, tail_cut
from tui.render.markdown import MarkdownTheme
from tui.viewers.bodies.json_text import complete_json, style_json_line
from tui.viewers.bodies.json_values import Value, kind_of, open_level
from tui.viewers.bodies.markdown import MarkdownBody
from tui.viewers.bodies.table import GAP, Column, Table, TableView
from tui.viewers.bodies.text import TextBody
from tui.viewers.contract import Declined, Sample, View, Viewer
from tui.viewers.cursor_body import BodyCommand, CopyText, KeyHint, OpenArticle, OpenLink, Outcome
from tui.viewers.document import Body, Match, find_in_rows, joined

__all__ = ["VIEWER", "Hit", "ResultsTable", "hits_in"]

_LARGEST = 16 * 1024 * 1024
_PREVIEWED = 1024 * 1024
_LISTS = ("results", "articles", "news_results", "organic_results")
_CARDS_BELOW = 56
_LEAST_ADDRESS = 16
_ADDRESS_FROM = 140
_SNIPPET = 4000
_NOTE = 4


class Hit(msgspec.Struct, frozen=True):
    """One result; every field may be empty."""

    position: str
    title: str
    source: str
    date: str
    url: str
    snippet: str = ""
    article: str = ""
    words: int | None = None
    duplicate: bool = False
    truncated: bool = False

    @property
    def told(self) -> str:
        """What names it: the title, else the best there is."""
        return self.title or self.snippet or self.url

    @property
    def marks(self) -> str:
        """What is to be known of it, in a word or two."""
        return ", ".join(
            word
            for word, said in (("read", self.article), ("seen", self.duplicate), ("cut", self.truncated))
            if said
        )


def hits_in(value: Any) -> list[Hit] | None:
    """The results of an artifact, or None when it is no list of search results."""
    if not isinstance(value, dict) or not ({"tool", "query", "type"} & value.keys()):
        return None
    found = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if found is None or not all(isinstance(item, dict) for item in found):
        return None
    if found and not any({"url", "link", "title"} & item.keys() for item in found):
        return None
    return [_hit(item, place) for place, item in enumerate(found, 1)]


def _hit(item: dict[str, Any], place: int) -> Hit:
    def word(*keys: str, limit: int = 400) -> str:
        value = next((item[key] for key in keys if isinstance(item.get(key), str | int | float)), "")
        return clean_line(str(value), limit)

    url = word("url", "link", limit=2000)
    title = word("title", "name")
    words = item.get("words")
    return Hit(
        position=word("position", limit=12) or str(place),
        title=title if title and title != url else "",
        source=word("source", "publisher", "site") or _host(url),
        date=word("date", "published_date", "published")[:32],
        url=url,
        snippet=word("snippet", "content", "description", limit=_SNIPPET),
        article=word("article", limit=1000),
        words=words if isinstance(words, int) else None,
        duplicate=item.get("duplicate") is True,
        truncated=item.get("truncated") is True,
    )


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


class _Cells:
    def __init__(self, hits: Sequence[Hit]) -> None:
        self._hits = hits

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, number: int) -> Sequence[str]:
        hit = self._hits[number]
        # The day is what tells results apart; the hour is in the detail.
        return (hit.position, hit.told, hit.source, hit.date[:10], hit.marks, bare(hit.url))


class ResultsTable(Table):
    """Results as a table where there is room, else as two-line cards; `answer` is the provider's own, as Markdown."""

    def __init__(self, hits: Sequence[Hit], notes: Sequence[tuple[str, str]] = (), answer: str = "") -> None:
        marked = any(hit.marks for hit in hits)
        columns = [
            Column("#", "dim", widest=6),
            Column("Title", widest=110),
            Column("Source", widest=24),
            Column("Date", "dim", widest=10),
            Column("Note" if marked else "", "dim", widest=16 if marked else 0),
            Column("Address", "link", ends_tell=True, widest=70),
        ]
        super().__init__(columns, _Cells(hits), notes=notes)
        self.nothing = "No results."
        # Only the first results were measured; the last have the longest numbers.
        self.natural[0] = min(columns[0].widest, max([3, *(cell_len(hit.position) for hit in hits)]))
        if not any(hit.date for hit in hits):
            self.natural[3] = 0
        if not marked:
            self.natural[_NOTE] = 0
        self.hits = hits
        self.answer = answer
        self.column = 1
        self._answering = bool(answer)
        self._answered_at = 0

    @property
    def keys(self) -> Sequence[KeyHint]:
        """Opening, sorting and filtering."""
        keys = [KeyHint("Enter", "open link", "open")]
        if any(hit.article for hit in self.hits):
            keys.append(KeyHint("a", "article", "article"))
        if self.answer:
            keys.append(KeyHint("A", "answer", "answer"))
        keys += [
            KeyHint("s", "sort", "sort"),
            KeyHint("f", "filter", "ask_filter"),
            KeyHint("←→", "column", "unfold"),
        ]
        return (*keys, KeyHint("c", "copy link", "copy"))

    def lay_out(self, width: int, theme: MarkdownTheme) -> TableView:
        """Choose the form."""
        return ResultRows(self, width) if width >= _CARDS_BELOW else CardRows(self, width)

    def execute(self, command: BodyCommand) -> Outcome:
        """Open, copy, or what every table does."""
        hit = self.hits[self.record] if self.record is not None else None
        match command.name:
            case "open" if hit is not None and hit.url:
                return OpenLink(hit.url)
            case "copy" if hit is not None and hit.url:
                return CopyText("link", hit.url)
            case "article" if hit is not None:
                return OpenArticle(hit.article)
            case "answer" if self.answer:
                self._answering = not self._answering or self.cursor != self._answered_at
                self._answered_at = self.cursor
                return True
            case _:
                return super().execute(command)

    def holds(self, number: int, wanted: str) -> bool:
        """Whether a result has a text in title, source, date, address or snippet."""
        hit = self.hits[number]
        return any(
            wanted in text.casefold()
            for text in (hit.title, hit.source, hit.date, hit.url, hit.snippet, hit.marks)
        )

    def detail(self) -> Body | None:
        """What was found, and what is to be known of it; the provider's answer when that is asked for."""
        if self._answering and self.cursor == self._answered_at:
            return MarkdownBody(self.answer)
        if self.record is None:
            return None
        hit = self.hits[self.record]
        known = [hit.source, hit.date.replace("T", " ")]
        if hit.article:
            known.append(
                f"read in full{f', {hit.words:,} words' if hit.words is not None else ''} (a opens it)"
            )
        if hit.duplicate:
            known.append("the session had this address before")
        if hit.truncated:
            known.append("cut off in its last field")
        text = "\n".join((hit.told, " · ".join(part for part in known if part), hit.url, hit.snippet))
        return TextBody(text.rstrip("\n"), style=_style_detail)


class ResultRows(TableView):
    """Results as a table of fixed columns: none is ever out of sight but the address."""

    _table: ResultsTable

    def columns(self) -> tuple[int, list[int], str]:
        """All columns, the address only in a wide view."""
        count = len(self._table.columns) - (self._width < _ADDRESS_FROM)
        return 0, self.fit(0, count, self._width), ""

    def role(self, number: int, column: int) -> str:
        """The role of a cell; what was cut off is told in the colour of warnings."""
        cut = column == _NOTE and self._table.hits[number].truncated
        return "warn" if cut else super().role(number, column)


class CardRows(TableView):
    """Results as cards of two lines with an empty one between."""

    _table: ResultsTable

    def __init__(self, table: ResultsTable, width: int) -> None:
        super().__init__(table, width)
        self.head = len(table.notes) + bool(table.notes)
        self._number = max((cell_len(hit.position) for hit in table.hits), default=1)

    def __len__(self) -> int:
        """Three rows a result."""
        return self.head + max(1, self._table.entries * 3 - 1)

    def row(self, y: int) -> Content:
        """Row `y`."""
        table = self._table
        if y < len(table.notes) or not table.entries:
            return super().row(min(y, len(table.notes)) if y < len(table.notes) else self.head)
        if y < self.head:
            return Content("")
        place, part = divmod(y - self.head, 3)
        hit = table.hits[table.order[place]]
        indent = self._number + GAP
        room = max(4, self._width - indent)
        match part:
            case 0:
                blank = " " * (self._number - cell_len(hit.position))
                return joined([(f"{blank}{hit.position}  ", "dim"), (tail_cut(hit.told, room), "strong")])
            case 1:
                told = " · ".join(
                    part for part in (tail_cut(hit.source, 24), hit.date[:10], hit.marks) if part
                )
                told = tail_cut(told + "  " if told else "", room)
                whole, rest = bare(hit.url), max(0, room - cell_len(told))
                address = middle_cut(whole, rest)
                fits = rest >= min(cell_len(whole), _LEAST_ADDRESS)
                return joined([(" " * indent, ""), (told, "dim"), (address if fits else "", "link")])
            case _:
                return Content("")

    def find(self, needle: str) -> list[Match]:
        """Every place of `needle` that is seen."""
        return find_in_rows(self, needle)

    def span(self, entry: int) -> tuple[int, int]:
        """An entry is two rows."""
        return (self.head + entry * 3, 2)

    def entry_at(self, y: int) -> int | None:
        """The result of a row."""
        place, part = divmod(y - self.head, 3)
        return place if y >= self.head and part < 2 and place < self._table.entries else None

    def command_at(self, x: int, y: int) -> BodyCommand | None:
        """Cards have no titles to sort by."""
        return None


def bare(url: str) -> str:
    """An address without what every address has."""
    return url.removeprefix("https://").removeprefix("http://").removeprefix("www.").removesuffix("/")


def _notes(value: dict[str, Any], hits: Sequence[Hit]) -> list[tuple[str, str]]:
    def word(key: str, limit: int = 300) -> str:
        found = value.get(key)
        return (
            clean_line(str(found), limit)
            if isinstance(found, str | int) and not isinstance(found, bool)
            else ""
        )

    notes: list[tuple[str, str]] = []
    if query := word("query"):
        notes.append((query, "strong"))
    parts = [tool_name(word("tool")).short if word("tool") else "", word("type", 40)]
    with suppress(ValueError, OverflowError):
        parts.append(datetime.fromisoformat(word("timestamp")).astimezone().strftime("%Y-%m-%d %H:%M"))
    parts.append(quantity(len(hits), "result"))
    parts += [
        f"{word(key)} {told}"
        for key, told in (
            ("url_count", "addresses"),
            ("duplicates", "seen before"),
            ("rejected", "rejected"),
        )
        if word(key) not in {"", "0"}
    ]
    notes.append((" · ".join(part for part in parts if part), "dim"))
    if error := word("error", 1000):
        notes.append((f"✗ The search failed: {error}", "bad"))
    if value.get("truncated") is True:
        notes.append(("… The answer was cut off; the results that were complete are here.", "warn"))
    if value.get("preview") is True:
        notes.append(("… The provider gave a preview instead of all its data.", "warn"))
    return notes


def _view(sample: Sample) -> View:
    data = sample.data.removeprefix(b"\xef\xbb\xbf")
    value = _members(data if sample.complete else complete_json(data))
    hits = hits_in(value)
    if hits is None:
        raise Declined
    answer = value.get("answer")
    told = clean(answer).strip() if isinstance(answer, str) else ""
    count = quantity(len(hits), "result")
    notes = _notes(value, hits)
    if not sample.complete:
        notes.append((f"… The first {count}; the file goes on.", "warn"))
        count = f"at least {count}"
    raw = TextBody(sample.beginning, style=style_json_line)
    table = ResultsTable(hits, notes, told)
    return View("Search results", raw, table, (count,), all_rendered=sample.complete)


def _members(data: bytes) -> Any:
    """The document, its results read one by one: reading a large one at once would keep other threads waiting."""
    names, values = open_level(data.strip()) or (None, ())
    if names is None:
        raise Declined
    found = dict(zip(names, values, strict=True))
    return {name: _read(value, apart=name in _LISTS) for name, value in found.items()}


def _read(value: Value, *, apart: bool) -> Any:
    if apart and kind_of(value) == "list" and (level := open_level(value)) is not None:
        return [_read(item, apart=False) for item in level[1]]
    return msgspec.json.decode(memoryview(value))


def _style_detail(number: int, line: str) -> list[Span]:
    role = ("strong", "dim", "link")[number] if number < 3 else ""
    return [Span(0, len(line), role)] if role else []


def _accepts(sample: Sample) -> bool:
    if sample.suffix != ".json":
        return False
    return any(f'"{key}"'.encode() in sample.data for key in _LISTS)


VIEWER = Viewer("search results", _accepts, _view, priority=60, limit=_LARGEST, preview_limit=_PREVIEWED)
