"""Artifacts of search results as a table, with the text of the selected result below."""

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
from tui.viewers.document import Body, joined

__all__ = ["VIEWER", "Hit", "ResultsTable", "hits_in"]

_MAX_BYTES = 16 * 1024 * 1024
_PREVIEWED = 1024 * 1024
_LISTS = ("results", "articles", "news_results", "organic_results")
_TABLE_MIN_WIDTH = 56
_MIN_ADDRESS = 16
_ADDRESS_MIN_WIDTH = 140
_MAX_SNIPPET = 4000
_NOTE_COLUMN = 4


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
    def label(self) -> str:
        """The title, or the next best text if there is none."""
        return self.title or self.snippet or self.url

    @property
    def marks(self) -> str:
        """What is special about the result, in a word or two."""
        marks = (("read", self.article), ("seen", self.duplicate), ("cut", self.truncated))
        return ", ".join(mark for mark, applies in marks if applies)


def hits_in(value: Any) -> list[Hit] | None:
    """Return the results of an artifact; None if it is not a list of search results."""
    if not isinstance(value, dict) or not ({"tool", "query", "type"} & value.keys()):
        return None
    found = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if found is None or not all(isinstance(item, dict) for item in found):
        return None
    if found and not any({"url", "link", "title"} & item.keys() for item in found):
        return None
    return [_hit(item, place) for place, item in enumerate(found, 1)]


def _hit(item: dict[str, Any], place: int) -> Hit:
    def text(*keys: str, limit: int = 400) -> str:
        value = next((item[key] for key in keys if isinstance(item.get(key), str | int | float)), "")
        return clean_line(str(value), limit)

    url = text("url", "link", limit=2000)
    title = text("title", "name")
    words = item.get("words")
    return Hit(
        position=text("position", limit=12) or str(place),
        title=title if title and title != url else "",
        source=text("source", "publisher", "site") or _host(url),
        date=text("date", "published_date", "published")[:32],
        url=url,
        snippet=text("snippet", "content", "description", limit=_MAX_SNIPPET),
        article=text("article", limit=1000),
        words=words if isinstance(words, int) else None,
        duplicate=item.get("duplicate") is True,
        truncated=item.get("truncated") is True,
    )


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _cells(hit: Hit) -> Sequence[str]:
    # The day distinguishes results; the detail has the hour.
    return (hit.position, hit.label, hit.source, hit.date[:10], hit.marks, bare(hit.url))


class ResultsTable(Table):
    """Results as a table, or as cards of two lines in a narrow view; `answer` is the provider's own, as Markdown."""

    def __init__(self, hits: Sequence[Hit], notes: Sequence[tuple[str, str]] = (), answer: str = "") -> None:
        marked = any(hit.marks for hit in hits)
        columns = [
            Column("#", "dim", widest=6),
            Column("Title", widest=110),
            Column("Source", widest=24),
            Column("Date", "dim", widest=10),
            Column("Note" if marked else "", "dim", widest=16 if marked else 0),
            Column("Address", "link", cut_middle=True, widest=70),
        ]
        super().__init__(columns, list(map(_cells, hits)), notes=notes)
        self.empty_text = "No results."
        # Only the first results were measured, but the last have the longest numbers.
        self.natural[0] = min(columns[0].widest, max([3, *(cell_len(hit.position) for hit in hits)]))
        if not any(hit.date for hit in hits):
            self.natural[3] = 0
        if not marked:
            self.natural[_NOTE_COLUMN] = 0
        self.hits = hits
        self.answer = answer
        self.column = 1
        self._answering = bool(answer)
        self._answered_at = 0

    @property
    def keys(self) -> Sequence[KeyHint]:
        """The keys for opening, sorting and filtering."""
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
        """Return a table or cards."""
        return ResultRows(self, width) if width >= _TABLE_MIN_WIDTH else CardRows(self, width)

    def execute(self, command: BodyCommand) -> Outcome:
        """Open or copy a result, or execute a command of every table."""
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
        """Whether title, source, date, address or snippet of a result contain a casefolded text."""
        hit = self.hits[number]
        return any(
            wanted in text.casefold()
            for text in (hit.title, hit.source, hit.date, hit.url, hit.snippet, hit.marks)
        )

    def detail(self) -> Body | None:
        """Return the text and the properties of a result, or the provider's answer if the reader asked for it."""
        if self._answering and self.cursor == self._answered_at:
            return MarkdownBody(self.answer)
        if self.record is None:
            return None
        hit = self.hits[self.record]
        facts = [hit.source, hit.date.replace("T", " ")]
        if hit.article:
            words = f", {hit.words:,} words" if hit.words is not None else ""
            facts.append(f"read in full{words} (a opens it)")
        if hit.duplicate:
            facts.append("already found in this session")
        if hit.truncated:
            facts.append("truncated in its last field")
        text = "\n".join((hit.label, " · ".join(fact for fact in facts if fact), hit.url, hit.snippet))
        return TextBody(text.rstrip("\n"), style=_style_detail)


class ResultRows(TableView):
    """Results as a table of fixed columns; only the address may be hidden."""

    _table: ResultsTable

    def columns(self) -> tuple[int, list[int], str]:
        """Return all columns, with the address only in a wide view."""
        count = len(self._table.columns) - (self._width < _ADDRESS_MIN_WIDTH)
        return 0, self.fit(0, count, self._width), ""

    def role(self, number: int, column: int) -> str:
        """Return the role of a cell; truncated results have the colour of warnings."""
        is_truncated = column == _NOTE_COLUMN and self._table.hits[number].truncated
        return "warn" if is_truncated else super().role(number, column)


class CardRows(TableView):
    """Results as cards of two lines, with an empty line between."""

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
                return joined([(f"{blank}{hit.position}  ", "dim"), (tail_cut(hit.label, room), "strong")])
            case 1:
                facts = " · ".join(
                    fact for fact in (tail_cut(hit.source, 24), hit.date[:10], hit.marks) if fact
                )
                facts = tail_cut(facts + "  " if facts else "", room)
                address, rest = bare(hit.url), max(0, room - cell_len(facts))
                fits = rest >= min(cell_len(address), _MIN_ADDRESS)
                shown = middle_cut(address, rest) if fits else ""
                return joined([(" " * indent, ""), (facts, "dim"), (shown, "link")])
            case _:
                return Content("")

    def span(self, entry: int) -> tuple[int, int]:
        """Return the two rows of an entry."""
        return (self.head + entry * 3, 2)

    def entry_at(self, y: int) -> int | None:
        """Return the result of a row."""
        place, part = divmod(y - self.head, 3)
        return place if y >= self.head and part < 2 and place < self._table.entries else None

    def command_at(self, x: int, y: int) -> BodyCommand | None:
        """Return None: cards have no column titles to sort by."""
        return None


def bare(url: str) -> str:
    """Return an address without the parts that most addresses have."""
    return url.removeprefix("https://").removeprefix("http://").removeprefix("www.").removesuffix("/")


def _notes(value: dict[str, Any], hits: Sequence[Hit]) -> list[tuple[str, str]]:
    def text(key: str, limit: int = 300) -> str:
        found = value.get(key)
        return (
            clean_line(str(found), limit)
            if isinstance(found, str | int) and not isinstance(found, bool)
            else ""
        )

    notes: list[tuple[str, str]] = []
    if query := text("query"):
        notes.append((query, "strong"))
    parts = [tool_name(text("tool")).short if text("tool") else "", text("type", 40)]
    with suppress(ValueError, OverflowError):
        parts.append(datetime.fromisoformat(text("timestamp")).astimezone().strftime("%Y-%m-%d %H:%M"))
    parts.append(quantity(len(hits), "result"))
    parts += [
        f"{text(key)} {label}"
        for key, label in (
            ("url_count", "addresses"),
            ("duplicates", "seen before"),
            ("rejected", "rejected"),
        )
        if text(key) not in {"", "0"}
    ]
    notes.append((" · ".join(part for part in parts if part), "dim"))
    if error := text("error", 1000):
        notes.append((f"✗ The search failed: {error}", "bad"))
    if value.get("truncated") is True:
        notes.append(("… The answer was truncated; only its complete results are listed.", "warn"))
    if value.get("preview") is True:
        notes.append(("… The provider returned a preview instead of all data.", "warn"))
    return notes


def _view(sample: Sample) -> View:
    data = sample.data.removeprefix(b"\xef\xbb\xbf")
    value = _members(data if sample.complete else complete_json(data))
    hits = hits_in(value)
    if hits is None:
        raise Declined
    answer = value.get("answer")
    answer_text = clean(answer).strip() if isinstance(answer, str) else ""
    count = quantity(len(hits), "result")
    notes = _notes(value, hits)
    if not sample.complete:
        notes.append((f"… The first {count}; the file has more.", "warn"))
        count = f"at least {count}"
    raw = TextBody(sample.beginning, style=style_json_line)
    table = ResultsTable(hits, notes, answer_text)
    return View("Search results", raw, table, (count,), all_rendered=sample.complete)


def _members(data: bytes) -> Any:
    """Return the document; its results are decoded one by one, as decoding all at once would block other threads."""
    names, values = open_level(data.strip()) or (None, ())
    if names is None:
        raise Declined
    found = dict(zip(names, values, strict=True))
    return {name: _decode(value, by_item=name in _LISTS) for name, value in found.items()}


def _decode(value: Value, *, by_item: bool) -> Any:
    if by_item and kind_of(value) == "list" and (level := open_level(value)) is not None:
        return [_decode(item, by_item=False) for item in level[1]]
    return msgspec.json.decode(memoryview(value))


def _style_detail(number: int, line: str) -> list[Span]:
    role = ("strong", "dim", "link")[number] if number < 3 else ""
    return [Span(0, len(line), role)] if role else []


def _accepts(sample: Sample) -> bool:
    if sample.suffix != ".json":
        return False
    return any(f'"{key}"'.encode() in sample.data for key in _LISTS)


VIEWER = Viewer("search results", _accepts, _view, priority=60, limit=_MAX_BYTES, preview_limit=_PREVIEWED)
