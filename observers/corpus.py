"""Saves every article, adds it to the saved search results and the corpus, and counts the strikes of web readers."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec

from core.errors import WorkspaceError
from core.events.units import quantity
from core.observation import ToolCall, ToolResult
from core.storage.workspace import Workspace
from core.text import clean_line
from core.toolkit.articles import decode_article
from core.web_reader.blacklist import STRIKES, Blacklist
from core.web_reader.errors import (
    REFUSED,
    TIMED_OUT,
    ReaderError,
    is_web_reader,
    page_of,
    reader_error,
)
from observers.base import Interest, ObserverContext, ObserverSpec, Outcome, Saved, moment_of, texts_of
from observers.decoding.decode import Decoded, decode_texts
from observers.decoding.urls import is_web_url
from observers.enrichment import MAX_ARTIFACT, Page, enrich_corpus, enrich_searches, has_large_files
from observers.output.formats import ArticleFile
from observers.output.saving import save_once, unique_id, write_json
from observers.search.sanitise import plain_text
from observers.search.tool_names import short_name

__all__ = ["FOLDER", "OBSERVER", "Corpus"]

_log = logging.getLogger(__name__)

FOLDER = "extracted_articles"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_AUTHORS = ("author", "article:author")
_SITES = ("og:site_name",)
_DATES = ("article:published_time", "datePublished", "date")


class Corpus:
    """Observer of the crawler, of web readers, and of the tool that saves the corpus."""

    name = "corpus"

    def wants(self, call: ToolCall) -> Interest:
        """The toolkit's crawler and web readers by their name, and `save_corpus`, whose corpus may lack pages."""
        name = short_name(call.name)
        if name == "save_corpus":
            return Interest.CURIOUS
        return Interest.SURE if name == "crawl_parallel" or is_web_reader(call.name) else Interest.NONE

    def is_heavy(self, workspace: Workspace) -> bool:
        """Whether any article may cause work on large files."""
        return has_large_files(workspace)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Save each article, and add it to the saved search results and the corpus."""
        if short_name(result.call.name) == "save_corpus":
            return _complete(result, context)
        moment = moment_of(result, context)
        texts = texts_of(result, context.workspace)
        if is_web_reader(result.call.name):
            error = _reader_error(result, texts, moment, context)
            if error is not None:
                return error
        decoded = decode_texts(texts)
        pages, failed, gone = _pages_of(decoded, context.workspace)
        if not pages:
            return Outcome(rejected=failed + gone, note=_why_not(decoded, failed, gone))
        saved: list[Saved] = []
        known: list[Page] = []
        for page in pages:
            artifact, path = _save(page, result, moment, context)
            known.append(msgspec.structs.replace(page, read_at=moment, path=path))
            if artifact is not None:
                saved.append(artifact)
        notes = _left_out(failed, gone)
        if not saved:
            notes.append("every article was already saved")
        rows = enrich_searches(known, context.workspace, context.ledger)
        if rows:
            notes.append(f"articles added to rows of search results: {rows}")
        corpus, _, note = _add_to_corpus(known, context)
        notes += [note] if note else []
        return Outcome(
            (*saved, *corpus), len(saved), failed + gone, len(pages) - len(saved), "; ".join(notes) or None
        )


def _complete(result: ToolResult, context: ObserverContext) -> Outcome:
    """Add pages of web readers to a new corpus: the tool that saves it only knows crawled pages."""
    if result.observation.has_error:
        return Outcome(note="the corpus was not saved")
    corpus, entries, note = _add_to_corpus(_read_before(context), context)
    return Outcome(tuple(corpus), entries, note=note or "the corpus is complete")


def _add_to_corpus(pages: Sequence[Page], context: ObserverContext) -> tuple[list[Saved], int, str | None]:
    """Update the corpus; returns it if it changed, the number of changed entries, and a note."""
    try:
        written, entries = enrich_corpus(pages, context.workspace, context.ledger)
    except WorkspaceError as error:
        return [], 0, f"the corpus was not changed: {error}"
    if written is None:
        return [], 0, None
    saved = Saved(written.path, "corpus", written.size, written.sha256)
    return [saved], entries, f"articles added to the corpus or completed: {entries}"


def _read_before(context: ObserverContext) -> list[Page]:
    """The pages from web readers in this session, from their saved articles."""
    pages: list[Page] = []
    for path in context.ledger.paths(FOLDER):
        try:
            page = msgspec.json.decode(context.workspace.read_artifact(path, MAX_ARTIFACT), type=Page)
        except (WorkspaceError, msgspec.DecodeError, ValueError, RecursionError):
            continue
        if page.markdown is None:
            pages.append(msgspec.structs.replace(page, path=path))
    return pages


def _pages_of(decoded: Decoded, workspace: Workspace) -> tuple[list[Page], int, int]:
    """The articles of a result, the number of failed pages, and the number of articles whose file is missing."""
    pages: list[Page] = []
    failed = gone = 0
    for value in decoded.values:
        match value:
            case {"articles": list() as articles, **rest}:
                failures = rest.get("failed")
                failed += len(failures) if isinstance(failures, list) else 0
                for article in articles:
                    page = _crawled(article, workspace) if isinstance(article, dict) else None
                    pages += [page] if page is not None else []
                    gone += page is None
            case {"reader_result": dict() as read} | {"data": {"reader_result": dict() as read}}:
                page = _read(read)
                pages += [page] if page is not None else []
            case {"url": str(), "content": str()}:
                page = _read(value)
                pages += [page] if page is not None else []
            case _:
                pass
    return pages, failed, gone


def _crawled(article: Mapping[str, Any], workspace: Workspace) -> Page | None:
    """An article of the toolkit's crawler, from the Markdown file it wrote."""
    path, url = article.get("path"), article.get("url")
    if not isinstance(path, str) or not is_web_url(url):
        return None
    try:
        found = decode_article(workspace.read_artifact(path, MAX_ARTIFACT).decode("utf-8", "replace"))
    except WorkspaceError:
        return None
    if found is None or not found.text:
        return None
    title = found.title or str(article.get("title") or "")
    return Page(str(url), title, found.text, found.author, found.site, found.date, found.words, path)


def _read(read: Mapping[str, Any]) -> Page | None:
    """A page from a web reader."""
    url, content = read.get("url"), read.get("content") or read.get("text")
    if not is_web_url(url) or not isinstance(content, str) or not content.strip():
        return None
    title = plain_text(title) if isinstance(title := read.get("title"), str) else ""
    date = _DAY.match(_metadata_text(read, _DATES) or "")
    return Page(
        str(url),
        title,
        content,
        _metadata_text(read, _AUTHORS),
        _metadata_text(read, _SITES),
        date[0] if date else None,
        len(content.split()),
    )


def _metadata_text(read: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """A text from the page's own metadata."""
    metadata: object = read.get("metadata")
    if not isinstance(metadata, dict):
        return None
    for name in names:
        value = metadata.get(name)
        if isinstance(value, str) and (text := plain_text(value)):
            return clean_line(text, 300)
    return None


def _why_not(decoded: Decoded, failed: int, gone: int) -> str:
    if left_out := _left_out(failed, gone):
        return f"no article: {'; '.join(left_out)}"
    return decoded.problem or "no article in it"


def _left_out(failed: int, gone: int) -> list[str]:
    """The notes about pages without an article."""
    notes = []
    if failed:
        notes.append(f"{quantity(failed, 'page')} could not be read")
    if gone:
        notes.append(f"articles without a readable Markdown file: {gone}")
    return notes


def _save(
    page: Page, result: ToolResult, moment: datetime, context: ObserverContext
) -> tuple[Saved | None, str]:
    artifact: ArticleFile = {
        "type": "article",
        "url": page.url,
        "title": page.title,
        "author": page.author,
        "source": page.source,
        "date": page.date,
        "words": page.words,
        "timestamp": moment.isoformat(timespec="microseconds"),
        "tool": short_name(result.call.name),
        "tool_use_id": result.call.tool_use_id,
        "markdown": page.markdown,
        "content": page.content,
    }
    return save_once(
        context,
        lambda path: write_json(context.workspace, path, artifact),
        folder=FOLDER,
        stem=context.workspace.redactor.redact(_place(page.url)),
        unique=unique_id(context, result.call.tool_use_id, page.url, page.content),
        kind="article",
        moment=moment,
    )


def _place(url: str) -> str:
    """The host and path of a URL, for a file name."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "page"
    return f"{parts.hostname or 'page'}{parts.path}"


def _reader_error(
    result: ToolResult, texts: Sequence[str], moment: datetime, context: ObserverContext
) -> Outcome | None:
    """Log a web reader's error and count its strike; None if the result is something else.

    Only an error as a whole is one: whatever a page says about codes is the page's text. A call counts once,
    however often it is observed.
    """
    error_text = result.observation.error
    if error_text is None and len(texts) != 1:
        return None
    error = reader_error(error_text if error_text is not None else texts[0], failed=error_text is not None)
    if error is None:
        return None
    note = f"the web reader {error.meaning} (code {error.code})"
    page = clean_line(context.workspace.redactor.redact(page_of(result.call.input) or "a page"), 300)
    _log.warning("%s: %s", note, page)
    if error.code == TIMED_OUT:
        note += "; the page is worth another try"
    elif error.code == REFUSED:
        note += f"; {_strike(result, error, moment, context)}"
    return Outcome(rejected=1, note=note)


def _strike(result: ToolResult, error: ReaderError, moment: datetime, context: ObserverContext) -> str:
    url = page_of(result.call.input)
    if url is None:
        return "no strike: the call names no page"
    if not error.certain:
        return "no strike: the call itself did not fail"
    try:
        standing = Blacklist.for_session(context.workspace, context.now).strike(
            url, error.code, result.call.tool_use_id, moment
        )
    except WorkspaceError as failure:
        _log.warning("a strike was not counted: %s", failure)
        return f"the strike could not be counted: {failure}"
    if standing is None:
        return "no further strike: the call was already counted or is too old"
    if standing.expires is not None:
        return f"{standing.host} is on the blacklist until {standing.expires:%Y-%m-%d}"
    return f"strike {len(standing.strikes)} of {STRIKES} against {standing.host}"


OBSERVER = ObserverSpec(lambda _rules: Corpus(), order=30)
