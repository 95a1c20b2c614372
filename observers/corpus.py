"""Keeps every article that was read, and tells the saved search results which of their pages were."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec

from core.errors import WorkspaceError
from core.observation import ToolCall, ToolResult
from core.text import Redactor
from core.toolkit.articles import decode_article
from core.workspace import Workspace
from observers.base import (
    ObserverContext,
    Outcome,
    Saved,
    moment_of,
    save_json_once,
    texts_of,
    unique_id,
    write_json,
)
from observers.decode import Decoded, decode_texts
from observers.search.names import short_name, words_of
from observers.search.rows import plain_text
from observers.search.urls import is_public_address, is_web_url, normal_form, with_masked_parts

__all__ = ["FOLDER", "Corpus"]

FOLDER = "extracted_articles"
_SEARCHES = "search_results"
_MAX_ARTIFACT = 64 << 20
_CONTENT_IN_ROW = 10_000
_READER_ERROR = re.compile(r'"code"\s*:\s*"?(\d{3,5})')


@dataclass(frozen=True, slots=True)
class _Page:
    url: str
    title: str
    content: str
    author: str | None = None
    source: str | None = None
    date: str | None = None
    words: int = 0
    markdown: str | None = None


class Corpus:
    """Observer of the crawler and of web readers."""

    name = "corpus"

    def wants(self, call: ToolCall) -> bool:
        """The toolkit's crawler, and readers of single pages by their name."""
        name = short_name(call.name)
        return name == "crawl_parallel" or {"web", "reader"} <= words_of(name)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Save each article and enrich the rows of the saved search results that point to it."""
        moment = moment_of(result, context)
        texts = texts_of(result, context.workspace)
        decoded = decode_texts(texts)
        pages, failed = _pages_of(decoded, context.workspace)
        if not pages:
            return Outcome(rejected=failed, note=_why_not(texts, decoded, failed))
        saved: list[Saved] = []
        paths: dict[str, tuple[_Page, str]] = {}
        for page in pages:
            artifact, path = _save(page, result, moment, context)
            paths[normal_form(page.url)] = (page, path)
            if artifact is not None:
                saved.append(artifact)
        with context.ledger.editing:
            enriched = sum(
                _enrich(path, paths, context.workspace) for path in context.ledger.paths(_SEARCHES)
            )
        notes = [f"{failed} pages could not be read"] if failed else []
        if not saved:
            notes.append("every article was saved before")
        if enriched:
            notes.append(f"{enriched} rows of search results now have their article")
        return Outcome(tuple(saved), len(saved), failed, len(pages) - len(saved), "; ".join(notes) or None)


def _pages_of(decoded: Decoded, workspace: Workspace) -> tuple[list[_Page], int]:
    """The articles of a result, and how many pages it says could not be read."""
    pages: list[_Page] = []
    failed = 0
    for value in decoded.values:
        match value:
            case {"articles": list() as articles, **rest}:
                failures = rest.get("failed")
                failed += len(failures) if isinstance(failures, list) else 0
                for article in articles:
                    page = _crawled(article, workspace) if isinstance(article, dict) else None
                    pages += [page] if page is not None else []
                    failed += page is None
            case {"reader_result": dict() as read} | {"data": {"reader_result": dict() as read}}:
                page = _read(read)
                pages += [page] if page is not None else []
            case {"url": str(), "content": str()}:
                page = _read(value)
                pages += [page] if page is not None else []
            case _:
                pass
    return pages, failed


def _crawled(article: Mapping[str, Any], workspace: Workspace) -> _Page | None:
    """An article of the toolkit's crawler, from the Markdown file it wrote."""
    path, url = article.get("path"), article.get("url")
    if not isinstance(path, str) or not is_web_url(url):
        return None
    try:
        found = decode_article(workspace.read(path, _MAX_ARTIFACT).decode("utf-8", "replace"))
    except WorkspaceError:
        return None
    if found is None or not found.text:
        return None
    title = found.title or str(article.get("title") or "")
    return _Page(str(url), title, found.text, found.author, found.site, found.date, found.words, path)


def _read(read: Mapping[str, Any]) -> _Page | None:
    """A page as a web reader gives it."""
    url, content = read.get("url"), read.get("content") or read.get("text")
    if not is_web_url(url) or not isinstance(content, str) or not content.strip():
        return None
    title = plain_text(title) if isinstance(title := read.get("title"), str) else ""
    return _Page(str(url), title, content, words=len(content.split()))


def _why_not(texts: Sequence[str], decoded: Decoded, failed: int) -> str:
    if found := next((found for text in texts if (found := _READER_ERROR.search(text[:4_000]))), None):
        reason = {"1234": "timed out or lost its network", "1214": "refused the request"}.get(
            found[1], "failed"
        )
        return f"the web reader {reason} (code {found[1]})"
    if failed:
        return f"no article: {failed} pages could not be read"
    return decoded.problem or "no article in it"


def _save(
    page: _Page, result: ToolResult, moment: datetime, context: ObserverContext
) -> tuple[Saved | None, str]:
    parts = urlsplit(page.url)
    artifact = {
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
    return save_json_once(
        context,
        lambda: artifact,
        folder=FOLDER,
        stem=f"{parts.hostname or 'page'}{parts.path}",
        unique=unique_id(context, result.call.tool_use_id, page.url, page.content),
        kind="article",
        moment=moment,
    )


def _enrich(path: str, pages: Mapping[str, tuple[_Page, str]], workspace: Workspace) -> int:
    """Give the rows of one search artifact their articles; returns how many rows changed."""
    try:
        artifact = msgspec.json.decode(workspace.read(path, _MAX_ARTIFACT))
    except (WorkspaceError, msgspec.DecodeError, RecursionError):
        return 0
    rows = artifact.get("results") if isinstance(artifact, dict) else None
    if not isinstance(rows, list):
        return 0
    redactor = workspace.redactor
    changed = sum(_enrich_row(row, pages, redactor) for row in rows)
    if changed:
        urls = [url for row in rows if isinstance(row, dict) and isinstance(url := row.get("url"), str)]
        exact = [url for url in with_masked_parts(urls, redactor) if is_public_address(url, redactor)]
        write_json(workspace, path, artifact, exact)
    return changed


def _enrich_row(row: Any, pages: Mapping[str, tuple[_Page, str]], redactor: Redactor) -> bool:
    if not isinstance(row, dict) or not isinstance(url := row.get("url"), str):
        return False
    found = pages.get(normal_form(url))
    if found is None:
        return False
    page, path = found
    # Masked before it is cut: half a secret would not be known for one.
    content = redactor.redact(page.content)[:_CONTENT_IN_ROW]
    added = {"article": path, "words": page.words, "content": content}
    if all(row.get(key) == value for key, value in added.items()):
        return False
    row.update(added)
    return True
