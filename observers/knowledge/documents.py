"""Turns the files, queries and answers of a session into documents of the knowledge base."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import QueryFinished, QueryReceived, QuerySteered
from ua_tui.core.knowledge.records import Kind, KnowledgeDocument, Trust
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import REPORT_CHECKS
from ua_tui.core.toolkit.articles import ARTICLE_FOLDER, ARTICLE_PREFIX
from ua_tui.observers.knowledge.artifacts import (
    SavedFile,
    page_documents,
    search_documents,
    upload_documents,
    workbench_documents,
)
from ua_tui.observers.knowledge.cleaning import (
    LONGEST_TEXT,
    Cleaner,
    address_words,
    clean_text,
    clean_title,
    heading_of,
)
from ua_tui.observers.knowledge.contents import Content, opened, read_content, whole_words
from ua_tui.observers.knowledge.searches import Searches

_MOST_CITES = 500
_LONGEST_HTML = 2 * LONGEST_TEXT
_FORMATS: dict[str, Callable[[SavedFile, str, Cleaner], Iterator[KnowledgeDocument]]] = {
    "search_results": search_documents,
    "workbench_activity": workbench_documents,
    "upload": upload_documents,
}
NAMES_CALL = frozenset({*_FORMATS, "article", "corpus"})
"""The kinds of artifacts that name the call which made them."""
_NAMED_ONLY = frozenset({"download", "media", "attachment"})
# The pages in a corpus are those of the articles.
_SKIPPED = frozenset({"corpus"})
_TEXT_KINDS: dict[str, tuple[Kind, Trust]] = {
    "work_product": ("report", "own"),
    "written": ("note", "own"),
    "unparsed": ("search_row", "web"),
}
_REPORTS = "work_products/"
_HTML = (".html", ".htm", ".xhtml")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\])}|\\]{1,2000}", re.IGNORECASE)
_PIECE = 64 << 10


def documents_of(
    root: Root, file: SavedFile, cleaner: Cleaner, searches: Searches | None = None
) -> Iterator[KnowledgeDocument]:
    """Read the documents of a file in the folder of a session; `searches` are those that may have found its pages.

    A file that is missing or damaged gives fewer documents, and never an error. Links are not followed.
    """
    # A name with a secret cannot be stored, and without it the file would not be found.
    if (
        file.kind in _SKIPPED
        or file.path.startswith(f"{REPORT_CHECKS}/")
        or cleaner.masked(file.path) != file.path
    ):
        return
    try:
        content = _read(root, file)
    except (UniversalAgentError, OSError, ValueError):
        return
    if content is None:
        yield _named(file)
    elif file.kind == "article" or _is_page(file.path):
        # An agent could put other addresses into it.
        trust: Trust = "web" if content.sha256 == file.sha256 else "own"
        for page in page_documents(file, content.text, cleaner, trust=trust):
            found = searches.words_for(page.url, file.seq) if searches is not None and page.url else []
            words = [text for text in found if text != page.title]
            yield replace(page, context="\n".join([*words, page.context])) if words else page
    elif (read := _FORMATS.get(file.kind)) is not None:
        yield from read(file, content.text, cleaner)
    else:
        yield _text(file, content, cleaner)


def event_document(
    event: QueryReceived | QuerySteered | QueryFinished, cleaner: Cleaner
) -> KnowledgeDocument | None:
    """Return the document of a query or of a final answer; None if it has no text."""
    masked = cleaner.masked(event.text)
    text = clean_text(masked)
    if not text:
        return None
    is_answer = isinstance(event, QueryFinished)
    return KnowledgeDocument(
        kind="answer" if is_answer else "query",
        part=event.seq,
        title=heading_of(text),
        text=text,
        made_at=event.at.timestamp(),
        trust="own",
        cites=_addresses(masked, cleaner) if is_answer else (),
        partial=len(masked) > LONGEST_TEXT,
    )


def _read(root: Root, file: SavedFile) -> Content | None:
    """The content of a file; None if it is not text, or only its name is of interest."""
    if file.kind not in _NAMED_ONLY:
        return read_content(root, file.path, digest=file.kind == "article")
    with opened(root, file.path):
        return None


def _is_page(path: str) -> bool:
    """Whether a file is a page that the crawler saved."""
    folder, name = posixpath.split(path)
    return folder == ARTICLE_FOLDER and name.startswith(ARTICLE_PREFIX) and name.endswith(".md")


def _named(file: SavedFile) -> KnowledgeDocument:
    """The document of a file whose text is not read: its name."""
    is_report = file.path.startswith(_REPORTS) and file.kind not in _NAMED_ONLY
    path = file.path.removesuffix(SUFFIX)
    return KnowledgeDocument(
        kind="report" if is_report else "file",
        path=file.path,
        title=clean_title(posixpath.basename(path)),
        context=address_words(path),
        made_at=file.at,
        trust="own" if is_report else "tool",
        tool_use_id=file.tool_use_id,
    )


def _text(file: SavedFile, content: Content, cleaner: Cleaner) -> KnowledgeDocument:
    """The document of a text: a report, a note of the agent, or what another program wrote."""
    kind, trust = _TEXT_KINDS.get(file.kind, ("note", "tool"))
    if file.kind == "written" and file.path.startswith(_REPORTS):
        kind = "report"
    path = file.path.removesuffix(SUFFIX)
    title, read = "", content.text
    links: tuple[str, ...] = ()
    is_html = path.lower().endswith(_HTML)
    if is_html:
        from ua_tui.observers.knowledge.html_reading import read_html

        page = read_html(whole_words(content.text, _LONGEST_HTML))
        title, read, links = cleaner.masked(page.title), page.text, page.links
    read = cleaner.masked(read)
    text = clean_text(read)
    name = posixpath.basename(path)
    if kind in ("report", "note"):
        title = title or heading_of(text)
    return KnowledgeDocument(
        kind=kind,
        path=file.path,
        title=clean_title(title) or clean_title(name),
        text=text,
        context=address_words(posixpath.splitext(name)[0]),
        made_at=file.at,
        trust=trust,
        tool_use_id=file.tool_use_id,
        cites=_addresses(read, cleaner, links) if kind == "report" else (),
        partial=content.is_cut or len(read) > LONGEST_TEXT or (is_html and len(content.text) > _LONGEST_HTML),
    )


def _addresses(text: str, cleaner: Cleaner, first: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The web addresses that a text links to, each once."""
    found = dict.fromkeys(first)
    for at in range(0, min(len(text), LONGEST_TEXT), _PIECE):
        for match in _ADDRESS.finditer(text, at, at + _PIECE):
            found[match[0].rstrip(".,;:!?*_")] = None
            if len(found) > _MOST_CITES:
                break
    addresses = (cleaner.address(url, cleaner.masked(url)) for url in list(found)[:_MOST_CITES])
    return tuple(filter(None, dict.fromkeys(addresses)))
