"""Turns the JSON files of observers, and the crawler's pages, into documents.

Each function is given the text of a file; a wrong format gives fewer documents, and never an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.events.codec import to_json
from ua_tui.core.knowledge.records import Kind, KnowledgeDocument, Trust
from ua_tui.core.toolkit.articles import decode_article
from ua_tui.observers.decoding.readable_json import readable
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.knowledge.cleaning import (
    LONGEST_TEXT,
    Cleaner,
    address_words,
    clean_text,
    clean_title,
    seconds_of,
    short_title,
    texts_in,
    title_in,
)
from ua_tui.observers.knowledge.contents import read_object

ANSWER_PART, PANEL_PART = 0, -1
"""The parts of a file of search results that are no rows; the rows are numbered from 1."""

_ROW_FIELDS = ("url", "title", "source", "date", "snippet", "extra")
_PAGE_FIELDS = ("url", "title", "author", "source", "date", "timestamp", "tool_use_id", "content")
ANSWER = "Answer to a search"
_RUN = "Run in the sandbox"
_DAY = 86_400.0
_LONGEST_ROW = 20_000
_LONGEST_DATE = 40
_ROWS = 50
_MOST_UPLOADS = 1_000
_JSON_MARKS = re.compile(r'[{}\[\]"]+|\\[nt]')
_NOTHING: Mapping[str, Any] = {}


class SavedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as its event describes it; `path` is relative to the session's folder, `at` seconds since the epoch.

    `sha256` is the digest of what the observer saved; empty if it was changed afterwards, or somebody else wrote it.
    """

    path: str
    kind: str
    at: float
    tool_use_id: str | None = None
    sha256: str = ""

    def document(
        self, kind: Kind, trust: Trust, says: Mapping[str, Any] = _NOTHING, **fields: Any
    ) -> KnowledgeDocument:
        """Make a document of this file with `fields`; when it was made, and by which call, it may say itself."""
        seconds = seconds_of(says.get("timestamp"), self.at + _DAY)
        return KnowledgeDocument(
            kind=kind,
            trust=trust,
            path=self.path,
            made_at=self.at if seconds is None else seconds,
            tool_use_id=clean_title(says.get("tool_use_id")) or self.tool_use_id,
            **fields,
        )


def search_documents(file: SavedFile, source: str, cleaner: Cleaner) -> Iterator[KnowledgeDocument]:
    """Give a document for each row of search results, one for the provider's answer, and one for its panel.

    A row without a title has none here.
    """
    members, rows = read_object(source, "results")
    panel = members.pop("knowledge_panel", None)
    top = cleaner.value(members)
    query = short_title(top.get("query"))
    answer = clean_text(top.get("answer"))
    base = file.document(
        "search_row", "web", top, part=ANSWER_PART, title=query or ANSWER, text=answer, context=query
    )
    if answer:
        yield base
    numbered = [(PANEL_PART, panel), *enumerate(rows, start=1)]
    # Masking many rows together is faster than one by one.
    for at in range(0, len(numbered), _ROWS):
        some = numbered[at : at + _ROWS]
        given = [_only(row, _ROW_FIELDS) for _, row in some]
        for (part, _), raw, row in zip(some, given, cleaner.value(given), strict=True):
            url = cleaner.address(raw.get("url"), row.get("url"))
            if found := _row(replace(base, part=part, url=url), row, query):
                yield found


def _row(base: KnowledgeDocument, row: dict[str, Any], query: str) -> KnowledgeDocument | None:
    """The document of a row without secrets; None if it says nothing."""
    # The text of the page is a document of its own, once it was read.
    texts = [clean_text(row.get("snippet")), *map(clean_text, texts_in(row.get("extra")))]
    text = "\n\n".join(filter(None, dict.fromkeys(texts)))
    given = clean_title(row.get("title"), _LONGEST_ROW)
    title = title_of(given, text)
    if len(given) > len(title) and given not in text and not is_web_url(given):
        # A whole post that a provider gives as the title.
        text = f"{given}\n\n{text}".strip()
    if not given and not text:
        return None
    return replace(
        base,
        title=title,
        text=text[:_LONGEST_ROW],
        context=_joined(query, clean_title(row.get("source")), address_words(base.url)),
        date=clean_title(row.get("date"), _LONGEST_DATE),
    )


def title_of(given: object, text: str) -> str:
    """The title that was given, unless it is an address, or that which the text begins with; empty without one."""
    return short_title(given) if given and not is_web_url(given) else title_in(text)


def page_documents(
    file: SavedFile, source: str, cleaner: Cleaner, *, trust: Trust = "web"
) -> Iterator[KnowledgeDocument]:
    """Give the document of a page that was read: of an observer's JSON file, or of the crawler's Markdown."""
    raw = _crawled(source) if file.path.endswith(".md") else read_object(source)[0]
    page = cleaner.value(_only(raw, _PAGE_FIELDS))
    text = clean_text(page.get("content"))
    url = cleaner.address(raw.get("url"), page.get("url"))
    title = title_of(page.get("title"), text)
    if not title and not text:
        return
    yield file.document(
        "article",
        trust,
        page,
        title=title,
        text=text,
        context=_joined(clean_title(page.get("source")), address_words(url)),
        url=url,
        author=clean_title(page.get("author")),
        date=clean_title(page.get("date"), _LONGEST_DATE),
        partial=len(str(page.get("content"))) > LONGEST_TEXT,
    )


def _crawled(source: str) -> dict[str, Any]:
    """The page in a file of the crawler, in the form of an observer's file."""
    article = decode_article(source)
    if article is None:
        return {}
    names = {"source": "site", "timestamp": "fetched_at", "content": "text"}
    return {name: getattr(article, names.get(name, name), None) for name in _PAGE_FIELDS}


def workbench_documents(
    file: SavedFile, source: str, cleaner: Cleaner, *, with_code: bool = True
) -> Iterator[KnowledgeDocument]:
    """Give the document of a run in the remote sandbox: its code and what it returned, or only what it printed."""
    run = cleaner.value(read_object(source)[0])
    given, output = (each if isinstance(each, dict) else {} for each in map(run.get, ("input", "output")))
    names = ("stdout", "results", "error", "stderr", "raw", "extra")
    # The errors of a run quote its code.
    values = [output.get(name) for name in (names if with_code else ("stdout", "results", "raw"))]
    printed = [readable(each if isinstance(each, str) else to_json(each)) for each in values if each]
    code = given.get("code") if with_code else ""
    text = clean_text("\n\n".join(filter(str.strip, [code if isinstance(code, str) else "", *printed])))
    purpose = short_title(given.get("thought")) or short_title(given.get("current_step"))
    if purpose or text:
        yield file.document("workbench", "tool", run, title=purpose or _RUN, text=text)


def unparsed_documents(file: SavedFile, source: str, cleaner: Cleaner) -> Iterator[KnowledgeDocument]:
    """Give the document of the answer of a search in which no rows were recognised, below the reason for that."""
    from ua_tui.observers.decoding.decode import decode_text

    masked = cleaner.masked(source)
    heading, _, answer = masked.partition("\n\n") if masked.find("\ntool: ") >= 0 else ("", "", masked)
    decoded = decode_text(answer[:LONGEST_TEXT])
    text = "\n\n".join([*map(readable, map(to_json, decoded.values)), decoded.prose])
    if decoded.problem or CUT_OFF in text:
        # All that is there, without the marks of JSON.
        text = _JSON_MARKS.sub(" ", answer)
    text = clean_text(text)
    if text:
        tool = next((line[6:] for line in heading.split("\n") if line.startswith("tool: ")), "")
        title, is_cut = title_in(text) or ANSWER, len(answer) > LONGEST_TEXT
        yield file.document(
            "search_row", "web", title=title, text=text, context=address_words(tool), partial=is_cut
        )


def upload_documents(file: SavedFile, source: str, cleaner: Cleaner) -> Iterator[KnowledgeDocument]:
    """Give a document for each file that was uploaded: its name, and where it went."""
    members, items = read_object(source, "files")
    upload, files = cleaner.value([members, items[:_MOST_UPLOADS]])
    for part, each in enumerate(files):
        name = clean_title(each.get("name")) if isinstance(each, dict) else ""
        if name:
            places = (clean_title(each.get(key)) for key in ("destination", "path"))
            context = _joined(address_words(name), *map(address_words, places))
            yield file.document("file", "tool", upload, part=part, title=name, context=context)


def _only(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The members of an object with these names; none of what is no object."""
    return {name: value[name] for name in names if name in value} if isinstance(value, dict) else {}


def _joined(*texts: str) -> str:
    return "\n".join(filter(None, texts))
