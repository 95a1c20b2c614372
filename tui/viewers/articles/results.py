"""Search results and lists of articles as a table, with the text of the selected row below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
from rich.cells import cell_len
from textual.content import Content, Span

from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean, clean_line
from ua_tui.core.toolkit.articles import Article
from ua_tui.observers.decoding.urls import host_of
from ua_tui.tui.render.format import middle_cut, moment, tail_cut
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.articles.page import (
    article_in,
    bare,
    beginning_of,
    facts_of,
    literal,
    text_in,
)
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.bodies.table import EXPORT_KEY, GAP, TABLE_KEYS, Table, TableColumn, TableView
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.cursor_body import BodyCommand, CopyText, KeyHint, OpenArticle, OpenLink, Outcome
from ua_tui.tui.viewers.document import Body, joined

LISTS = ("results", "articles", "news_results", "organic_results")
_MAX_SNIPPET = 4000
_NOTE_COLUMN = 4


class ResultHit(msgspec.Struct, frozen=True):
    """One result or article: what is known of its page, and the path of the article's file; each may be empty."""

    position: str
    page: Article
    snippet: str = ""
    article: str = ""
    duplicate: bool = False
    truncated: bool = False
    date_inferred: bool = False

    @property
    def source(self) -> str:
        """The site, or else the host of the address."""
        return self.page.site or host_of(self.page.url)

    @property
    def date(self) -> str:
        """The date, with the time if it is known."""
        return (self.page.date or "")[:32]

    @property
    def day(self) -> str:
        """The day, with a question mark if its year is inferred."""
        return self.date[:10] + ("?" if self.date_inferred else "")

    @property
    def label(self) -> str:
        """The title, or the next best text if there is none."""
        return self.page.title or self.snippet or self.page.url

    @property
    def marks(self) -> str:
        """What is special about the result, in a word or two."""
        marks = (("read", self.article), ("seen", self.duplicate), ("cut", self.truncated))
        return ", ".join(mark for mark, applies in marks if applies)


def hits_in(value: Any) -> list[ResultHit] | None:
    """Return the results of an artifact; None if it is not a list of search results."""
    if not isinstance(value, dict) or not ({"tool", "query", "type"} & value.keys()):
        return None
    found = next((value[key] for key in LISTS if isinstance(value.get(key), list)), None)
    if found is None or not all(isinstance(item, dict) for item in found):
        return None
    if found and not any({"url", "link", "title"} & item.keys() for item in found):
        return None
    return [_hit(item, place) for place, item in enumerate(found, 1)]


def articles_in(value: Any) -> list[ResultHit] | None:
    """Return the articles of a corpus, or of the answer of a tool that saved some; None for anything else."""
    found = value.get("articles") if isinstance(value, dict) else None
    if not isinstance(found, list) or not found:
        return None
    hits = [_article_hit(item, place) for place, item in enumerate(found, 1)]
    return [hit for hit in hits if hit is not None] if all(hits) else None


def _article_hit(item: Any, place: int) -> ResultHit | None:
    match item:
        case {"url": str(), "title": str(), **rest} if {"content", "path", "words"} & rest.keys():
            text = rest.get("content")
            known = {**item, "type": "article", "content": text if isinstance(text, str) else ""}
            article = article_in(known)
            assert article is not None
            path = text_in(item, "path", limit=1000)
            return ResultHit(str(place), article, beginning_of(article, _MAX_SNIPPET), path)
        case _:
            return None


def _full_text(item: dict[str, Any]) -> str:
    """Return the text of a result's page; empty if the result has only a passage of it."""
    extra = item.get("extra")
    texts = (
        item.get("raw_content"),
        extra.get("raw_content") if isinstance(extra, dict) else None,
        item.get("content") if "snippet" in item else None,
    )
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _hit(item: dict[str, Any], place: int) -> ResultHit:
    url = text_in(item, "url", "link", limit=2000)
    title = text_in(item, "title", "name")
    words = item.get("words")
    page = Article(
        title=title if title and title != url else "",
        url=url,
        author=text_in(item, "author"),
        site=text_in(item, "source", "publisher", "site"),
        date=text_in(item, "date", "published_date", "published"),
        words=words if isinstance(words, int) else 0,
        text=_full_text(item),
    )
    return ResultHit(
        position=text_in(item, "position", limit=12) or str(place),
        page=page,
        snippet=text_in(item, "snippet", "content", "description", limit=_MAX_SNIPPET),
        article=text_in(item, "article", limit=1000),
        duplicate=item.get("duplicate") is True,
        truncated=item.get("truncated") is True,
        date_inferred=item.get("date_inferred") is True,
    )


class ResultsTable(Table):
    """Rows as a table, or as cards of two lines in a narrow view.

    Args:
        hits: the results or articles.
        notes: lines above the table.
        answer: the provider's own answer, its knowledge panel and further searches, as Markdown.
        articles: whether these are articles, which Enter opens, and not results, whose links it opens.
        answer_label: what the key for the answer is called.
    """

    def __init__(
        self,
        hits: Sequence[ResultHit],
        notes: Sequence[tuple[str, str]] = (),
        answer: str = "",
        *,
        articles: bool = False,
        answer_label: str = "answer",
    ) -> None:
        self.hits = hits
        self.answer_label = answer_label
        self.answer = answer
        self.articles = articles
        marks = [self.mark(hit) for hit in hits]
        marked = any(marks)
        columns = [
            TableColumn("#", "dim", widest=6),
            TableColumn("Title", widest=110),
            TableColumn("Source", widest=24),
            TableColumn("Date", "dim", widest=11),
            TableColumn(
                ("Words" if articles else "Note") if marked else "", "dim", widest=16 if marked else 0
            ),
            TableColumn("Address", "link", cut_middle=True, widest=70),
        ]
        # The day distinguishes rows; the detail has the hour.
        cells = [
            (hit.position, hit.label, hit.source, hit.day, mark, bare(hit.page.url))
            for hit, mark in zip(hits, marks, strict=True)
        ]
        super().__init__(columns, cells, notes=notes)
        self.empty_text = "No results."
        # Only the first rows were measured, but the last have the longest numbers.
        self.natural[0] = min(columns[0].widest, max([3, *(cell_len(hit.position) for hit in hits)]))
        if not any(hit.date for hit in hits):
            self.natural[3] = 0
        if not marked:
            self.natural[_NOTE_COLUMN] = 0
        self.column = 1
        self._answering = bool(answer)
        self._answered_at = 0

    def mark(self, hit: ResultHit) -> str:
        """Return what the fourth column says: the length of an article, what is special about a result."""
        if not self.articles:
            return hit.marks
        return f"{hit.page.words:,}" if hit.page.words else ""

    def whole_row(self, number: int) -> Sequence[str]:
        """Return the cells of a result with its whole date and address."""
        hit = self.hits[number]
        return (hit.position, hit.label, hit.source, hit.date, self.mark(hit), hit.page.url)

    @property
    def keys(self) -> Sequence[KeyHint]:
        """The keys for opening, sorting and filtering."""
        keys = [KeyHint("Enter", "read" if self.articles else "open link", "open")]
        if not self.articles:
            keys.append(KeyHint("a", "read page", "article"))
        if self.answer:
            keys.append(KeyHint("A", self.answer_label, "answer"))
        return (*keys, *TABLE_KEYS, KeyHint("c", "copy link", "copy"), EXPORT_KEY)

    def lay_out(self, width: int, theme: MarkdownTheme) -> TableView:
        """Return a table or cards."""
        return ResultRows(self, width) if width >= 56 else CardRows(self, width)

    def execute(self, command: BodyCommand) -> Outcome:
        """Open or copy a result, or execute a command of every table."""
        hit = self.hits[self.record] if self.record is not None else None
        match command.name:
            case "open" if hit is not None and hit.page.url and not self.articles:
                return OpenLink(hit.page.url)
            case "copy" if hit is not None and hit.page.url:
                return CopyText("link", hit.page.url)
            case "article" | "open" if hit is not None:
                return OpenArticle(hit.page, hit.article)
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
            for text in (
                hit.page.title,
                hit.source,
                hit.date,
                hit.page.url,
                hit.snippet,
                hit.page.author or "",
                hit.marks,
            )
        )

    def detail(self) -> Body | None:
        """Return the text and the properties of a result, or the provider's answer if the reader asked for it."""
        if self._answering and self.cursor == self._answered_at:
            return MarkdownBody(self.answer)
        if self.record is None:
            return None
        hit = self.hits[self.record]
        facts = [hit.source, hit.date.replace("T", " ")]
        if self.articles:
            facts = facts_of(hit.page)
        elif hit.article:
            words = f", {hit.page.words:,} words" if hit.page.words else ""
            facts.append(f"read in full{words} (press a to open it)")
        if hit.duplicate:
            facts.append("already found in this session")
        if hit.date_inferred:
            facts.append("year inferred")
        if hit.truncated:
            facts.append("truncated in its last field")
        text = "\n".join((hit.label, " · ".join(filter(None, facts)), hit.page.url, hit.snippet))
        return TextBody(text.rstrip("\n"), style=_style_detail)


class LinkedRows(TableView):
    """Rows of results, which have links that are not in their texts."""

    _body: ResultsTable

    def links(self) -> Iterator[tuple[int, str, str]]:
        """The addresses of the results that are shown."""
        for entry, number in enumerate(self._body.order):
            hit = self._body.hits[number]
            if hit.page.url:
                yield self.span(entry)[0], hit.label, hit.page.url


class ResultRows(LinkedRows):
    """Results as a table of fixed columns; only the address may be hidden."""

    def columns(self) -> tuple[int, list[int], str]:
        """Return all columns, with the address only in a wide view."""
        count = len(self._body.columns) - (self._width < 140)
        return 0, self.fit(0, count, self._width), ""

    def role(self, number: int, column: int) -> str:
        """Return the role of a cell; truncated results have the colour of warnings."""
        is_truncated = column == _NOTE_COLUMN and self._body.hits[number].truncated
        return "warn" if is_truncated else super().role(number, column)


class CardRows(LinkedRows):
    """Results as cards of two lines, with an empty line between."""

    def __init__(self, table: ResultsTable, width: int) -> None:
        super().__init__(table, width)
        self.head = len(table.notes) + bool(table.notes)
        self._number = max((cell_len(hit.position) for hit in table.hits), default=1)

    def __len__(self) -> int:
        """Three rows a result."""
        return self.head + max(1, self._body.entries * 3 - 1)

    def row(self, y: int) -> Content:
        """Row `y`."""
        table = self._body
        if y < len(table.notes):
            return super().row(y)
        if y < self.head:
            return Content("")
        if not table.entries:
            return super().row(self.head)
        place, part = divmod(y - self.head, 3)
        hit = table.hits[table.order[place]]
        indent = self._number + GAP
        room = max(4, self._width - indent)
        match part:
            case 0:
                blank = " " * (self._number - cell_len(hit.position))
                return joined([(f"{blank}{hit.position}  ", "dim"), (tail_cut(hit.label, room), "strong")])
            case 1:
                mark = table.mark(hit)
                mark += " words" if mark and table.articles else ""
                facts = " · ".join(filter(None, (tail_cut(hit.source, 24), hit.day, mark)))
                facts = tail_cut(facts + "  " if facts else "", room)
                address, rest = bare(hit.page.url), max(0, room - cell_len(facts))
                fits = rest >= min(cell_len(address), 16)
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
        return place if y >= self.head and part < 2 and place < self._body.entries else None


def results_table(value: dict[str, Any], hits: Sequence[ResultHit]) -> ResultsTable:
    """Return the table of a list of search results, below its query, tool, time and counts."""
    answer = value.get("answer")
    answer_text = clean(answer).strip() if isinstance(answer, str) else ""
    parts = (answer_text, _panel(value.get("knowledge_panel")), _related(value.get("related_searches")))
    label = "answer" if answer_text else "panel" if parts[1] else "related"
    text = "\n\n".join(filter(None, parts))
    return ResultsTable(hits, _notes(value, hits), text, answer_label=label)


def _panel(panel: Any) -> str:
    """Return a provider's panel about the subject, as Markdown."""
    if not isinstance(panel, dict) or not (title := text_in(panel, "title")):
        return ""
    extra = panel.get("extra")
    kind = text_in(extra, "type", "subtitle", "category", limit=80) if isinstance(extra, dict) else ""
    lines = [f"**{literal(title)}**" + (f" · {literal(kind)}" if kind else "")]
    lines.append(literal(text_in(panel, "snippet", limit=_MAX_SNIPPET)))
    url, source = text_in(panel, "url", limit=2000), text_in(panel, "source")
    lines.append(" · ".join(literal(part) for part in (source, url) if part))
    return "  \n".join(filter(None, lines))


def _related(words: Any) -> str:
    """Return the further searches that a provider suggests, as a line of Markdown."""
    found = (
        [literal(clean_line(word)) for word in words if isinstance(word, str)]
        if isinstance(words, list)
        else []
    )
    return f"Related searches: {' · '.join(found)}" if found else ""


def articles_table(value: dict[str, Any], hits: Sequence[ResultHit]) -> ResultsTable:
    """Return the table of a list of articles, below their number, their length and what is missing."""
    parts = [quantity(len(hits), "article")]
    if words := sum(hit.page.words for hit in hits):
        parts.append(quantity(words, "word"))
    if saved := _moment(text_in(value, "saved_at")):
        parts.append(f"saved {saved}")
    notes = [(" · ".join(parts), "dim")]
    for key, what in (("failed", "could not be read"), ("missing", "not found")):
        if isinstance(lost := value.get(key), list) and lost:
            notes.append((f"… {quantity(len(lost), 'page')} {what}.", "warn"))
            notes += [(line, "dim") for each in lost[:5] if (line := _reason(each))]
    return ResultsTable(hits, notes, articles=True)


def _reason(lost: object) -> str:
    """What is known of an article that is missing: its address and why."""
    if not isinstance(lost, dict):
        return ""
    address = text_in(lost, "url") or text_in(lost, "item")
    error = text_in(lost, "error")
    return f"{middle_cut(bare(address), 60)}: {error}" if address and error else error


def _moment(written: str) -> str:
    with suppress(ValueError):
        return moment(datetime.fromisoformat(written))
    return ""


def _notes(value: dict[str, Any], hits: Sequence[ResultHit]) -> list[tuple[str, str]]:
    def text(key: str, limit: int = 300) -> str:
        return "" if isinstance(value.get(key), bool) else text_in(value, key, limit=limit)

    notes: list[tuple[str, str]] = []
    if query := text("query"):
        notes.append((query, "strong"))
    parts = [tool_name(text("tool")).short if text("tool") else "", text("type", 40).replace("_", " ")]
    parts.append(_moment(text("timestamp")))
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
    notes.append((" · ".join(filter(None, parts)), "dim"))
    if error := text("error", 1000):
        notes.append((f"✗ The search failed: {error}", "bad"))
    if value.get("truncated") is True:
        notes.append(("… The answer was truncated; only its complete results are listed.", "warn"))
    if value.get("preview") is True:
        notes.append(("… The provider returned a preview instead of all data.", "warn"))
    return notes


def _style_detail(number: int, line: str) -> list[Span]:
    role = ("strong", "dim", "link")[number] if number < 3 else ""
    return [Span(0, len(line), role)] if role else []
