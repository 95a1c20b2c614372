"""Saves each page that was read: as an article, in search results and in the corpus; counts strikes against sites."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.units import quantity
from ua_tui.core.json_values import JsonObject
from ua_tui.core.log import log
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line
from ua_tui.core.web_reader import (
    REFUSED,
    STRIKES,
    TIMED_OUT,
    Blacklist,
    ReaderError,
    is_web_reader,
    page_of,
    reader_error,
)
from ua_tui.observers.base import Interest, ObserverContext, ObserverSpec, Outcome, Saved, moment_of, texts_of
from ua_tui.observers.enrichment import MAX_ARTIFACT, Page, enrich_corpus, enrich_searches, has_large_files
from ua_tui.observers.output.saving import save_once
from ua_tui.observers.pages.reading import CRAWLER, PageReading, interest_in, read_pages
from ua_tui.observers.search.tool_names import short_name

FOLDER = "extracted_articles"

# Built as the module is imported: see `ua_tui.core.events.codec`.
_DECODER = msgspec.json.Decoder(Page)


class Corpus:
    """Observer of the tools that read pages, and of the tool that saves the corpus."""

    name = "corpus"

    def wants(self, call: ToolCall) -> Interest:
        """Tools that read pages by their name, and `save_corpus`, whose corpus may lack pages."""
        name = short_name(call.name)
        if name == "save_corpus":
            return Interest.CURIOUS
        return Interest.SURE if name == CRAWLER or is_web_reader(call.name) else interest_in(call)

    def is_heavy(self, workspace: Workspace) -> bool:
        """Whether any article may cause work on large files."""
        return has_large_files(workspace)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Save each article, and add it to the saved search results and the corpus."""
        if short_name(result.call.name) == "save_corpus":
            if result.observation.has_error:
                return Outcome(note="the corpus was not saved")
            # Pages of other readers: the tool that saves it only knows crawled pages.
            corpus, entries, note = _add_to_corpus(_read_before(context), context)
            return Outcome(tuple(corpus), entries, note=note or "the corpus is complete")
        moment = moment_of(result, context)
        texts = texts_of(result, context.workspace)
        if is_web_reader(result.call.name):
            error = _reader_error(result, texts, moment, context)
            if error is not None:
                return error
        if result.observation.has_error:
            is_reader = self.wants(result.call) is Interest.SURE
            return Outcome(rejected=int(is_reader), note="no article: the call failed")
        readings = read_pages(result.call, texts, context.workspace, moment)
        left_out = sum(reading.failed + reading.missing for reading in readings)
        notes = _left_out(readings)
        if not any(reading.pages for reading in readings):
            return Outcome(rejected=left_out, note=f"no article: {'; '.join(notes) or 'no page in it'}")
        saved: list[Saved] = []
        known: list[Page] = []
        for reading in readings:
            for page in reading.pages:
                artifact, path = _save(page, reading.tool, result, moment, context)
                # A page that the crawler did not fetch again was read before.
                known.append(msgspec.structs.replace(page, read_at=page.read_at or moment, path=path))
                saved += [artifact] if artifact is not None else []
        if not saved:
            notes.append("every article was already saved")
        rows = enrich_searches(known, context.workspace, context.ledger)
        if rows:
            notes.append(f"articles added to rows of search results: {rows}")
        corpus, _, note = _add_to_corpus(known, context)
        notes += [note] if note else []
        return Outcome(
            (*saved, *corpus), len(saved), left_out, len(known) - len(saved), "; ".join(notes) or None
        )


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
    """The pages from other readers in this session, from their saved articles."""
    pages: list[Page] = []
    for path in context.ledger.paths(FOLDER):
        try:
            page = _DECODER.decode(context.workspace.read_artifact(path, MAX_ARTIFACT))
        except (WorkspaceError, msgspec.DecodeError, ValueError, RecursionError):
            continue
        if page.markdown is None:
            pages.append(msgspec.structs.replace(page, path=path))
    return pages


def _left_out(readings: Sequence[PageReading]) -> list[str]:
    """The notes about pages without an article."""
    failed = sum(reading.failed for reading in readings)
    missing = sum(reading.missing for reading in readings)
    notes = [f"{quantity(failed, 'page')} could not be read"] if failed else []
    if missing:
        notes.append(f"articles without a readable Markdown file: {missing}")
    return notes + list(dict.fromkeys(note for reading in readings for note in reading.notes))


def _save(
    page: Page, tool: str, result: ToolResult, moment: datetime, context: ObserverContext
) -> tuple[Saved | None, str]:
    artifact: JsonObject = {
        "type": "article",
        "url": page.url,
        "title": page.title,
        "author": page.author,
        "source": page.source,
        "date": page.date,
        "words": page.words,
        "timestamp": (page.read_at or moment).isoformat(timespec="microseconds"),
        "tool": tool,
        "tool_use_id": result.call.tool_use_id,
        "markdown": page.markdown,
        "content": page.content,
        "links": [{"label": each.label, "url": each.url} for each in page.links],
    }
    return save_once(
        result,
        context,
        artifact,
        page.url,
        page.content,
        folder=FOLDER,
        stem=context.workspace.redactor.redact(_place(page.url)),
        kind="article",
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
    log.warning("%s: %s", note, page)
    if error.code == TIMED_OUT:
        note += "; the page is worth another try"
    elif error.code == REFUSED:
        note += f"; {_strike(result, error, moment, context)}"
    return Outcome(rejected=1, note=note)


def _strike(result: ToolResult, error: ReaderError, moment: datetime, context: ObserverContext) -> str:
    url = page_of(result.call.input)
    if url is None:
        return "not counted: the call names no page"
    if not error.certain:
        return "not counted: the call itself did not fail"
    try:
        standing = Blacklist.for_session(context.workspace, context.now).strike(
            url, error.code, result.call.tool_use_id, moment
        )
    except WorkspaceError as failure:
        log.warning("a strike was not counted: %s", failure)
        return f"the error could not be counted: {failure}"
    if standing is None:
        return "not counted: the call was already counted or is too old"
    if standing.expires is not None:
        return f"{standing.host} is on the blacklist until {standing.expires:%Y-%m-%d}"
    return f"error {len(standing.strikes)} of {STRIKES} for {standing.host}"


OBSERVER = ObserverSpec(lambda _rules: Corpus(), order=30)
