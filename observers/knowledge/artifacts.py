"""Turns the JSON files of observers, and the crawler's pages, into documents.

Each function is given the text of a file; a wrong format gives fewer documents, and never an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from ua_tui.core.events.codec import to_json
from ua_tui.core.knowledge.records import KnowledgeDocument, Trust
from ua_tui.core.toolkit.articles import decode_article
from ua_tui.observers.knowledge.cleaning import (
    LONGEST_TEXT,
    Cleaner,
    address_words,
    clean_text,
    clean_title,
    heading_of,
    seconds_of,
    texts_in,
)
from ua_tui.observers.knowledge.json_items import read_object

ANSWER_PART, PANEL_PART = 0, -1
"""The parts of a file of search results that are no rows; the rows are numbered from 1."""

_ROW_FIELDS = ("url", "title", "source", "date", "snippet", "extra")
_PAGE_FIELDS = ("url", "title", "author", "source", "date", "timestamp", "tool_use_id", "content")
_DAY = 86_400.0
_LONGEST_ROW = 20_000
_LONGEST_HEADING = 100
_LONGEST_DATE = 40
_ROWS = 50
_MOST_UPLOADS = 1_000


class SavedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as its event describes it; `path` is relative to the session's folder, `at` seconds since the epoch.

    `sha256` is the digest of what the observer saved; empty if it was changed afterwards, or somebody else wrote it.
    `seq` is that of the event.
    """

    path: str
    kind: str
    at: float
    tool_use_id: str | None = None
    sha256: str = ""
    seq: int = 0


def search_documents(file: SavedFile, source: str, cleaner: Cleaner) -> Iterator[KnowledgeDocument]:
    """Give a document for each row of search results, one for the provider's answer, and one for its panel."""
    members, items = read_object(source, "results")
    top = cleaner.value(members)
    found = _Found(cleaner, file, top)
    answer = clean_text(top.get("answer"))
    if answer:
        yield found.document(ANSWER_PART, title=found.query, text=answer)
    yield from found.rows(PANEL_PART, [members.get("knowledge_panel")])
    part = 1
    # Masking many rows together is faster than one by one.
    while rows := list(islice(items, _ROWS)):
        yield from found.rows(part, rows)
        part += len(rows)


class _Found:
    """What all rows of a file have in common."""

    def __init__(self, cleaner: Cleaner, file: SavedFile, top: dict[str, Any]) -> None:
        self._cleaner = cleaner
        self._file = file
        self._tool_use_id = _call_of(top, file)
        self._made_at = _made_at(top, file)
        self.query = clean_title(top.get("query"))

    def rows(self, first: int, rows: list[Any]) -> Iterator[KnowledgeDocument]:
        # The text of the page is a document of its own, once it was read.
        rows = [_only(row, _ROW_FIELDS) for row in rows]
        for part, (raw, row) in enumerate(zip(rows, self._cleaner.value(rows), strict=True), start=first):
            url = self._cleaner.address(raw.get("url"), row.get("url"))
            texts = [clean_text(row.get("snippet")), *map(clean_text, texts_in(row.get("extra")))]
            text = "\n\n".join(filter(None, dict.fromkeys(texts)))
            title = clean_title(row.get("title")) or clean_title(heading_of(text), _LONGEST_HEADING)
            if title:
                yield self.document(
                    part,
                    title=title,
                    text=text[:_LONGEST_ROW],
                    url=url,
                    source=clean_title(row.get("source")),
                    date=clean_title(row.get("date"), _LONGEST_DATE),
                )

    def document(
        self, part: int, *, title: str, text: str, url: str = "", source: str = "", date: str = ""
    ) -> KnowledgeDocument:
        return KnowledgeDocument(
            kind="search_row",
            path=self._file.path,
            part=part,
            title=title,
            text=text,
            context=_joined(self.query, source, address_words(url)),
            made_at=self._made_at,
            trust="web",
            url=url,
            date=date,
            tool_use_id=self._tool_use_id,
        )


def page_documents(
    file: SavedFile, source: str, cleaner: Cleaner, *, trust: Trust = "web"
) -> Iterator[KnowledgeDocument]:
    """Give the document of a page that was read: of an observer's JSON file, or of the crawler's Markdown."""
    raw = _crawled(source) if file.path.endswith(".md") else read_object(source)[0]
    page = cleaner.value(_only(raw, _PAGE_FIELDS))
    text = clean_text(page.get("content"))
    title = clean_title(page.get("title")) or heading_of(text)
    if not title:
        return
    url = cleaner.address(raw.get("url"), page.get("url"))
    yield KnowledgeDocument(
        kind="article",
        path=file.path,
        title=title,
        text=text,
        context=_joined(clean_title(page.get("source")), address_words(url)),
        made_at=_made_at(page, file),
        trust=trust,
        url=url,
        author=clean_title(page.get("author")),
        date=clean_title(page.get("date"), _LONGEST_DATE),
        tool_use_id=_call_of(page, file),
        partial=len(str(page.get("content"))) > LONGEST_TEXT,
    )


def _crawled(source: str) -> dict[str, Any]:
    """The page in a file of the crawler, in the form of an observer's file."""
    article = decode_article(source)
    if article is None:
        return {}
    return {
        "url": article.url,
        "title": article.title,
        "author": article.author,
        "source": article.site,
        "date": article.date,
        "timestamp": article.fetched_at,
        "content": article.text,
    }


def workbench_documents(
    file: SavedFile, source: str, cleaner: Cleaner, *, with_code: bool = True
) -> Iterator[KnowledgeDocument]:
    """Give the document of a run in the remote sandbox: its code and what it returned, or only what it printed."""
    run = cleaner.value(read_object(source)[0])
    given, output = (each if isinstance(each, dict) else {} for each in map(run.get, ("input", "output")))
    names = ("stdout", "results", "error", "stderr", "raw", "extra")
    # The errors of a run quote its code.
    values = [output.get(name) for name in (names if with_code else ("stdout", "results", "raw"))]
    parts = map(_as_text, [given.get("code") if with_code else "", *values])
    text = clean_text("\n\n".join(filter(str.strip, parts)))
    purpose = clean_title(given.get("thought")) or clean_title(given.get("current_step"))
    if title := purpose or heading_of(text):
        yield KnowledgeDocument(
            kind="workbench",
            path=file.path,
            title=title,
            text=text,
            made_at=_made_at(run, file),
            trust="tool",
            tool_use_id=_call_of(run, file),
        )


def upload_documents(file: SavedFile, source: str, cleaner: Cleaner) -> Iterator[KnowledgeDocument]:
    """Give a document for each file that was uploaded: its name, and where it went."""
    members, items = read_object(source, "files")
    upload, files = cleaner.value([members, list(islice(items, _MOST_UPLOADS))])
    for part, each in enumerate(files):
        name = clean_title(each.get("name")) if isinstance(each, dict) else ""
        if name:
            places = (clean_title(each.get(key)) for key in ("destination", "path"))
            yield KnowledgeDocument(
                kind="file",
                path=file.path,
                part=part,
                title=name,
                context=_joined(address_words(name), *map(address_words, places)),
                made_at=_made_at(upload, file),
                trust="tool",
                tool_use_id=_call_of(upload, file),
            )


def _only(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The members of an object with these names; none of what is no object."""
    return {name: value[name] for name in names if name in value} if isinstance(value, dict) else {}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value in (None, [], {}) else to_json(value)


def _joined(*texts: str) -> str:
    return "\n".join(filter(None, texts))


def _made_at(value: dict[str, Any], file: SavedFile) -> float:
    seconds = seconds_of(value.get("timestamp"), file.at + _DAY)
    return file.at if seconds is None else seconds


def _call_of(value: dict[str, Any], file: SavedFile) -> str | None:
    return clean_title(value.get("tool_use_id")) or file.tool_use_id
