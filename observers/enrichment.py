"""Adds articles to the rows of a session's search results and to its corpus.

The corpus is also replaced as a whole by the local toolkit, in a process of its own. What is added here is
therefore added to the file as it stands at that moment, and again if it changed meanwhile; only a replacement
in the instant between the last look and the writing would be undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.json_values import JsonObject, object_in, text_in
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Written
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.toolkit.articles import Reference
from ua_tui.observers.decoding.urls import normal_form, public_addresses
from ua_tui.observers.output.ledger import Ledger
from ua_tui.observers.output.saving import write_json

CORPUS = "expanded_corpus.json"
MAX_ARTIFACT = 64 << 20

_SEARCHES = "search_results"
_LARGE_CORPUS = 1 << 20
_CONTENT_IN_ROW = 10_000
_TRIES = 5


class Page(msgspec.Struct, frozen=True):
    """An article, also as it is read back from its artifact.

    `markdown` is the crawler's file, None if it came from another reader. `date` is a day as YYYY-MM-DD. `read_at`
    is when the tool gave it, `path` the file of its own record.
    """

    url: str
    title: str
    content: str
    author: str | None = None
    source: str | None = None
    date: str | None = None
    words: int = 0
    markdown: str | None = None
    read_at: datetime | None = msgspec.field(default=None, name="timestamp")
    path: str = ""
    links: tuple[Reference, ...] = ()


def has_large_files(workspace: Workspace) -> bool:
    """Whether the files to search are so large that reading them would block other threads.

    Search results of that size are packed.
    """
    try:
        if workspace.exists(CORPUS) and workspace.root.size(CORPUS) > _LARGE_CORPUS:
            return True
        return workspace.exists(_SEARCHES) and any(
            entry.name.endswith(SUFFIX) for entry in workspace.list(_SEARCHES)
        )
    except WorkspaceError:
        return False


def enrich_searches(pages: Sequence[Page], workspace: Workspace, ledger: Ledger) -> int:
    """Add articles to the rows of saved search results; returns the number of changed rows.

    Only artifacts that hold one of the URLs are opened once the ledger knows what each holds.
    """
    # By each form of its URL in saved files: unchanged, and with secrets masked.
    by_url: dict[str, Page] = {}
    for page in pages:
        for url in (workspace.redactor.redact(page.url), page.url):
            by_url[normal_form(url)] = page
    changed = 0
    with ledger.turn():
        for path in ledger.paths(_SEARCHES):
            known = ledger.rows_of.get(path)
            if known is None or not known.isdisjoint(by_url):
                changed += _enrich_search(path, by_url, workspace, ledger)
    return changed


def enrich_corpus(pages: Sequence[Page], workspace: Workspace, ledger: Ledger) -> tuple[Written | None, int]:
    """Update the corpus with pages, if there is one; returns what was written, and the number of changed entries.

    An entry gets what it lacks from the page of its URL. A page without an entry becomes one, unless the
    crawler had read it before the corpus was saved: then the agent saw it and left it out. Nothing that an
    entry has is changed, and no entry goes.

    Raises:
        WorkspaceError: the corpus cannot be read or written.
    """
    with ledger.turn():
        for _ in range(_TRIES):
            before = _bytes_of_corpus(workspace)
            corpus = _decoded(before or b"")
            if not isinstance(corpus.get("articles"), list):
                return None, 0
            changed = _merge(corpus, pages, workspace.redactor)
            if not changed:
                return None, 0
            if _bytes_of_corpus(workspace) == before:
                # Compressed only if its tool did so: other programs look for it by its name.
                packed = workspace.artifact_path(CORPUS) != CORPUS
                write = workspace.write_json_artifact if packed else workspace.write_json
                return write(CORPUS, corpus), changed
    raise WorkspaceError(f"cannot add to '{CORPUS}': another program keeps replacing it; try again")


def _enrich_search(path: str, pages: Mapping[str, Page], workspace: Workspace, ledger: Ledger) -> int:
    try:
        artifact = _decoded(workspace.read_artifact(path, MAX_ARTIFACT))
    except WorkspaceError:
        # Claimed, and not written yet.
        return 0
    rows = artifact.get("results")
    if not isinstance(rows, list):
        ledger.rows_of[path] = frozenset()
        return 0
    ledger.rows_of[path] = frozenset(normal_form(url) for url in _urls_of(rows))
    redactor = workspace.redactor
    changed = sum(_enrich_row(row, pages, redactor) for row in rows)
    if changed:
        write_json(workspace, path, artifact, public_addresses(_urls_of(rows), redactor))
    return changed


def _enrich_row(row: Any, pages: Mapping[str, Page], redactor: Redactor) -> bool:
    page = pages.get(normal_form(text_in(row, "url")))
    if page is None:
        return False
    # Masked before it is cut: half a secret would not be known for one.
    content = redactor.redact(page.content)[:_CONTENT_IN_ROW]
    added = {"article": page.path, "words": page.words, "content": content}
    if all(row.get(key) == value for key, value in added.items()):
        return False
    row.update(added)
    return True


def _merge(corpus: JsonObject, pages: Sequence[Page], redactor: Redactor) -> int:
    """Update the entries of a corpus in place; returns the number of changed and new ones."""
    entries: list[Any] = corpus["articles"]
    by_url: dict[str, list[JsonObject]] = {}
    for entry in entries:
        if url := text_in(entry, "url"):
            by_url.setdefault(normal_form(url), []).append(entry)
    saved_at = moment_in(corpus.get("saved_at"))
    changed = 0
    for page in pages:
        forms = dict.fromkeys((normal_form(page.url), normal_form(redactor.redact(page.url))))
        found = [entry for form in forms for entry in by_url.get(form, ())]
        for entry in found:
            lacking = {key: value for key, value in _entry(page).items() if value and not entry.get(key)}
            if "content" in lacking:
                lacking["words"] = page.words
            entry.update(lacking)
            changed += bool(lacking)
        is_later = saved_at is not None and page.read_at is not None and page.read_at > saved_at
        if not found and (page.markdown is None or is_later):
            entry = _entry(page)
            entries.append(entry)
            by_url.setdefault(normal_form(page.url), []).append(entry)
            changed += 1
    if changed:
        corpus["count"] = len(entries)
    return changed


def _entry(page: Page) -> JsonObject:
    return {
        "url": page.url,
        "title": page.title,
        "author": page.author,
        "date": page.date,
        "source": page.source,
        "words": page.words,
        "path": page.markdown or page.path,
        "fetched_at": page.read_at.isoformat(timespec="seconds") if page.read_at is not None else None,
        "content": page.content,
    }


def moment_in(value: object) -> datetime | None:
    """The moment of an ISO 8601 text; None if it is not one."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.astimezone() if moment is not None else None


def _bytes_of_corpus(workspace: Workspace) -> bytes | None:
    there = workspace.exists(workspace.artifact_path(CORPUS))
    data = workspace.read_artifact(CORPUS, MAX_ARTIFACT + 1) if there else None
    if data is not None and len(data) > MAX_ARTIFACT:
        raise WorkspaceError(
            f"'{CORPUS}' is too large: more than {MAX_ARTIFACT:,} bytes; save fewer articles"
        )
    return data


def _decoded(data: bytes) -> JsonObject:
    """The object in a file; an empty one if there is something else."""
    try:
        return object_in(msgspec.json.decode(data))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}


def _urls_of(rows: Sequence[Any]) -> list[str]:
    return [url for row in rows if (url := text_in(row, "url"))]
