"""Turns the JSON files of observers, and the crawler's pages, into documents.

Each function is given the text of a file; a wrong format gives fewer documents, and never an error.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.events.codec import to_json
from core.knowledge.records import Document, Trust
from core.text import clean_line
from core.toolkit.articles import decode_article
from observers.knowledge.cleaning import (
    LONGEST_TEXT,
    Cleaner,
    address_words,
    heading_of,
    seconds_of,
    texts_in,
)
from observers.knowledge.json_items import read_object

__all__ = [
    "ANSWER_PART",
    "PANEL_PART",
    "SavedFile",
    "page_documents",
    "search_documents",
    "upload_documents",
    "workbench_documents",
]

ANSWER_PART, PANEL_PART = 0, -1
"""The parts of a file of search results that are no rows; the rows are numbered from 1."""

_DAY = 86_400.0
_LONGEST_ROW = 20_000
_LONGEST_HEADING = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFile:
    """A file as its event describes it; `path` is relative to the session's folder, `at` seconds since the epoch.

    `sha256` is the digest of what the observer saved; empty if it was changed afterwards, or somebody else wrote it.
    """

    path: str
    kind: str
    at: float
    tool_use_id: str | None = None
    sha256: str = ""


def search_documents(file: SavedFile, source: str, cleaner: Cleaner) -> Iterator[Document]:
    """Give a document for each row of search results, one for the provider's answer, and one for its panel."""
    members, rows = read_object(source, "results")
    top = cleaner.value(members)
    query = cleaner.line(top.get("query"))
    found = _Found(cleaner, file, top, query)
    answer = top.get("answer")
    if isinstance(answer, str) and answer.strip():
        yield found.document(ANSWER_PART, title=query, text=answer)
    if isinstance(panel := members.get("knowledge_panel"), dict):
        yield from found.row(PANEL_PART, panel)
    for part, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            yield from found.row(part, row)


class _Found:
    """What all rows of a file have in common."""

    def __init__(self, cleaner: Cleaner, file: SavedFile, top: dict[str, Any], query: str) -> None:
        self._cleaner = cleaner
        self._file = file
        self._query = query
        self._tool_use_id = _call_of(top, file, cleaner)
        self._made_at = _made_at(top, file)

    def row(self, part: int, raw: dict[str, Any]) -> Iterator[Document]:
        row = self._cleaner.value(raw)
        url = self._cleaner.address(raw.get("url"))
        title = self._cleaner.line(row.get("title"))
        # The text of the page is a document of its own, once it was read.
        texts = [row.get("snippet"), *texts_in(row.get("extra"))]
        text = "\n\n".join(dict.fromkeys(text for text in texts if isinstance(text, str) and text.strip()))
        if title or text.strip():
            yield self.document(
                part,
                title=title or clean_line(heading_of(text), _LONGEST_HEADING),
                text=text[:_LONGEST_ROW],
                url=url,
                source=self._cleaner.line(row.get("source")),
                date=self._cleaner.line(row.get("date"), 40),
            )

    def document(
        self, part: int, *, title: str, text: str, url: str = "", source: str = "", date: str = ""
    ) -> Document:
        return Document(
            kind="search_row",
            path=self._file.path,
            part=part,
            title=title,
            text=self._cleaner.text(text),
            context=_joined(self._query, source, address_words(url)),
            made_at=self._made_at,
            trust="web",
            url=url,
            date=date,
            tool_use_id=self._tool_use_id,
        )


def page_documents(
    file: SavedFile, source: str, cleaner: Cleaner, *, trust: Trust = "web"
) -> Iterator[Document]:
    """Give the document of a page that was read: of an observer's JSON file, or of the crawler's Markdown."""
    if file.path.endswith(".md"):
        article = decode_article(source)
        if article is None:
            return
        page: dict[str, Any] = {
            "url": article.url,
            "title": article.title,
            "author": article.author,
            "source": article.site,
            "date": article.date,
            "timestamp": article.fetched_at,
            "content": article.text,
        }
    else:
        page, _ = read_object(source)
    raw = page.get("content")
    text = cleaner.text(raw) if isinstance(raw, str) else ""
    url = cleaner.address(page.get("url"))
    title = cleaner.line(page.get("title")) or heading_of(text)
    if not text and not title:
        return
    yield Document(
        kind="article",
        path=file.path,
        title=title,
        text=text,
        context=_joined(cleaner.line(page.get("source")), address_words(url)),
        made_at=_made_at(page, file),
        trust=trust,
        url=url,
        author=cleaner.line(page.get("author")),
        date=cleaner.line(page.get("date"), 40),
        tool_use_id=_call_of(page, file, cleaner),
        partial=isinstance(raw, str) and len(raw) > LONGEST_TEXT,
    )


def workbench_documents(file: SavedFile, source: str, cleaner: Cleaner) -> Iterator[Document]:
    """Give the document of a run in the remote sandbox: its code and what it returned."""
    members, _ = read_object(source)
    run = cleaner.value(members)
    given, output = run.get("input"), run.get("output")
    given = given if isinstance(given, dict) else {}
    output = output if isinstance(output, dict) else {}
    names = ("stdout", "results", "error", "stderr", "raw", "extra")
    parts = [given.get("code"), *map(output.get, names)]
    text = cleaner.text("\n\n".join(filter(str.strip, map(_as_text, parts))))
    title = next(filter(None, (cleaner.line(given.get(name)) for name in ("thought", "current_step"))), "")
    tool = cleaner.line(run.get("tool"))
    if text or title:
        yield Document(
            kind="workbench",
            path=file.path,
            title=title or heading_of(text) or tool,
            text=text,
            made_at=_made_at(run, file),
            trust="tool",
            tool_use_id=_call_of(run, file, cleaner),
        )


def upload_documents(file: SavedFile, source: str, cleaner: Cleaner) -> Iterator[Document]:
    """Give a document for each file that was uploaded: its name, and where it went."""
    members, files = read_object(source, "files")
    for part, each in enumerate(files):
        name = cleaner.line(each.get("name")) if isinstance(each, dict) else ""
        if name:
            where = _joined(cleaner.line(each.get("destination")), cleaner.line(each.get("path")))
            yield Document(
                kind="file",
                path=file.path,
                part=part,
                title=name,
                context=_joined(address_words(posixpath.splitext(name)[0]), address_words(where)),
                made_at=_made_at(members, file),
                trust="tool",
                tool_use_id=_call_of(members, file, cleaner),
            )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value in (None, [], {}) else to_json(value)


def _joined(*texts: str) -> str:
    return "\n".join(filter(None, texts))


def _made_at(value: dict[str, Any], file: SavedFile) -> float:
    seconds = seconds_of(value.get("timestamp"), file.at + _DAY)
    return file.at if seconds is None else seconds


def _call_of(value: dict[str, Any], file: SavedFile, cleaner: Cleaner) -> str | None:
    return cleaner.line(value.get("tool_use_id")) or file.tool_use_id
